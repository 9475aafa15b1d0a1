// A batch: the decoded rows of one read of the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"
#include "doubt.h"
#include "line.h"

struct position {
    uint64_t xid;
    int64_t id;
};

// How many tokens were passed over, by reason.
struct passed {
    int64_t expired;
    int64_t consumed;
    int64_t status;
};

struct row {
    struct token token;
    const char *unsendable; // NULL: the wire can carry it
    bool written;           // written by a session before this one
};

enum batch_source {
    BATCH_CURSOR,   // read behind the cursor, which has not moved
    BATCH_AHEAD,    // the same, after a batch that is not confirmed yet
    BATCH_TAKEN,    // ours: the cursor has passed it; `number` is that of its last delivery
    BATCH_DELIVERY, // the same, and it was left over
};

// The rows point into the result, so that nothing is copied.
struct batch {
    PGresult *result;
    struct row *rows;
    int room;
    int limit; // how many sendable tokens it may have
    enum batch_source source;
    int n;        // rows that are part of the batch
    int sendable; // of these rows
    bool all;     // the read saw everything that waits, which may be less than a batch
    bool more;    // it stopped before the batch was full, because it had examined too many rows
    int64_t examined;
    struct passed passed;
    int64_t number;  // the n of the cursor that it was read from, or of its last delivery; 0: none
    const char *now; // the snapshot that the cursor's next tick will be
    int part;        // where `end` is: 1: within the tick, 2: after it
    struct position end; // the last row examined; in a delivery, `xid` is the delivery's n
    uint64_t stretch;    // where the stretch of the index with `end` in it ends; 0: it is used up
};

void batch_init(struct batch *b, int limit);
void batch_fini(struct batch *b);
void batch_clear(struct batch *b); // forgets the content, keeps the memory

// Takes over the answer to a read that asked for `wanted` tokens and examined at most `examine`
// rows. Cuts the batch after its limit-th sendable token. A token in doubt does not count as
// sendable.
bool batch_decode(struct batch *b, PGresult *r, enum batch_source source, int wanted, int examine,
    const struct doubt *doubt, struct err *e) MUST_USE;

// True when the batch was taken, or left over. Otherwise it was read from the cursor, which is
// still to be moved.
bool batch_is_delivery(const struct batch *b);
