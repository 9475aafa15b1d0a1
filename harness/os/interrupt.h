// Ctrl-C, TERM and HUP set a flag, which the harness checks while it waits for a server, a fault or
// the subject. So a run that is interrupted still stops and removes everything that it started. A
// tool that it runs, such as an engine that pulls an image, is waited for.
#pragma once

#include "base/base.h"

// Installs the handlers for INT, TERM and HUP; ignores PIPE. If HUP was ignored before, as under
// nohup, it stays ignored. If CHLD was ignored, it is not any more.
void interrupt_install(void);

// Returns the signal that interrupts; 0: none came, or it only asks for an end (interrupt_defer).
int interrupt_signal(void);

// After interrupt_defer(true), the first signal only asks for an end: waits go on, and
// interrupt_asked() returns the signal. A second signal interrupts as usual. interrupt_defer(false)
// lets the signal that asked for an end interrupt now.
void interrupt_defer(bool on);
int interrupt_asked(void);

// While `code` is not 0, a signal ends the program at once. The exit code is `code` plus the
// signal's number. This is for a command that only reads and computes, and so has nothing to undo.
void interrupt_exit_at_once(int code);

// Sleeps until the deadline; false when a signal came first.
bool interrupt_sleep_until(int64_t deadline_ns);

// Sleeps for ns nanoseconds. ERR_INTERRUPTED when a signal came first.
MUST_USE bool interrupt_sleep(int64_t ns, struct err *e);
