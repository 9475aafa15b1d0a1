// The url provider: a server that exists already, on which we make databases and roles of our own.
// We never stop the server, and change neither its settings nor anything that is not ours. Fault
// verbs that need control of the server are refused before the run. The others do what any client
// can do to its neighbours, such as to take all connections.
#include "postgres/provider.h"

#include "postgres/cluster/cluster.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"
#include "postgres/target.h"

#define KEPT_MARK "kept by mailproof"

struct url {
    struct target target;
    struct cluster cluster;
    char dbname[64];
    char shared[64]; // those roles of MIGRATE_SHARED that did not exist before the run or that an
                     // earlier run has made, as ", a, b"; removed at the end
    bool open;       // true: our database and roles may be on the server and must be removed
    bool kept;
};

static bool url_conninfo(
    const struct server *s, const char *user, const char *dbname, struct buf *out)
{
    const struct url *u = s->state;

    // In a cluster only the leader will do. Of two values for a setting libpq takes the later one,
    // so this overrides the user's own.
    return target_conninfo(&u->target, user, dbname, out) &&
           (u->cluster.count == 0 || buf_printf(out, " target_session_attrs=read-write"));
}

static bool url_address(
    const struct server *s, struct sockaddr_storage *out, socklen_t *len, struct err *e)
{
    const struct url *u = s->state;

    return target_address(&u->target, out, len, e);
}

static void url_close(struct server *s);

// Takes the conninfo of --postgres apart and names the run's database. url_start connects.
static bool url_open(struct server *s, const struct scenario_postgres *want, struct err *e)
{
    struct url *u;

    if (!s->conninfo)
        return err_set(e, ERR_SKIP, "provider: url needs --postgres CONNINFO to name the server");
    // Others use that server, too, so its settings are not ours to change.
    if (want->settings.count > 0)
        return err_set(e, ERR_SKIP,
            "the scenario sets %s, which needs a server of the harness's own",
            want->settings.items[0].name);
    u = memory_zeroed(1, sizeof *u);
    s->state = u;
    if (!target_init(&u->target, s->conninfo, e) || !cluster_init(&u->cluster, want->rest, e)) {
        url_close(s);
        return false;
    }
    s->superuser = u->target.user;
    s->password = u->target.password;
    snprintf(u->dbname, sizeof u->dbname, "mailproof_%s", u->target.unique);
    s->database = u->dbname;
    return true;
}

// Rolls back the prepared transactions that the fault hold-horizon of a killed run has left. Such a
// transaction keeps its database from being dropped, and holds back the horizon of all other
// databases.
static bool roll_back_left_transactions(const struct server *s, PGconn *conn, struct err *e)
{
    PGresult *left FREED_BY(sql_clear) = sql_query(conn,
        "SELECT database, format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts"
        " WHERE gid LIKE 'mailproof-%' AND database LIKE 'mailproof\\_%'",
        0, NULL, e);
    bool ok = left != NULL;

    // A prepared transaction can be rolled back only from within its own database.
    for (int i = 0; ok && i < PQntuples(left); i++) {
        PGconn *there FREED_BY(sql_finish) =
            provider_connect(s, s->superuser, PQgetvalue(left, i, 0), e);
        ok = there && sql_exec(there, PQgetvalue(left, i, 1), e);
    }
    return ok;
}

// Removes the databases that killed runs left: those with a name of ours that have no session and
// are not marked as kept. Looks for sessions first, because roll_back_left_transactions connects to
// such databases itself. DROP DATABASE waits a few seconds for a session that is just ending.
static bool remove_left_databases(const struct server *s, PGconn *conn, struct err *e)
{
    PGresult *left FREED_BY(sql_clear) = sql_query(conn,
        "SELECT format('DROP DATABASE %I', datname) FROM pg_database AS d"
        " WHERE datname ~ '^mailproof_([0-9a-f]{8}|cut_[0-9]+|other)$'"
        " AND shobj_description(d.oid, 'pg_database') IS DISTINCT FROM '" KEPT_MARK "'"
        " AND NOT EXISTS (SELECT FROM pg_stat_activity AS a WHERE a.datid = d.oid)",
        0, NULL, e);
    bool ok = left && roll_back_left_transactions(s, conn, e);

    for (int i = 0; ok && i < PQntuples(left); i++)
        ok = sql_exec(conn, PQgetvalue(left, i, 0), e);
    return ok;
}

// Checks our role's rights, and that no other run uses the server: two runs cannot share a server,
// because faults find the backends of a role by its name, and all runs use the same names. Removes
// what killed runs have left on the server, and notes in u->shared which roles url_close must drop.
static bool claim_server(const struct server *s, PGconn *conn, struct err *e)
{
    struct url *u = s->state;
    char text[64];

    if (!sql_value(conn,
            "SELECT CASE WHEN NOT (rolsuper OR (rolcreatedb AND rolcreaterole)) THEN 'no'"
            " WHEN EXISTS (SELECT FROM pg_stat_activity WHERE usename IN ('" MIGRATE_COLLECTOR
            "', '" MIGRATE_LOAD "', '" MIGRATE_STRANGER "')) THEN 'busy'"
            " ELSE 'ok' END FROM pg_roles WHERE rolname = current_user",
            text, sizeof text, e))
        return false;
    if (strcmp(text, "no") == 0)
        return err_set(e, ERR_SKIP,
            "the role of --postgres may not make databases and roles there (ALTER ROLE … CREATEDB "
            "CREATEROLE)");
    if (strcmp(text, "busy") == 0)
        return err_set(
            e, ERR_SKIP, "another run of mailproof is using that server; wait until it has ended");
    // Lists the roles that url_close will drop: those that do not exist now, because this run makes
    // them, and those that an earlier run has made and marked.
    return remove_left_databases(s, conn, e) &&
           sql_value(conn,
               "SELECT coalesce(string_agg(', ' || name, ''), '')"
               " FROM unnest(ARRAY[" MIGRATE_SHARED "]) AS name WHERE NOT EXISTS (SELECT"
               " FROM pg_roles WHERE rolname = name"
               " AND shobj_description(oid, 'pg_authid') IS DISTINCT FROM '" MIGRATE_MARK "')",
               u->shared, sizeof u->shared, e);
}

