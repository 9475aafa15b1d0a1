// Prepares a running server for a run: makes the database, applies the migrations, and makes
// separate roles for the collector and for the load, so that a fault can distinguish their
// backends.
#pragma once

#include "postgres/provider.h"

#define MIGRATE_COLLECTOR "mailproof_collector"
#define MIGRATE_LOAD "mailproof_load"
#define MIGRATE_STRANGER "mailproof_stranger" // a role that may connect and do nothing else

// Roles that the migrations create if they are missing: GROUP carries the rights of a collector,
// and OWNER owns the queue's functions. SHARED lists both for SQL: they belong to the whole server.
// If a run has created such a role, its comment is MIGRATE_MARK, so a later run may drop it.
#define MIGRATE_GROUP "mailroom_collector"
#define MIGRATE_OWNER "mailroom_owner"
#define MIGRATE_SHARED "'" MIGRATE_GROUP "', '" MIGRATE_OWNER "'"
#define MIGRATE_MARK "made by mailproof"

// Checks that migration `last` exists. SCHEMA_LATEST and SCHEMA_NONE always do. ERR_USAGE when it
// does not.
MUST_USE bool migrate_exists(int last, struct err *e);

// Creates the database and the roles, and applies the migrations from 1 to `last` (SCHEMA_LATEST:
// all, SCHEMA_NONE: none).
//
// In the reference layout, the collector's role joins the group mailroom_collector, if a migration
// has given that group its rights. Otherwise the collector's role gets all rights on the schema,
// its tables and its sequences. With ANNOUNCE_BELL, producers announce a token only while a
// collector holds the bell. If clients may meet any member of a cluster, returns when each has all
// that was created.
MUST_USE bool migrate_database(
    const struct server *s, int last, enum layout layout, enum announce announce, struct err *e);

// Connects as superuser to the database of the run; NULL with the reason.
MUST_USE PGconn *migrate_admin(const struct server *s, struct err *e);

// Appends the conninfo of a role in the database of the run, as provider_conninfo does.
MUST_USE bool migrate_conninfo(
    const struct server *s, const char *role, struct buf *out, struct err *e);
