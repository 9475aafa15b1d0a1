// What the proxy obeys besides its console: a socket and a script.
//
// The control socket: a program connects to a Unix socket, writes orders, one a line, and reads
// what became of each. Only the proxy's own user may connect.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "proxy/console.h"

#define CONTROL_CLIENTS 8
#define CONTROL_LINE_MAX 4096

struct control_client {
    int fd; // -1: free
    char text[CONTROL_LINE_MAX];
    size_t len;
};

struct control {
    const char *path; // borrowed; NULL: there is no socket
    int listener;     // -1: none
    struct control_client clients[CONTROL_CLIENTS];
};

// Carries out one line, and writes into `answer` what became of it. False when the line is to quit.
typedef bool control_obey(void *arg, const char *line, struct buf *answer);

// Makes the socket. A file that is no socket is never removed. ERR_USAGE when the path cannot be
// used.
MUST_USE bool control_open(struct control *c, const char *path, struct err *e);
void control_close(struct control *c);

// Takes in clients and obeys the lines that have come, without waiting. False when one was to quit.
bool control_serve(struct control *c, control_obey *obey, void *arg);

// --- orders with times ---------------------------------------------------------------

// From a file: "2s partition for 500ms", one a line; # begins a comment.

struct script_line {
    int64_t at_ns; // since the proxy's start
    struct order order;
};

struct script {
    struct script_line *lines; // owned; in the order of their times
    size_t count, next;        // next: the first that was not carried out
};

// Parses the text of a script. ERR_USAGE names the line that is wrong.
MUST_USE bool script_parse(struct script *s, const char *text, struct err *e);
// The same with the text of a file.
MUST_USE bool script_read(struct script *s, const char *path, struct err *e);
void script_fini(struct script *s);

// Returns the next order whose time has come; NULL: none yet, or none any more.
const struct order *script_due(struct script *s, int64_t since_start_ns);
