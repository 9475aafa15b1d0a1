// The promises that a subject can make, named by the words of `collector.promises` and of a
// scenario's `needs`. An invariant is judged only when the subject makes the promise on which the
// invariant rests. A scenario is run only when the subject makes all that the scenario needs.
// subject/WRITE-YOUR-OWN.md tells what those mean that have no comment here.
#pragma once

enum promise {
    PROMISE_NO_LOSS = 1 << 0,
    PROMISE_ONCE = 1 << 1,
    PROMISE_LIMIT = 1 << 2,
    PROMISE_TIMEOUT = 1 << 3,
    PROMISE_ORDER = 1 << 4,
    PROMISE_RECONNECT = 1 << 5,
    PROMISE_SHARING = 1 << 6,           // several instances work at once
    PROMISE_SMALL = 1 << 7,             // an idle collector rests, and memory does not grow
    PROMISE_WAITS_FOR_WRITERS = 1 << 8, // a way of working, not a promise: with it, `late` counts
                                        // from the end of the writing transactions that were open
    PROMISE_BACKPRESSURE = 1 << 9,
    PROMISE_STOP = 1 << 10,
    PROMISE_STANDBY = 1 << 11, // one instance works, and the others stand by
    PROMISE_OUTCOME = 1 << 12,
    PROMISE_BUDGET = 1 << 13,
    PROMISE_LANES = 1 << 14,
    PROMISE_DEAD_LETTERS = 1 << 15, // a token that the wire cannot carry becomes a dead letter
    PROMISE_FILLS = 1 << 16,        // a short line leaves no token behind
    PROMISE_RELEASES = 1 << 17,     // no transaction stays open
    PROMISE_LEASE = 1 << 18,        // a collector that hangs loses its tokens to another
    PROMISE_RETRIES = 1 << 19,      // what failed is tried again

    // What a foreign collector and the reference collector are judged by when nobody says what they
    // promise.
    PROMISES_FOREIGN = PROMISE_NO_LOSS | PROMISE_ONCE | PROMISE_LIMIT | PROMISE_TIMEOUT |
                       PROMISE_ORDER | PROMISE_RECONNECT | PROMISE_BACKPRESSURE | PROMISE_STOP |
                       PROMISE_DEAD_LETTERS,
    PROMISES_REFERENCE = PROMISES_FOREIGN | PROMISE_SHARING | PROMISE_SMALL | PROMISE_STANDBY |
                         PROMISE_OUTCOME | PROMISE_BUDGET | PROMISE_LANES | PROMISE_FILLS |
                         PROMISE_RELEASES | PROMISE_LEASE | PROMISE_RETRIES,
};
