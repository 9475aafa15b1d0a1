// Keeps the tokens in doubt: their line is out, but the session ended before the database confirmed
// that the line is settled. When such tokens are read again, they must not be written again. Pure.
//
// After a reconnect the snapshots are new, and other tokens may lie between those in doubt. So each
// token is identified on its own, by its id and its secret: after a failover another token may get
// the same id, but not the same secret.
#pragma once

#include "wire/line.h"

struct doubt {
    struct doubtful *all; // owned; sorted by id and secret once doubt_close was called
    int n;
    int room;
};

// Adds a token. After the last one the caller calls doubt_close, which sorts the tokens.
bool doubt_add(struct doubt *d, const struct token *t, struct err *e) MUST_USE;
void doubt_close(struct doubt *d);

bool doubt_has(const struct doubt *d, const struct token *t);

// Marks a token, if it is in doubt.
void doubt_mark(struct doubt *d, const struct token *t);
void doubt_drop_marked(struct doubt *d); // drops the marked tokens, which are settled
void doubt_keep_marked(struct doubt *d); // drops all others, which are settled

void doubt_clear(struct doubt *d); // drops all tokens, and frees the memory

// Appends the ids of all tokens to the text of an array that is not closed yet, such as "{12,34".
void doubt_add_ids(const struct doubt *d, struct buf *array);
