// Handles TERM and INT, and has the only function in which the program sleeps.
//
// The signals are blocked except during this sleep, so none is missed between a look at the flag
// and the sleep.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

void stop_install(void);
bool stop_requested(void);

// Sleeps until a descriptor is ready, the deadline has passed, or a signal has come. True: a
// descriptor is ready. After the signal the deadline is at most 900 ms from it, because a process
// that is asked to stop has one second.
bool stop_poll(struct pollfd *fds, nfds_t count, int64_t deadline_ns);

// True when the deadline has passed, with the same limit after the signal.
bool stop_expired(int64_t deadline_ns);
