// Gives each trial a database that equals its template. Copying a template costs a few hundred
// files, so only the first trial gets a copy. For the later trials the tables are emptied and the
// queue's row is restored. A collector with tables of its own gets a new copy each time.
//
// Open sessions are ended first, so that nothing of the trial before reaches into the next.
#pragma once

#include <libpq-fe.h>

#include "base/err.h"
#include "postgres/provider.h"

struct freshdb {
    const struct server *server;
    const char *template_db; // migrated, without a token in it; nobody is connected to it
    bool copies;             // a new copy each time
    char name[64];
    PGconn *boss; // the superuser's, to another database
    PGconn *conn; // the superuser's, to this one; lives as long as this copy does
};

// Connects, but makes no database yet. The number keeps several databases apart.
MUST_USE bool freshdb_open(struct freshdb *db, const struct server *server, const char *template_db,
    bool copies, int number, struct err *e);

// Makes the database, or restores it to the template's state.
MUST_USE bool freshdb_renew(struct freshdb *db, struct err *e);

// Drops the database; accepts one that was never opened.
void freshdb_close(struct freshdb *db);
