#include "run/cuts/freshdb.h"

#include <stdio.h>

#include "base/clock.h"
#include "os/interrupt.h"
#include "postgres/sql.h"
#include "run_sql.h"

static const int64_t poll_ns = 2 * NS_PER_MS;
static const int64_t leave_ns = 30 * NS_PER_S; // time in which a backend must end after it was told
                                               // to

bool freshdb_open(struct freshdb *db, const struct server *server, const char *template_db,
    bool copies, int number, struct err *e)
{
    *db = (struct freshdb){.server = server, .template_db = template_db, .copies = copies};
    snprintf(db->name, sizeof db->name, "mailproof_cut_%d", number);
    db->boss = provider_connect(server, server->superuser, "postgres", e);
    return db->boss != NULL;
}

static bool drop_freshdb(struct freshdb *db, struct err *e)
{
    char sql[128];

    PQfinish(db->conn);
    db->conn = NULL;
    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s WITH (FORCE)", db->name);
    return sql_exec(db->boss, sql, e);
}

static bool copy_template(struct freshdb *db, struct err *e)
{
    char sql[256];

    snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE %s", db->name, db->template_db);
    return drop_freshdb(db, e) && sql_exec(db->boss, sql, e) &&
           (db->conn = provider_connect(db->server, db->server->superuser, db->name, e)) &&
           (db->copies || sql_exec(db->conn, run_sql_remember, e));
}

static bool throw_out_others(struct freshdb *db, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + leave_ns;
    char left[16];

    // A session that lives on might still commit, and would do so in the next trial.
    while (sql_value(db->conn, run_sql_throw_out, left, sizeof left, e)) {
        if (left[0] == '0')
            return true;
        if (clock_now_ns() > deadline_ns)
            return err_set(e, ERR_SYSTEM, "%s sessions in the database %s did not end within 30 s",
                left, db->name);
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return false;
}

bool freshdb_renew(struct freshdb *db, struct err *e)
{
    if (db->copies || !db->conn)
        return copy_template(db, e);
    // A copy of the template makes some 300 files and takes a third of a second of processor time.
    // Restoring the rows of the tables takes two milliseconds.
    return throw_out_others(db, e) && sql_exec(db->conn, run_sql_renew, e);
}

void freshdb_close(struct freshdb *db)
{
    struct err ignored;

    if (db->boss && !drop_freshdb(db, &ignored)) {
        // Nothing to do: the database disappears with the server.
    }
    PQfinish(db->boss);
    db->boss = NULL;
}
