// How these faults connect to the server, as other clients do.
#pragma once

#include "fault/family.h"
#include "postgres/sql.h"

// Connects as a role to a database of the run's server, without a statement timeout. Returns NULL
// with the reason.
MUST_USE PGconn *connect_without_timeout(
    const struct fault_context *c, const char *role, const char *dbname, struct err *e);
