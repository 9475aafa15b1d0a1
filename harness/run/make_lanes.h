// The lanes of the collector's queue.
#pragma once

#include <libpq-fe.h>

#include "base/err.h"
#include "scenario/scenario.h"

// Makes the lanes that MAILROOM_LANES of the scenario names. They belong to the queue, so the
// collector only checks them. `admin` is a connection of the superuser.
MUST_USE bool lanes_make(PGconn *admin, const struct scenario *s, struct err *e);
