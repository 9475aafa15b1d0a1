// The control socket: a program connects to a Unix socket, writes orders, one a line, and reads
// what became of each. Only the proxy's own user may connect.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

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
