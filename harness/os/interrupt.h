// Ctrl-C and TERM: remembered in a flag that every wait of the harness looks
// at, so that a run ends by unwinding, with everything stopped and removed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Installs the handlers for INT, TERM and HUP; ignores PIPE.
void interrupt_install(void);

// The signal that came; 0: none.
int interrupt_signal(void);

// Sleeps until the deadline; false when a signal came first.
bool interrupt_sleep_until(int64_t deadline_ns);
