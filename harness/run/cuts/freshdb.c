#include "run/cuts/trial.h"

#include "os/interrupt.h"
#include "postgres/sql.h"
#include "run_sql.h"

static const int64_t poll_ns = 2 * NS_PER_MS;
static const int64_t session_end_ns = 30 * NS_PER_S; // how long a backend may take to end

bool freshdb_open(
    struct freshdb *db, const struct server *server, bool copies, int number, struct err *e)
{
    *db = (struct freshdb){.server = server, .copies = copies};
    snprintf(db->name, sizeof db->name, "mailproof_cut_%d", number);
    db->admin = provider_connect(server, server->superuser, "postgres", e);
    return db->admin != NULL;
}

static bool drop_freshdb(struct freshdb *db, struct err *e)
{
    char sql[128];

    sql_finish(&db->conn);
    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s WITH (FORCE)", db->name);
    return sql_exec(db->admin, sql, e);
}

static bool copy_template(struct freshdb *db, struct err *e)
{
    char sql[256];

    snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE %s", db->name, db->server->database);
    return drop_freshdb(db, e) && sql_exec(db->admin, sql, e) &&
           (db->conn = provider_connect(db->server, db->server->superuser, db->name, e)) &&
           (db->copies || sql_exec(db->conn, run_sql_save_template, e));
}

static bool end_other_sessions(struct freshdb *db, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + session_end_ns;
    char left[16];

    // A session that lives on might still commit, and would do so in the next trial.
    while (sql_value(db->conn, run_sql_end_sessions, left, sizeof left, e)) {
        if (left[0] == '0')
            return true;
        if (clock_now_ns() > deadline_ns)
            return err_set(e, ERR_SYSTEM, "%s sessions in the database %s did not end within 30 s",
                left, db->name);
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    return false;
}

bool freshdb_renew(struct freshdb *db, struct err *e)
{
    if (db->copies || !db->conn)
        return copy_template(db, e);
    // Restoring the rows takes two milliseconds; a copy of the template would make some 300 files.
    return end_other_sessions(db, e) && sql_exec(db->conn, run_sql_restore_template, e);
}

void freshdb_close(struct freshdb *db)
{
    struct err ignored;

    if (db->admin && !drop_freshdb(db, &ignored)) {
        // Nothing to do: copy_template drops a database that an earlier command has left.
    }
    sql_finish(&db->admin);
}
