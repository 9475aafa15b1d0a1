// The sender, which the launcher (launch.h) starts for us, with pipes from and to us as its input
// and output. It counts as ended when it has closed its output.
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct child {
    pid_t pid; // 0: none
    int in;    // its input, which we write; -1: none
    int out;   // its output, which we read; -1: none
};

void child_init(struct child *c);

// Lets the launcher start the sender.
bool child_start(struct child *c, struct err *e) MUST_USE;

// Asks the sender to finish the mail in hand and end.
void child_ask_to_end(const struct child *c);

// Ends the sender, by force if needed, waits for its end, and writes how it ended to `how`. Returns
// its exit code; -1: a signal ended it. Without a sender, returns -1 and leaves `how` alone.
#define CHILD_HOW_LEN 64
int child_end(struct child *c, char how[CHILD_HOW_LEN]);
