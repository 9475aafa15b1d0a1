// Ctrl-C and TERM set a flag that every wait of the harness checks. So a run that is interrupted
// still stops and removes everything that it started.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Installs the handlers for INT, TERM and HUP; ignores PIPE. HUP stays ignored if it was, as under
// nohup.
void interrupt_install(void);

// Returns the signal that came; 0: none.
int interrupt_signal(void);

// While this is on, the first signal only asks for an end: waits go on, and interrupt_asked()
// returns the signal. A second signal interrupts as usual. When it is turned off, the signal that
// asked for an end interrupts.
void interrupt_defer(bool on);
int interrupt_asked(void);

// While `code` is not 0, a signal ends the program at once, with this and its number as exit code.
// For a command that only reads and computes: it waits for nothing, and has nothing to undo.
void interrupt_exit_at_once(int code);

// Sleeps until the deadline; false when a signal came first.
bool interrupt_sleep_until(int64_t deadline_ns);
