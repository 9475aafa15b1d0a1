// The database of one trial after another, each time as its template is: to
// copy a template costs a few hundred files, so that only the first trial gets
// a copy, and for those after it the tables are emptied and the queue's row is
// put back. A collector with tables of its own gets a new copy each time.
//
// Whoever is still connected is thrown out first: what the trial before left
// running in the server must not reach into the next.
#pragma once

#include <libpq-fe.h>

#include "base/err.h"
#include "postgres/provider.h"

struct freshdb {
    const struct server *server;
    const char *template_db; // migrated, without a token in it; nobody is connected to it
    bool copies;             // a new copy each time
    char name[64];
    PGconn *boss; // superuser, elsewhere
    PGconn *conn; // superuser, in it; lives as long as this copy does
};

// Connects; makes no database yet. The number keeps several apart.
MUST_USE bool freshdb_open(struct freshdb *db, const struct server *server, const char *template_db,
    bool copies, int number, struct err *e);

// Afterwards the database is there and as the template.
MUST_USE bool freshdb_renew(struct freshdb *db, struct err *e);

// Drops the database; accepts what was never opened.
void freshdb_close(struct freshdb *db);
