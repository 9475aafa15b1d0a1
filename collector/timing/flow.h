// Measures how fast tokens come, and decides whether the collector looks for them now and then, or
// has each one announced. Pure.
//
// With a bell (bell.h) the collector may choose. A look costs a read of what waits. An announcement
// costs less work, but a transaction that announces flushes its commit under a lock that all such
// transactions share: on a slow disk all producers together reach a hundred commits a second and no
// more. So while tokens come fast, a look is planned for the time at which the batch is likely to
// be full. The rate is that of the last complete stretch of time, which lasts 100 ms or a little
// more. So a burst that is shorter than a stretch does not start the looks: its tokens are
// announced, and a batch that they fill goes out at once.
//
// The rate may rise between two looks. So they are at most 50 ms apart, and at most a quarter of
// the timeout. Each look reads all waiting tokens again, so when more than 500 tokens wait, the
// limit of 50 ms grows to 100 us for each token. The first token of a batch is taken to be as old
// as the look before the one that finds it. So while nothing waits, two looks are only 2 ms apart:
// such looks are cheap, and the rate says that a token comes soon.
#pragma once

#include "base/base.h"

struct flow {
    int64_t since_ns; // when this stretch began
    int64_t arrived;  // how many tokens had come in all when this stretch began
    double per_ns;    // the rate in the last complete stretch: tokens per ns
};

// Notes that `arrived` tokens are known to have come since the start. `looking`: looks find the
// tokens, and nobody announces them. Call it at each look and, unless we are `looking`, after
// announcements whenever a take may be sent.
void flow_count(struct flow *f, bool looking, int64_t arrived, int64_t now_ns);

// Returns the pause until the next look while `waiting` tokens wait; CLOCK_NEVER: have each token
// announced instead. Looks begin when a look would save 4 announcements, and go on while it
// saves 2. `limit` and `timeout_ns` are those of a batch.
int64_t flow_pause_ns(
    const struct flow *f, bool looking, int waiting, int limit, int64_t timeout_ns);
