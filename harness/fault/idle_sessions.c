// Faults that consist of one idle session, which keeps a transaction open or holds a lock.
#include "fault/family.h"
#include "postgres/sql.h"

#define OTHER_DATABASE "mailproof_other"

// What the fault hold-horizon keeps while it lasts.
struct horizon {
    PGconn *conn;
    const char *database;
    char xid[32];
    char prepared[64]; // name of the prepared transaction; "" when it is an ordinary one
};

PGconn *connect_without_timeout(const struct fault_context *c, const char *dbname, struct err *e)
{
    PGconn *conn = provider_connect(c->server, c->server->superuser, dbname, e);
    char ignored[8];

    // The user may have set a timeout for the role or the database, and it would end the fault.
    // Which timeouts there are depends on the server's version.
    if (conn && !sql_value(conn,
                    "SELECT count(set_config(name, '0', false)) FROM pg_settings WHERE name IN"
                    " ('statement_timeout', 'transaction_timeout', 'idle_session_timeout',"
                    " 'idle_in_transaction_session_timeout')",
                    ignored, sizeof ignored, e)) {
        PQfinish(conn);
        return NULL;
    }
    return conn;
}

// Opens the session of a fault. Fails at once while the server is paused, when connecting would
// wait in vain.
static PGconn *open_idle_session(struct fault_context *c, const char *dbname, struct err *e)
{
    return fault_admin(c, e) ? connect_without_timeout(c, dbname, e) : NULL;
}

// --- hold-horizon -----------------------------------------------------------------

static bool make_other_database(struct fault_context *c, struct err *e)
{
    char count[8];

    return fault_admin(c, e) &&
           sql_value(c->admin,
               "SELECT count(*) FROM pg_database WHERE datname = '" OTHER_DATABASE "'", count,
               sizeof count, e) &&
           (strcmp(count, "1") == 0 || sql_exec(c->admin, "CREATE DATABASE " OTHER_DATABASE, e));
}

// Begins a transaction and gets an id for it, as a write would: the id holds the horizon back.
// Prepares the transaction if the fault says so.
static bool open_transaction(struct horizon *h, const struct fault_spec *spec, struct err *e)
{
    char sql[128];

    if (!sql_exec(h->conn, "BEGIN", e) ||
        !sql_value(h->conn, "SELECT pg_current_xact_id()", h->xid, sizeof h->xid, e))
        return false;
    if (!spec->prepared)
        return true;
    snprintf(h->prepared, sizeof h->prepared, "mailproof-%s", h->xid);
    snprintf(sql, sizeof sql, "PREPARE TRANSACTION '%s'", h->prepared);
    return sql_exec(h->conn, sql, e);
}

// Opens the transaction in a session of its own. After a failure, too, end_hold_horizon frees
// r->kept.
static bool begin_hold_horizon(struct fault_context *c, struct fault_record *r, struct err *e)
{
    bool other = r->spec->database == DATABASE_OTHER;
    struct horizon *h = memory_zeroed(1, sizeof *h);

    r->kept = h;
    h->database = other ? OTHER_DATABASE : c->server->database;
    if (other && !make_other_database(c, e))
        return false;
    h->conn = open_idle_session(c, h->database, e);
    return h->conn && open_transaction(h, r->spec, e);
}

// Ends the transaction. A prepared transaction outlives its session, and the session that prepared
// it may be gone. So another session rolls it back.
static bool close_transaction(struct fault_context *c, struct horizon *h, struct err *e)
{
    char sql[128];

    if (!*h->prepared)
        return sql_exec(h->conn, "ROLLBACK", e);
    snprintf(sql, sizeof sql, "ROLLBACK PREPARED '%s'", h->prepared);
    PGconn *conn FREED_BY(sql_finish) = open_idle_session(c, h->database, e);
    return conn && sql_exec(conn, sql, e);
}

// Fills in the evidence. False when the transaction had ended already, or when the server cannot be
// asked.
static bool was_in_progress(
    struct fault_context *c, const struct horizon *h, struct fault_record *r, struct err *e)
{
    const char *params[] = {h->xid};
    PGresult *result FREED_BY(sql_clear) =
        fault_admin(c, e) ? sql_query(c->admin, "SELECT pg_xact_status($1::xid8)", 1, params, e)
                          : NULL;

    if (!result)
        return false;
    bool open = strcmp(PQgetvalue(result, 0, 0), "in progress") == 0;
    snprintf(r->evidence, sizeof r->evidence, "%s transaction %s was open until the end",
        *h->prepared ? "prepared" : "writing", h->xid);
    return open || err_set(e, ERR_SYSTEM, "transaction %s had ended before its time", h->xid);
}

