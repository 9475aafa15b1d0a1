// From an answer to a batch, and what becomes of it: state fetch.
#pragma once

#include <libpq-fe.h>

#include "base/err.h"
#include "state.h"

struct collector;

bool fetch_fetch(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool fetch_on_read(struct collector *c, PGresult *result, struct err *e) MUST_USE;
bool fetch_on_owners(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// The batch in hand is on its way to be passed: the one behind it becomes the next,
// if it was read ahead, or is asked for.
bool fetch_follow(struct collector *c, struct err *e) MUST_USE;
// Drops what was read ahead, because the pass has failed or nothing may follow it.
void fetch_unfollow(struct collector *c);

void fetch_drop(struct collector *c);    // the batch that is ready, and what was read behind it
void fetch_abandon(struct collector *c); // an answer to come
void fetch_forget(struct collector *c);  // both, and all else that a session knew
