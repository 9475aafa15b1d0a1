// Sessions of strangers, with which the database's weather is made.
#pragma once

#include "fault/inside.h"
#include "postgres/sql.h"

// A connection of a role to a database of the run's server; without a statement
// timeout. NULL with the reason.
MUST_USE PGconn *weather_connect(
    const struct fault_context *c, const char *role, const char *dbname, struct err *e);
