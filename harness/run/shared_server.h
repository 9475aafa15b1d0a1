// One server for several runs, one after another, each with a fresh database. So a comparison of
// runs measures the collector and not the start of a server.
#pragma once

#include "postgres/provider.h"
#include "scenario/scenario.h"

// True when a run of this scenario can use a shared server. False when it would leave the server
// changed (stopped, promoted, or with its power cut), or needs one in a network of its own or with
// clocks of its own.
bool shared_fits(const struct scenario *s);

// Opens and starts the server. Call shared_close even if this fails.
MUST_USE bool shared_open(
    struct server *server, const struct scenario *s, const char *conninfo, struct err *e);
void shared_close(struct server *server);

// Removes everything that the last run left, so that the next run finds the server as if it were
// new.
MUST_USE bool shared_clear(struct server *server, struct err *e);
