// One server for several runs, one after another: each gets a fresh database.
// What a comparison is about is the collector, not what a server's start costs.
#pragma once

#include "base/err.h"
#include "postgres/provider.h"
#include "scenario/scenario.h"

// False when a run of this scenario would leave another server than it found:
// stopped, promoted, or with its power cut; or needs one in a network of its own.
bool shared_fits(const struct scenario *s);

// Opens and starts it. shared_close in any case.
MUST_USE bool shared_open(
    struct server *server, const struct scenario *s, const char *conninfo, struct err *e);
void shared_close(struct server *server);

// Removes what the run before has left, so that the next one finds a server as
// if it were new.
MUST_USE bool shared_clear(struct server *server, struct err *e);
