// What one read of the queue showed, decoded.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"
#include "line.h"

struct position {
    uint64_t xid;
    int64_t id;
};

// Tokens whose turn came and who did not get one, by reason.
struct passed {
    int64_t expired;
    int64_t consumed;
    int64_t status;
};

struct row {
    struct token token;
    struct position at;
    struct passed passed;   // before this row, since the cursor
    const char *unsendable; // NULL: the wire can carry it
};

// What one read showed. The rows point into the result, so that nothing is
// copied; rows is allocated once and has room for all that a read may ask for.
struct batch {
    PGresult *result;
    struct row *rows;
    int limit;           // how many sendable tokens it may have
    int n;               // rows that are part of the batch
    int sendable;        // of these
    bool all;            // the read saw everything that waits; it may be not enough
    bool more;           // it stopped before it had enough: it had examined too much
    bool horizon;        // committed rows wait behind the horizon
    int64_t examined;    // rows between the cursor and `end`
    struct position end; // passing the batch moves the cursor here
    struct passed passed;
    const struct row **by_id; // scratch of batch_find_written
};

bool batch_init(struct batch *b, int limit, int rows_max, struct err *e) MUST_USE;
void batch_fini(struct batch *b);
void batch_clear(struct batch *b); // forgets the content, keeps the memory

// Takes over the answer to a read that asked for `wanted` tokens and examined at
// most `examine` rows. Cuts the batch behind its limit-th sendable token.
bool batch_decode(struct batch *b, PGresult *r, int wanted, int examine, struct err *e) MUST_USE;

// The position behind the first n rows; when these are all, behind everything
// that was examined. *passed: whose turn came up to there.
struct position batch_end(const struct batch *b, int n, struct passed *passed);

// How many rows of `b`, from its first on, end with the last token that is also
// in `written`: the same id and the same secret, for ids may be used again.
// *matched counts the tokens found. 0: none of them.
int batch_find_written(const struct batch *b, const struct batch *written, int *matched);
