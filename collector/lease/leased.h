// The collector in leased mode: one loop over poll(2), like that of collector.h.
//
// Lines go to a sender, its answers come back, and the database records what became of each token.
// With a command the sender is our child. Without one, lines go to our standard output, and answers
// come from our standard input.
#pragma once

#include "collector.h"
#include "config.h"

// `command` is the sender's argv, or NULL. Returns the exit code.
enum collector_exit leased_run(
    const struct config *config, int signal_fd, char *const command[], struct metrics *metrics);
