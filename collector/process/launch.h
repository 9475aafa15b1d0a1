// The launcher: a small process of ours that starts the sender, because a process in the sandbox
// can start no other. The launcher can start only the command that it was made with. That command
// gets an environment without MAILROOM_* and PG*, so that the program that talks to the Internet
// cannot reach the database. The sender runs in our terminal session but in a process group of its
// own, so that Ctrl-C reaches only us and we can give back its lines. When we die, the launcher
// tells the sender to end, and ends; when the launcher dies, the kernel tells the sender (Linux).
//
// One process has one launcher, which does one thing at a time. launch_start and launch_end wait
// for its answer.
#pragma once

#include <sys/types.h>

#include "base/base.h"

// Makes the launcher. Call it once, before the settings are read: the launcher keeps a copy of our
// memory, and wipes only its environment. `command` must live as long as the process.
bool launch_open(char *const command[], struct err *e) MUST_USE;

// Starts the sender with these descriptors, which stay the caller's, as input and output.
// ERR_USAGE: the command cannot be executed; ERR_SYSTEM: the machine lacks something, or the
// launcher is gone.
bool launch_start(int in, int out, pid_t *pid, struct err *e) MUST_USE;

// Asks the sender to finish the mail in hand and end.
void launch_ask_to_end(void);

// Ends the sender, by force if needed, and returns how it ended, as a status of waitpid.
int launch_end(void);
