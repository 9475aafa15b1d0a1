// Makes the lanes of the collector's queue before the collector starts.
#pragma once

#include <libpq-fe.h>

#include "scenario/scenario.h"

// Makes the lanes that the scenario sets for its collector in MAILROOM_LANES, if there are any.
// Lanes belong to the queue in the database; the collector only checks them. `admin` is a
// connection of the superuser.
MUST_USE bool lanes_make(PGconn *admin, const struct scenario *s, struct err *e);
