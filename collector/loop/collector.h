// The collector: one loop over poll(2) around a table of states.
//
// It owns the session, the window, the batches and the output. In every state it serves signals,
// deadlines, notifications and the reader; no call in the loop waits except poll itself, but for
// the moment that it takes to resolve a host name, or to start or end a sender.
#pragma once

#include "metrics/metrics.h"
#include "settings/config.h"

// Runs until a byte can be read from signal_fd, or an error ends the collector; logs why, and
// returns the exit code: that of the error (program_exit_code), or EX_TEMPFAIL if the collector was
// stopped before the last line was confirmed, or gave tokens back; else 0. With a `command`, lines
// go to a child that runs it and answers them; else they go to output_fd.
int collector_run(const struct config *config, int signal_fd, int output_fd, char *const command[],
    struct metrics *metrics);