// Connects to the server, which runs already, and claims it for this run.
static bool url_start(struct server *s, struct err *e)
{
    struct url *u = s->state;
    PGconn *conn FREED_BY(sql_finish) = provider_connect(s, s->superuser, "postgres", e);

    // The user has named this server, so a run that cannot reach it fails. It is not skipped.
    if (!conn)
        return err_prefix(
            e, "the server of --postgres cannot be used ('mailproof doctor' looks into it)");
    s->version = PQserverVersion(conn);
    // Behind a port there may be another machine or a container. (A container whose socket's folder
    // is mounted here is taken for a server of this machine.)
    s->pids_are_ours = PQhost(conn) && PQhost(conn)[0] == '/';
    s->running = u->open = claim_server(s, conn, e);
    return s->running;
}

// Fails when the roles that a run makes may not log in. A server that asks the operating system who
// its client is ("peer", as Debian's does at its socket) lets none of them in.
static bool url_settle(struct server *s, struct err *e)
{
    static const char *const roles[] = {MIGRATE_COLLECTOR, MIGRATE_LOAD};

    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        PGconn *conn = provider_connect(s, roles[i], s->database, e);
        PQfinish(conn);
        if (!conn)
            return err_prefix(e,
                "a role that the run made may not log in; pg_hba.conf must let %s log in with a "
                "password",
                roles[i]);
    }
    return true;
}

// Drops the database of the fault hold-horizon. A failure does not matter, because a later run
// removes what is left.
static void remove_other_database(PGconn *conn)
{
    PQclear(PQexec(conn, "DROP DATABASE IF EXISTS mailproof_other WITH (FORCE)"));
}

// Marks the run's database as kept, so that no later run drops it, and says how to remove it.
static bool url_keep(struct server *s, struct buf *out, struct err *e)
{
    struct url *u = s->state;
    char sql[160];

    snprintf(sql, sizeof sql, "COMMENT ON DATABASE %s IS '" KEPT_MARK "'", u->dbname);
    PGconn *conn FREED_BY(sql_finish) = provider_connect(s, s->superuser, "postgres", e);
    u->kept = conn && sql_exec(conn, sql, e);
    if (u->kept)
        remove_other_database(conn);
    return u->kept && buf_printf(out,
                          "The database %s is left on the server.\n"
                          "  remove it: DROP DATABASE %s; DROP ROLE IF EXISTS " MIGRATE_COLLECTOR
                          ", " MIGRATE_LOAD ", " MIGRATE_STRANGER "%s\n",
                          u->dbname, u->dbname, u->shared);
}

// Removes the run's databases and roles. A failure does not matter, because a later run removes
// what is left.
static void remove_run_objects(struct server *s)
{
    struct url *u = s->state;
    struct err ignored;
    char sql[256];
    PGconn *conn FREED_BY(sql_finish) = provider_connect(s, s->superuser, "postgres", &ignored);

    if (!conn)
        return;
    // Runs the statements one after another, so that one that fails does not keep the rest from
    // running.
    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s WITH (FORCE)", u->dbname);
    PQclear(PQexec(conn, sql));
    remove_other_database(conn);
    PQclear(PQexec(conn, "DROP ROLE IF EXISTS " MIGRATE_COLLECTOR));
    PQclear(PQexec(conn, "DROP ROLE IF EXISTS " MIGRATE_LOAD));
    PQclear(PQexec(conn, "DROP ROLE IF EXISTS " MIGRATE_STRANGER));
    if (strstr(u->shared, MIGRATE_GROUP))
        PQclear(PQexec(conn, "DROP ROLE IF EXISTS " MIGRATE_GROUP));
    if (strstr(u->shared, MIGRATE_OWNER))
        PQclear(PQexec(conn, "DROP ROLE IF EXISTS " MIGRATE_OWNER));
}

// Removes the run's database and roles from the server, unless url_keep has kept them. Accepts a
// server that is half opened.
static void url_close(struct server *s)
{
    struct url *u = s->state;

    if (!u)
        return;
    if (u->open && !u->kept)
        remove_run_objects(s);
    target_fini(&u->target);
    cluster_fini(&u->cluster);
    free(u);
    *s = (struct server){.provider = s->provider};
}

static bool url_spread(const struct server *s, struct err *e)
{
    const struct url *u = s->state;

    return cluster_spread(s, &u->target, e);
}

// Carries out the one fault that this provider knows: a switchover.
static bool url_strike(
    struct server *s, enum cluster_fault fault, struct failover *out, struct err *e)
{
    const struct url *u = s->state;

    if (fault != CLUSTER_SWITCHOVER)
        return err_set(e, ERR_INTERNAL, "there is no such fault");
    return cluster_switch_over(s, &u->cluster, out, e);
}

#define URL                                                                                        \
    .name = "url", .open = url_open, .start = url_start, .settle = url_settle,                     \
    .conninfo = url_conninfo, .address = url_address, .keep = url_keep, .close = url_close

const struct provider provider_url = {URL};
const struct provider provider_cluster = {
    URL, .spread = url_spread, .strike = url_strike, .strikes = 1u << CLUSTER_SWITCHOVER};
