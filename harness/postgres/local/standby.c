// Makes and promotes a streaming standby of the local cluster. Its data is in the run's folder,
// too.
#include "os/block_group.h"
#include "os/paths.h"
#include "os/process.h"
#include "postgres/local/local.h"
#include "postgres/sql.h"

// Connects to the present server by its port. The provider's conninfo asks for a server that takes
// writes, and a standby takes none before it is promoted.
static PGconn *connect_by_port(const struct server *s, struct err *e)
{
    const struct local *l = s->state;
    char conninfo[PATH_MAX + 200];

    snprintf(conninfo, sizeof conninfo, "host=%s port=%s user=%s dbname=postgres", l->dir.server,
        l->port, s->superuser);
    return sql_connect(conninfo, e);
}

// Makes the standby's data folder, as a copy of the running primary.
static bool base_backup(const struct server *s, struct err *e)
{
    const struct local *l = s->state;
    char program[PATH_MAX], text[800];

    if (!path_join(program, l->bindir, "pg_basebackup", e))
        return false;
    if (access(program, X_OK) != 0)
        return err_set(e, ERR_SKIP,
            "a standby is made with pg_basebackup, which is not among this server's programs");
    const char *argv[] = {program, "--host", l->dir.server, "--port", l->port, "--username",
        s->superuser, "--pgdata", l->standby_data, "--wal-method=stream", "--checkpoint=fast",
        "--write-recovery-conf", NULL};
    return process_run(argv, l->user.uid, l->user.gid, text, sizeof text, e);
}

// Waits until the primary shows a standby that meets the condition. An answer of the standby itself
// would prove nothing, because the standby may still be behind.
static bool await_standby(PGconn *primary, const char *condition, struct err *e)
{
    char sql[120];

    snprintf(
        sql, sizeof sql, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE %s)", condition);
    return sql_await(primary, sql, "the standby did not follow within 60 s", e);
}

// Makes the primary's commits wait for the standby. Call it after the backup, so that the standby
// does not inherit the setting: once promoted, it has no standby of its own to wait for.
static bool make_synchronous(PGconn *primary, struct err *e)
{
    return sql_exec(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'", e) &&
           sql_exec(primary, "SELECT pg_reload_conf()", e) &&
           await_standby(primary, "sync_state = 'sync'", e);
}

bool standby_make(struct server *s, struct err *e)
{
    struct local *l = s->state;

    // In a folder of block_group_mkdir, ext4 makes new files faster.
    if (!path_join(l->standby_data, l->dir.path, "standby", e) ||
        !block_group_mkdir(l->standby_data, l->user.uid, l->user.gid, e) || !base_backup(s, e))
        return false;
    l->standby = local_spawn(l, l->standby_data, LOCAL_STANDBY_PORT, e);
    PGconn *conn FREED_BY(sql_finish) = l->standby ? connect_by_port(s, e) : NULL;
    return conn && await_standby(conn, "state = 'streaming'", e) &&
           (l->standby_mode != STANDBY_SYNC || make_synchronous(conn, e));
}

bool standby_dismiss(struct server *s, struct err *e)
{
    struct local *l = s->state;

    if (!l->standby)
        return true;
    PGconn *conn FREED_BY(sql_finish) = connect_by_port(s, e);
    // First the primary must stop waiting for the standby, because otherwise its next commit would
    // hang when the standby is gone.
    if (!conn || !sql_exec(conn, "ALTER SYSTEM RESET synchronous_standby_names", e) ||
        !sql_exec(conn, "SELECT pg_reload_conf()", e) || !local_kill(l, l->standby, NULL, e))
        return false;
    l->standby = 0;
    return true;
}

bool standby_promote(struct server *s, struct err *e)
{
    struct local *l = s->state;
    char promoted[16];

    if (!l->standby)
        return err_set(e, ERR_SYSTEM, "there is no standby to promote");
    s->running = false;
    if (l->postmaster && !local_kill(l, l->postmaster, NULL, e))
        return false;
    // From here on the standby is the server, for all other functions.
    l->postmaster = l->standby;
    l->standby = 0;
    l->port = LOCAL_STANDBY_PORT;
    memcpy(l->data, l->standby_data, sizeof l->data);
    PGconn *conn FREED_BY(sql_finish) = connect_by_port(s, e);
    s->running =
        conn && sql_value(conn, "SELECT pg_promote(true, 60)", promoted, sizeof promoted, e);
    return s->running && (strcmp(promoted, "t") == 0 ||
                             err_set(e, ERR_SYSTEM, "the standby was not promoted within 60 s"));
}
