// Prepares a running server for a run: the database, its migrations, and roles
// of their own for collector and load, so that a fault can tell them apart.
#pragma once

#include "base/err.h"
#include "postgres/provider.h"
#include "postgres/sql.h"

#define MIGRATE_COLLECTOR "mailproof_collector"
#define MIGRATE_LOAD "mailproof_load"
#define MIGRATE_STRANGER "mailproof_stranger" // may connect, and nothing else

// A migration makes this role unless it exists. A comment marks one that a run made, so that a
// later run can recognise it.
#define MIGRATE_GROUP "mailroom_collector"
#define MIGRATE_MARK "made by mailproof"

// ERR_USAGE when migration `last` does not exist.
MUST_USE bool migrate_exists(int last, struct err *e);

// Creates the database and applies migrations 1 … `last` (SCHEMA_LATEST: all, SCHEMA_NONE: none).
// The collector's role gets what mailroom_collector (a migration) grants where
// that exists and the layout is the reference's, else all rights.
// With ANNOUNCE_BELL, producers announce a token only while a collector holds the bell.
MUST_USE bool migrate_database(
    const struct server *s, int last, enum layout layout, enum announce announce, struct err *e);

// A connection as superuser to the database of the run; NULL with the reason.
MUST_USE PGconn *migrate_admin(const struct server *s, struct err *e);

// Appends the conninfo of a role, in the database of the run, and ends it with a NUL: until the
// next append, out->data is a string.
MUST_USE bool migrate_conninfo(
    const struct server *s, const char *role, struct buf *out, struct err *e);
