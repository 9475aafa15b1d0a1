// Tokens whose line is out and of which nobody has told us that they are passed:
// the session ended in between. When they are read again they must not be
// written again. Pure.
//
// After a reconnect the snapshots are new and other tokens may stand between
// these, so each is known by itself, by its id and its secret: an id may be given
// again after a failover, a secret is not.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "line.h"

struct doubt {
    struct doubtful *all; // sorted by id
    int n;
    int room;
    int batches; // that they come from, unless they were cleared in between
    struct doubt_move {
        int64_t epoch; // the claim under which the last batch was read
        int64_t n;     // of the cursor, once that batch is passed; 0: no n tells
    } move;
};

// Adds one of a batch; the caller calls doubt_close behind the last, whether or
// not the move of that batch was sent.
bool doubt_add(struct doubt *d, const struct token *t, struct err *e) MUST_USE;
void doubt_close(struct doubt *d, struct doubt_move move);

bool doubt_has(const struct doubt *d, const struct token *t);

// A claim raises the epoch and the cursor's n by one each. Clears when the claim is
// the first behind a single batch, and its n shows that the batch was passed.
// Behind a later claim n no longer tells which batch was passed.
void doubt_claimed(struct doubt *d, int64_t epoch, int64_t n);

void doubt_clear(struct doubt *d); // all of them are passed; gives the memory back
