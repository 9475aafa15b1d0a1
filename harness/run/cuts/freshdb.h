// Gives each trial a database that equals its template. Copying a template costs a few hundred
// files. So only the first trial gets a copy, and for later trials the tables are emptied and the
// queue's row is restored. A collector with tables of its own gets a new copy each time.
//
// Open sessions are ended first, so that nothing of a trial reaches into the next.
#pragma once

#include <libpq-fe.h>

#include "base/err.h"
#include "postgres/provider.h"

struct freshdb {
    const struct server *server;
    const char *template_db; // migrated, without a token in it; nobody is connected to it
    bool copies;             // true: each trial gets a new copy
    char name[64];
    PGconn *boss; // connection of the superuser to another database
    PGconn *conn; // connection of the superuser to this database; lives as long as the copy
};

// Connects, but makes no database yet. The number distinguishes several databases.
MUST_USE bool freshdb_open(struct freshdb *db, const struct server *server, const char *template_db,
    bool copies, int number, struct err *e);

// Makes the database, or restores it to the template's state.
MUST_USE bool freshdb_renew(struct freshdb *db, struct err *e);

// Drops the database; accepts a freshdb that was never opened.
void freshdb_close(struct freshdb *db);
