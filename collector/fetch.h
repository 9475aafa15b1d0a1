// State fetch: fetch_answers.c makes a batch of an answer, and fetch.c decides what becomes of it.
#pragma once

#include <libpq-fe.h>

#include "base/err.h"
#include "state.h"

struct collector;

bool fetch_fetch(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool fetch_on_read(struct collector *c, PGresult *result, struct err *e) MUST_USE;
bool fetch_on_take(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool fetch_on_owners(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// The pass of the batch in hand was sent: the batch after it becomes the next if it was read ahead,
// or else is asked for.
bool fetch_follow(struct collector *c, struct err *e) MUST_USE;
// Drops what was read ahead, because the pass has failed or nothing may follow it.
void fetch_unfollow(struct collector *c);

// Takes the tokens that a look saw, which are in hand: all of them, or as many as are paid for.
bool fetch_take(struct collector *c, struct err *e) MUST_USE;
// Leaves only so many sendable tokens in the batch in hand.
void fetch_cut(struct collector *c, int sendable);

// Makes the next look ask for one batch, and examine as few rows as that needs.
void fetch_start_over(struct collector *c);
// Drops the batch that is ready, and the batch that was read ahead after it.
void fetch_drop(struct collector *c);
// Makes the answer that is still to come be dropped.
void fetch_abandon(struct collector *c);
// Drops all that the session has read or asked for, because the session was lost.
void fetch_forget(struct collector *c);
