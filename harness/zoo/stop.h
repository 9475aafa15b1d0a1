// Handles TERM and INT, and has the function in which the program sleeps.
//
// The signals are blocked except during this sleep. So none can come unnoticed between
// stop_requested() and the sleep.
#pragma once

#include <poll.h>

#include "base/base.h"

// Installs the handlers, and ignores SIGPIPE. Call it once, at the start.
void stop_install(void);
// True after TERM or INT.
bool stop_requested(void);

// Sleeps until a descriptor is ready, the deadline has passed, or a signal has come. True when a
// descriptor is ready. After TERM or INT, every deadline is at most 900 ms after the signal,
// because a process that is told to stop has one second.
bool stop_poll(struct pollfd *fds, nfds_t count, int64_t deadline_ns);

// True when the deadline has passed, which after TERM or INT is at most 900 ms after the signal.
bool stop_expired(int64_t deadline_ns);
