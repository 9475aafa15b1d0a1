// The promises that a subject can make, named by the words of `collector.promises`. An invariant is
// judged only when the subject makes the promise on which it rests.
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
    PROMISE_WAITS_FOR_WRITERS = 1 << 8, // this is no promise: with it, `late` counts from the end
                                        // of open writers
    PROMISE_DEAD_LETTERS = 1 << 9,
};

// The default. It lacks `small`, although the reference collector makes that promise. Only a load
// that is made for it shows whether memory leaks or the collector rests; scenarios with such a load
// name leak or busy_idle in `expect`.
#define PROMISES_DEFAULT "[no_loss, once, limit, timeout, order, reconnect, sharing, dead_letters]"
