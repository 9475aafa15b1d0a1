// TERM and INT, and the only function in which the program sleeps.
//
// The signals are blocked except while it sleeps here, so none is missed
// between a look at the flag and the sleep.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

void stop_install(void);
bool stop_requested(void);

// Sleeps until one of the descriptors is ready, the deadline, or the signal. True: something is
// ready. After the signal no deadline is later than 900 ms from it, because a process that is asked
// to stop has one second.
bool stop_poll(struct pollfd *fds, nfds_t count, int64_t deadline_ns);

// True when that deadline, with the same limit after the signal, has passed.
bool stop_expired(int64_t deadline_ns);
