// Both programs do this before their work: they hold the standard files, keep their secrets, and
// catch TERM and INT.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

// Opens /dev/null for each standard file that is closed. Without it, the next descriptor would take
// the free number, and log lines or answers would go to a server. A closed standard output is an
// error where the program writes there.
MUST_USE bool program_hold_standard_files(bool writes_output, struct err *e);

// Turns TERM and INT into a byte in a pipe and a true program_stopping. A poll on program_stop_fd
// sees a signal even if it came just before the poll. PIPE and XFSZ are ignored, so that a failed
// write is an error. Call it once.
MUST_USE bool program_catch_signals(struct err *e);

// Keeps the memory, and the secrets in it, out of core dumps and away from debuggers and other
// processes of the same user (Linux).
void program_stay_private(void);

// Prints what --help and its like ask for, and returns 0; `failed` when it could not be written.
int program_tell(void print(FILE *), int failed);

// Logs a warning if users other than the owner and the group can read the file that holds a secret.
void program_warn_if_loose(int fd, const char *path);

// Returns the descriptor that can be read from the first TERM or INT on; the caller may read it.
int program_stop_fd(void);
bool program_stopping(void);
