// What the proxy obeys besides its console: a socket and a script.
//
// The control socket: a program connects to a Unix socket, writes orders, one a line, and reads a
// report on each. Only the proxy's own user may connect.
#pragma once

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

// Carries out one line and appends a report to `answer`. Returns false when the line is the order
// to quit.
typedef bool control_obey(void *arg, const char *line, struct buf *answer);

// Makes the socket; with path NULL, none. Replaces a socket at which nobody listens any more, but
// never removes another kind of file. ERR_USAGE when the path cannot be used.
MUST_USE bool control_open(struct control *c, const char *path, struct err *e);
void control_close(struct control *c);

// Accepts new clients and obeys the lines that have arrived, without waiting. Returns false when
// one of them was the order to quit.
bool control_serve(struct control *c, control_obey *obey, void *arg);

// --- orders with times ---------------------------------------------------------------

// A script is a file with lines such as "2s partition for 500ms"; # begins a comment.

struct script_line {
    int64_t at_ns; // since the proxy's start
    struct order order;
};

struct script {
    struct script_line *lines; // owned; in the order of their times
    size_t count, next;        // next: the first line that is not carried out yet
};

// Parses the text of a script. ERR_USAGE names the line that is wrong.
MUST_USE bool script_parse(struct script *s, const char *text, struct err *e);
// Parses the script in a file.
MUST_USE bool script_read(struct script *s, const char *path, struct err *e);
void script_fini(struct script *s);

// Returns the next order if its time has come, and moves on to the one after it; NULL when no order
// is due.
const struct order *script_due(struct script *s, int64_t since_start_ns);