// Ends the transaction. False when it had ended before or never began, so that the horizon was not
// held.
static bool end_hold_horizon(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct horizon *h = r->kept;
    bool ok = false;

    if (h && *h->xid) {
        struct err ignored;
        ok = was_in_progress(c, h, r, e);
        // Close the transaction even after an error, because a prepared transaction would hold the
        // horizon for ever.
        ok = close_transaction(c, h, ok ? e : &ignored) && ok;
    }
    PQfinish(h ? h->conn : NULL);
    free(h);
    r->kept = NULL;
    return ok;
}

// --- old-snapshot -----------------------------------------------------------------

// What the fault old-snapshot keeps while it lasts.
struct snapshot {
    PGconn *conn;
    char xmin[32]; // lowest transaction id that was in progress when the snapshot was taken
};

// Opens a transaction that keeps its first snapshot. After a failure, too, end_old_snapshot frees
// r->kept.
static bool begin_old_snapshot(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct snapshot *s = memory_zeroed(1, sizeof *s);

    r->kept = s;
    s->conn = open_idle_session(c, c->server->database, e);
    return s->conn && sql_exec(s->conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", e) &&
           sql_value(s->conn, "SELECT pg_snapshot_xmin(pg_current_snapshot())", s->xmin,
               sizeof s->xmin, e);
}

// Ends the transaction. The evidence is that it still answers, with the snapshot of its start.
// False when it does not, or never began.
static bool end_old_snapshot(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct snapshot *s = r->kept;
    char xmin[32];
    bool ok =
        s && *s->xmin &&
        sql_value(s->conn, "SELECT pg_snapshot_xmin(pg_current_snapshot())", xmin, sizeof xmin, e);

    (void)c;
    if (ok && strcmp(xmin, s->xmin) != 0)
        ok = err_set(e, ERR_SYSTEM, "the snapshot of transaction %s was not kept", s->xmin);
    if (ok)
        snprintf(r->evidence, sizeof r->evidence,
            "a snapshot of transaction %s was open until the end", s->xmin);
    PQfinish(s ? s->conn : NULL);
    free(s);
    r->kept = NULL;
    return ok;
}

// --- lock-jobs ---------------------------------------------------------------------

// Takes an EXCLUSIVE lock, which lets others read and needs no transaction id. So the horizon moves
// on, and only the lock is in the collector's way.
static bool begin_lock_jobs(struct fault_context *c, struct fault_record *r, struct err *e)
{
    PGconn *conn = open_idle_session(c, c->server->database, e);

    r->kept = conn;
    return conn && sql_exec(conn,
                       // Without a limit, the fault would wait for ever for a session of the load
                       // that keeps its lock on the table. An old schema has no table cursors.
                       "SET lock_timeout = '5s'; BEGIN; DO $$ BEGIN"
                       " LOCK TABLE jobs IN EXCLUSIVE MODE;"
                       " IF to_regclass('cursors') IS NOT NULL THEN"
                       "  LOCK TABLE cursors IN EXCLUSIVE MODE; END IF; END $$",
                       e);
}

static bool end_lock_jobs(struct fault_context *c, struct fault_record *r, struct err *e)
{
    char waiting[16];
    PGconn *conn = r->kept;
    bool ok = conn && fault_admin(c, e) &&
              sql_value(c->admin,
                  // If the lock had not been granted, the fault would have failed at its beginning.
                  // The number of waiting sessions only adds to the evidence's text.
                  "SELECT count(*) FROM pg_locks WHERE NOT granted"
                  " AND relation IN ('jobs'::regclass, to_regclass('cursors'))",
                  waiting, sizeof waiting, e) &&
              sql_exec(conn, "ROLLBACK", e);

    if (ok)
        snprintf(r->evidence, sizeof r->evidence, "jobs was locked, %s waited for it at the end",
            waiting);
    PQfinish(conn);
    r->kept = NULL;
    return ok;
}

const struct fault_verb fault_idle_verbs[] = {
    {VERB_HOLD_HORIZON, .begin = begin_hold_horizon, .end = end_hold_horizon},
    {VERB_OLD_SNAPSHOT, .begin = begin_old_snapshot, .end = end_old_snapshot},
    {VERB_LOCK_JOBS, .begin = begin_lock_jobs, .end = end_lock_jobs},
    {0},
};
