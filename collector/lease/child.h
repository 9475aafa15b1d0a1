// The sender as a child process, its input and output joined to us by pipes.
//
// It is started in our process group's terminal session but in a group of its
// own, so that Ctrl-C reaches us first and its lines are given back. When we die,
// it is told to end (Linux). It has ended when it has closed its output.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct child {
    pid_t pid; // 0: none
    int in;    // its input, which we write; -1
    int out;   // its output, which we read; -1
};

void child_init(struct child *c);

bool child_start(struct child *c, char *const argv[], struct err *e) MUST_USE;

// Asks it to finish the mail in hand and end.
void child_ask(const struct child *c);

// Ends it for certain, waits for that, and says how it ended.
#define CHILD_HOW_LEN 64
void child_end(struct child *c, char how[CHILD_HOW_LEN]);
