// One server for several runs, one after another, each with a fresh database. So a comparison of
// runs measures the collector and not the start of a server.
#pragma once

#include "postgres/provider.h"
#include "scenario/scenario.h"

// False when a run of this scenario needs a server with a standby, a disk that can crash, or a
// network or clocks of its own.
bool shared_can_carry(const struct scenario *s);

// True when also no fault of the scenario stops the server, and so may leave it changed.
bool shared_fits(const struct scenario *s);

// Opens and starts the server, also that of --every-cut and --every-flush. Call shared_close even
// if this fails.
MUST_USE bool shared_open(
    struct server *server, const struct scenario *s, const char *conninfo, struct err *e);
void shared_close(struct server *server);

// Removes the databases that the last run left. Its roles stay until the next run replaces them.
MUST_USE bool shared_clear(struct server *server, struct err *e);
