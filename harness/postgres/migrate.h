// Prepares a running server for a run: the database, its migrations, and a role each for collector
// and load, so that a fault can distinguish their backends.
#pragma once

#include "base/err.h"
#include "postgres/provider.h"

#define MIGRATE_COLLECTOR "mailproof_collector"
#define MIGRATE_LOAD "mailproof_load"
#define MIGRATE_STRANGER "mailproof_stranger" // may connect, and nothing else

// The migrations make these two roles unless they exist: what a collector may do, and who owns the
// queue's functions. If a run made a role, a comment on the role says so, so that a later run can
// recognise it.
#define MIGRATE_GROUP "mailroom_collector"
#define MIGRATE_OWNER "mailroom_owner"
#define MIGRATE_SHARED "'" MIGRATE_GROUP "', '" MIGRATE_OWNER "'"
#define MIGRATE_MARK "made by mailproof"

// Checks that migration `last` exists; ERR_USAGE when it does not.
MUST_USE bool migrate_exists(int last, struct err *e);

// Creates the database and applies migrations 1 … `last` (SCHEMA_LATEST: all, SCHEMA_NONE: none).
//
// In the reference layout, the collector's role gets the rights that the group mailroom_collector
// has, if a migration made that group. Otherwise it gets all rights. With ANNOUNCE_BELL, producers
// announce a token only while a collector holds the bell.
MUST_USE bool migrate_database(
    const struct server *s, int last, enum layout layout, enum announce announce, struct err *e);

// Connects as superuser to the database of the run; NULL with the reason.
MUST_USE PGconn *migrate_admin(const struct server *s, struct err *e);

// Appends the conninfo of a role, in the database of the run, and ends it with a NUL. So out->data
// is a string until the next append.
MUST_USE bool migrate_conninfo(
    const struct server *s, const char *role, struct buf *out, struct err *e);
