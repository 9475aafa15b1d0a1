// Measures how fast tokens come, and decides whether the collector looks for them now and then, or
// has each one announced. Pure.
//
// With a bell (bell.h) the collector may choose. A look costs a read of what waits. An announcement
// costs less work, but a transaction that announces flushes its commit under a lock that all such
// transactions share: on a slow disk a hundred a second is all that producers reach. So while
// tokens come fast, a look is planned for the time at which the batch is likely to be full. The
// rate is the number of tokens in the last whole stretch, of 100 ms or a little more. A shorter
// burst therefore does not start the looks: its tokens are announced, and a batch that they fill
// goes out at once.
//
// A look also finds a rate that has risen. So two looks are at most 50 ms apart, and at most a
// quarter of the timeout. Each look reads all waiting tokens again, so when more than 500 wait, the
// 50 ms grow to 100 us for each of them. And a look finds the first token of a batch, whose timeout
// begins at the look before. So while nothing waits, two looks are 2 ms apart: such looks are
// cheap, and the rate says that a token comes soon.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct flow {
    int64_t since_ns; // when this stretch began
    int64_t arrived;  // how many tokens had come since the start, when this stretch began
    double per_ns;    // the rate in the stretch before: tokens per ns
};

// Tells how many tokens are known to have come so far. Call it at each look and, unless we are
// `looking`, for each token that is announced.
void flow_count(struct flow *f, bool looking, int64_t arrived, int64_t now_ns);

// Returns the pause until the next look while this many tokens wait; CLOCK_NEVER: have each token
// announced instead. To begin with looks, each must save 4 announcements; to go on with them, while
// we are `looking`, 2 are enough.
int64_t flow_pause_ns(
    const struct flow *f, bool looking, int waiting, int limit, int64_t timeout_ns);
