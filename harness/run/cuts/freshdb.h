// Gives each trial a database that equals a template. A copy of a template takes a third of a
// second of processor time, so only the first trial gets a copy. For later trials the tables are
// emptied and the queue's rows are restored. For a collector with tables of its own, each trial
// gets a copy.
//
// Other sessions in the database are ended first, so that nothing of a trial reaches into the next.
#pragma once

#include <libpq-fe.h>

#include "postgres/provider.h"

struct freshdb {
    const struct server *server;
    const char *template_db; // name of a migrated database without tokens, to which nobody is
                             // connected
    bool copies;             // true: each trial gets a new copy of the template
    char name[64];
    PGconn *admin; // connection of the superuser to another database
    PGconn *conn;  // connection of the superuser to the trial's database; lives as long as that
                   // database
};

// Connects, but makes no database yet. `number` distinguishes the databases of several workers.
MUST_USE bool freshdb_open(struct freshdb *db, const struct server *server, const char *template_db,
    bool copies, int number, struct err *e);

// Makes the database, or restores it to the template's state.
MUST_USE bool freshdb_renew(struct freshdb *db, struct err *e);

// Drops the database; accepts a freshdb that was never opened.
void freshdb_close(struct freshdb *db);
