// Tokens whose line is out and of which nobody has told us that they are passed:
// the session ended in between. When they are read again they must not be
// written again. Pure.
//
// After a reconnect the snapshots are new and other tokens may stand between
// these, so each is known by itself, by its id and its secret: an id may be given
// again after a failover, a secret is not.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "line.h"

struct doubt {
    struct doubtful *all; // sorted by id
    int n;
    int room;
};

// Adds one; the caller calls doubt_close behind the last.
bool doubt_add(struct doubt *d, const struct token *t, struct err *e) MUST_USE;
void doubt_close(struct doubt *d);

bool doubt_has(const struct doubt *d, const struct token *t);

// Marks one, if it is in doubt; then the marked ones, or the others, are passed.
void doubt_mark(struct doubt *d, const struct token *t);
void doubt_drop_marked(struct doubt *d);
void doubt_keep_marked(struct doubt *d);

void doubt_clear(struct doubt *d); // all of them are passed; gives the memory back

// Their ids, as an array: {12,34}. False: no memory.
bool doubt_ids(const struct doubt *d, struct buf *out) MUST_USE;
