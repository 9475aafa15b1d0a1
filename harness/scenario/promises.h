// The promises of a subject, by the words of `collector.promises`. An invariant is judged only
// when the subject makes the promise that it rests on.
#pragma once

enum promise {
    PROMISE_NO_LOSS = 1 << 0,
    PROMISE_ONCE = 1 << 1,
    PROMISE_LIMIT = 1 << 2,
    PROMISE_TIMEOUT = 1 << 3,
    PROMISE_ORDER = 1 << 4,
    PROMISE_RECONNECT = 1 << 5,
    PROMISE_SHARING = 1 << 6,
    PROMISE_SMALL = 1 << 7,
    PROMISE_WAITS_FOR_WRITERS = 1 << 8, // no promise: `late` counts from the end of open writers
};

// The default. `small` is not in it, although the reference collector makes that promise: only a
// load made for it shows whether memory leaks or the collector rests. The scenarios with such a
// load name leak or busy_idle in `expect`.
#define PROMISES_DEFAULT "[no_loss, once, limit, timeout, order, reconnect, sharing]"
