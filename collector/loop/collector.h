// The collector: one loop over poll(2) around a table of states.
//
// It owns the session, the window, the batches and the output. In every state it serves signals,
// deadlines, notifications and the reader; no call in the loop waits except poll itself.
#pragma once

#include "metrics/metrics.h"
#include "settings/config.h"

// The exit codes: those of sysexits(3) that the collector uses. program_exit_code gives the code
// for an error.
enum collector_exit {
    COLLECTOR_OK = 0,
    COLLECTOR_INTERNAL = 70,    // EX_SOFTWARE
    COLLECTOR_OUTPUT = 74,      // EX_IOERR: standard output failed
    COLLECTOR_UNCONFIRMED = 75, // EX_TEMPFAIL: ended before the last line was confirmed
    COLLECTOR_CONFIG = 78,      // EX_CONFIG: settings or schema do not fit
};

// Runs until a byte can be read from signal_fd, or an error ends the collector; logs why, and
// returns the exit code. With a `command`, lines go to a child that runs it and answers them; else
// they go to output_fd.
enum collector_exit collector_run(const struct config *config, int signal_fd, int output_fd,
    char *const command[], struct metrics *metrics);
