// One server for several runs, one after another; each gets a fresh database. A comparison is about
// the collector, not about the cost of starting a server.
#pragma once

#include "base/err.h"
#include "postgres/provider.h"
#include "scenario/scenario.h"

// False when a run of this scenario would leave the server changed (stopped, promoted, or with its
// power cut), or needs one in a network of its own.
bool shared_fits(const struct scenario *s);

// Opens and starts the server. Call shared_close in any case.
MUST_USE bool shared_open(
    struct server *server, const struct scenario *s, const char *conninfo, struct err *e);
void shared_close(struct server *server);

// Removes everything that the last run left, so that the next one finds a server as if it were new.
MUST_USE bool shared_clear(struct server *server, struct err *e);
