// Tokens whose line is out, but whose pass was not confirmed because the session ended first. When
// they are read again they must not be written again. Pure.
//
// After a reconnect the snapshots are new and other tokens may lie between these, so each is
// identified on its own, by its id and its secret: after a failover an id may be given again, but a
// secret may not.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "wire/line.h"

struct doubt {
    struct doubtful *all; // sorted by id
    int n;
    int room;
};

// Adds a token. The caller calls doubt_close after the last one.
bool doubt_add(struct doubt *d, const struct token *t, struct err *e) MUST_USE;
void doubt_close(struct doubt *d);

bool doubt_has(const struct doubt *d, const struct token *t);

// Marks a token, if it is in doubt.
void doubt_mark(struct doubt *d, const struct token *t);
void doubt_drop_marked(struct doubt *d); // drops the marked tokens: they are passed
void doubt_keep_marked(struct doubt *d); // drops all others: they are passed

void doubt_clear(struct doubt *d); // drops all tokens, and frees the memory

// Writes the ids as an array: {12,34}. False: no memory.
bool doubt_ids(const struct doubt *d, struct buf *out) MUST_USE;
