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
    bool written;           // an earlier session wrote it, so it must not be written again
};

enum batch_source {
    BATCH_CURSOR,   // read behind the cursor, which has not moved
    BATCH_AHEAD,    // read behind a batch that is not confirmed yet
    BATCH_TAKEN,    // taken by us: the cursor has passed it, and it lies in deliveries of ours
    BATCH_DELIVERY, // lies in a delivery that was left over
};

// The rows point into the result, so that nothing is copied.
struct batch {
    PGresult *result;
    struct row *rows;
    int room;  // how many rows are allocated
    int limit; // how many sendable tokens it may have
    enum batch_source source;
    int n;        // how many rows are part of the batch
    int sendable; // how many of these rows can be sent
    bool all;     // the read saw everything that waits, which may be less than a batch
    bool more;    // the read examined as many rows as it may before the batch was full
    int64_t examined;
    struct passed passed;
    int64_t number;      // column n of the cursor's version, or of the last delivery; 0: none. With
                         // lanes, a read of the cursors has the queue's epoch here.
    const char *now;     // the snapshot that the cursor's next tick will be
    int part;            // where `end` is: 1: within the tick, 2: after it; more in a lower lane
    struct position end; // the last row examined; in a delivery, `xid` is the delivery's n
    uint64_t stretch;    // the xid at which the stretch of the index around `end` ends; 0: unknown
};

void batch_init(struct batch *b, int limit);
void batch_fini(struct batch *b);
void batch_clear(struct batch *b); // forgets the content, keeps the memory

// Takes over the answer to a read that asked for `wanted` tokens and examined at most `examine`
// rows. Cuts the batch after its limit-th sendable token. A token in doubt does not count as
// sendable.
bool batch_decode(struct batch *b, PGresult *r, enum batch_source source, int wanted, int examine,
    const struct doubt *doubt, struct err *e) MUST_USE;

// Cuts the batch after the `sendable`-th of its sendable tokens, of which it has more.
void batch_cut(struct batch *b, int sendable);

// True when the batch lies in deliveries, which are to be confirmed. Otherwise it was read behind
// the cursor, which is to be moved.
bool batch_is_delivery(const struct batch *b);
