// Starts a worker on another machine with the ssh program and talks to it over its standard
// streams. ssh uses its own settings, keys and known hosts, and never asks the user.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "base/err.h"

// The parts of "ssh://[user@]host[:port][/path/to/mailproof]". Without a path, mailproof must be in
// the PATH of the other machine.
struct ssh_address {
    char host[256]; // the host, with "user@" before it if given
    char port[8];   // "": ssh's default
    char program[512];
};

bool ssh_is(const char *address);

// Fails with ERR_USAGE: a part is missing, or would mean something to a shell or to ssh.
MUST_USE bool ssh_parse(const char *address, struct ssh_address *out, struct err *e);

// Returns a socket to the worker, which the caller closes; -1 with the reason. The caller ends the
// process when the socket is closed. ssh writes its messages to our standard error.
MUST_USE int ssh_connect(const char *address, pid_t *pid, struct err *e);

// The worker's side: two threads pass bytes between the standard streams and a socket.
struct ssh_bridge {
    int in, out, socket;
    pthread_t inward, outward;
};

// Returns the other end of the socket, which the caller closes; -1 with the reason. From then on
// the program's own output is lost.
MUST_USE int ssh_accept(struct ssh_bridge *b, struct err *e);
// Call it after that end was closed. Waits until all bytes that were written to it have left, and
// frees the bridge.
void ssh_finish(struct ssh_bridge *b);
