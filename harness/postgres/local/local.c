// The local provider: a cluster of our own under /var/tmp, reached over a Unix socket in a folder
// that no other user may enter. With --as every user reaches the socket, but the server lets in
// only that user, its own and root. No port is opened, except in the run's own network, if any.
#include "postgres/local/local.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "os/interrupt.h"
#include "os/other_user.h"
#include "os/paths.h"
#include "os/postmasters.h"
#include "os/process.h"
#include "os/workdir.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"
#include "postgres/target.h"
#include "postgres/local/initdb_template.h"

#define PROCESSES_MAX 1024

static const int64_t start_limit_ns = 60 * NS_PER_S;
static const int64_t start_poll_ns = 10 * NS_PER_MS;
static const int64_t stop_limit_ns = 30 * NS_PER_S;

static bool check_socket_path(const struct local *l, struct err *e)
{
    const size_t max = sizeof((struct sockaddr_un *)0)->sun_path;
    size_t need = strlen(l->dir.server) + strlen("/.s.PGSQL." LOCAL_PORT) + 1;

    if (need <= max)
        return true;
    return err_set(e, ERR_USAGE,
        "the server's socket path in %s would have %zu bytes, more than the system's %zu: set "
        "MAILPROOF_TMPDIR to a shorter folder",
        l->dir.server, need, max);
}

// Writes the text into an existing file of the data folder, instead of its content (flags: O_TRUNC)
// or after it (O_APPEND).
static bool write_config(
    const struct local *l, const char *name, int flags, const char *text, struct err *e)
{
    char path[PATH_MAX];

    if (!path_join(path, l->data, name, e))
        return false;
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return ok;
}

// Lets the user of --as, who runs the collectors, connect to the socket, but only as the
// collector's or the load's role; root and the server's user may connect as any role of the run. No
// other user may connect, though each can reach the socket.
static bool admit_other_user(struct local *l, const struct other_user *u, struct err *e)
{
    static const char runs[] = "runs %s " MIGRATE_COLLECTOR "\nruns %s " MIGRATE_LOAD "\n";
    const uid_t uids[] = {0, l->user.uid, u->uid};
    struct buf map FREED_BY(buf_fini) = BUF_INIT(2000);

    if (u->uid == l->user.uid)
        return err_set(e, ERR_USAGE, "--as: the run's servers run as that user; name another");
    for (size_t i = 0; i < sizeof uids / sizeof *uids; i++) {
        const struct passwd *user = getpwuid(uids[i]);
        if (!user)
            return err_set(e, ERR_SYSTEM, "user %u has no name", (unsigned)uids[i]);
        buf_printf(&map, runs, user->pw_name, user->pw_name);
        if (uids[i] != u->uid)
            buf_printf(&map, "ours %s mailproof\nours %s " MIGRATE_STRANGER "\n", user->pw_name,
                user->pw_name);
    }
    l->shares_socket = true;
    return (buf_str(&map) || err_set(e, ERR_SYSTEM, "a user's name is too long")) &&
           write_config(l, "pg_hba.conf", O_TRUNC,
               "local all " MIGRATE_COLLECTOR "," MIGRATE_LOAD " peer map=runs\n"
               "local all,replication mailproof," MIGRATE_STRANGER " peer map=ours\n",
               e) &&
           write_config(l, "pg_ident.conf", O_TRUNC, map.data, e) &&
           (chmod(l->dir.server, 0711) == 0 ||
               err_sys(e, ERR_SYSTEM, "cannot open %s to the subject", l->dir.server));
}

// Lets the collector connect: over the socket if it runs as another user than we, and over the
// run's own network if there is one. There is no other machine in that network, so it needs no
// password.
static bool admit_collector(struct local *l, struct err *e)
{
    static const char any_role[] = "host all all " NETNS_COLLECTOR_ADDRESS "/32 trust\n",
                      run_roles[] = "host all " MIGRATE_COLLECTOR "," MIGRATE_LOAD
                                    " " NETNS_COLLECTOR_ADDRESS "/32 trust\n";
    struct other_user user;

    if (!other_user(&user, e) || (user.chosen && !admit_other_user(l, &user, e)))
        return false;
    // any_role would let the user of --as become superuser over this network.
    return !l->net ||
           write_config(l, "pg_hba.conf", O_APPEND, user.chosen ? run_roles : any_role, e);
}

static void local_close(struct server *s);

// Makes two times of day that a fault may step: one for the servers, one for the collectors.
static bool make_clocks(struct local *l, struct err *e)
{
    return own_clock_make(&l->clock, l->dir.path, "clock.server", e) &&
           own_clock_make(&l->collectors_clock, l->dir.path, "clock.collectors", e);
}

// Prepares the server, without starting it: its folder, its disk, its data from the template, and
// who may connect.
static bool local_open(struct server *s, const struct scenario_postgres *want, struct err *e)
{
    struct local *l = memory_zeroed(1, sizeof *l);

    l->dir.lock = -1;
    l->disk = (struct disk)DISK_INIT;
    l->settings = &want->settings;
    l->port = LOCAL_PORT;
    l->standby_mode = want->standby;
    l->crashable = want->storage == STORAGE_CRASHABLE;
    l->net = s->net;
    s->state = l;
    s->pids_are_ours = true;
    s->superuser = "mailproof";
    s->database = "mailroom";
    // From now on the backends of a killed postmaster become our children, so that we can wait for
    // them.
    process_adopt_orphans();
    if (!template_user(&l->user, e) || !template_bindir(l->bindir, sizeof l->bindir, e) ||
        !workdir_make(&l->dir, l->user.uid, e) ||
        !workdir_give(&l->dir, l->user.uid, l->user.gid, e) || !check_socket_path(l, e) ||
        (l->crashable && !disk_make(&l->disk, l->dir.path, want, s->seed, e)) ||
        !path_join(l->data, l->crashable ? l->disk.mount : l->dir.path, "data", e) ||
        !path_join(l->log, l->dir.path, "server.log", e) ||
        !template_copy(l->bindir, l->data, &l->user, e) ||
        (want->checksums && !template_checksums(l->bindir, l->data, &l->user, e)) ||
        !admit_collector(l, e) || (s->steps_clock && !make_clocks(l, e))) {
        local_close(s);
        return false;
    }
    s->data_dir = l->data;
    s->log_path = l->log;
    s->log_is_live = true;
    return true;
}

pid_t local_spawn(const struct local *l, const char *data, const char *port, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct child_env env = {0};
    char program[PATH_MAX], texts[PROVIDER_TEXTS_MAX][SERVER_SETTING_SIZE];
    const char *argv[16 + 2 * PROVIDER_TEXTS_MAX];

    if (!path_join(program, l->bindir, "postgres", e))
        return 0;
    int log = open(l->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) {
        err_sys(e, ERR_SYSTEM, "cannot write %s", l->log);
        return 0;
    }
    const char *const head[] = {program, "-D", data, "-k", l->dir.server, "-p", port, "-c",
        l->net ? "listen_addresses=" NETNS_SERVER_ADDRESS : "listen_addresses=", "-c",
        l->shares_socket ? "unix_socket_permissions=0777" : "unix_socket_permissions=0700"};
    memcpy(argv, head, sizeof head);
    provider_add_settings(l->settings, texts, argv, sizeof head / sizeof *head);
    // Only a server whose clock is to step gets libfaketime; every other server runs as it is
    // installed.
    if (*l->clock.file) {
        child_env_init(&env);
        own_clock_add_env(&l->clock, &env);
    }
    spec.argv = argv;
    spec.env = (const char *const *)env.items;
    spec.dir = l->dir.server;
    spec.uid = l->user.uid;
    spec.gid = l->user.gid;
    spec.net = l->net ? l->net->fds[NETNS_SERVER] : -1;
    spec.out = log;
    spec.err = log;
    spec.death_signal = l->detached ? 0 : SIGQUIT; // SIGQUIT: the server ends at once
    pid_t pid = process_start(&spec, e);
    close(log);
    child_env_fini(&env);
    // The note lets a later run end this server if we are killed.
    if (pid > 0 && !postmasters_note(l->dir.path, pid, e)) {
        process_end(pid, SIGKILL, 0);
        return 0;
    }
    return pid > 0 ? pid : 0;
}

static bool local_conninfo(
    const struct server *s, const char *user, const char *dbname, struct buf *out)
{
    const struct local *l = s->state;

    // With a standby, the conninfo leads to the server that takes writes.
    if (l->standby_mode != STANDBY_NONE)
        return buf_printf(out,
            "host=%s,%s port=" LOCAL_PORT "," LOCAL_STANDBY_PORT
            " target_session_attrs=read-write user=%s dbname=%s",
            l->dir.server, l->dir.server, user, dbname);
    return buf_printf(
        out, "host=%s port=" LOCAL_PORT " user=%s dbname=%s", l->dir.server, user, dbname);
}

static bool local_address(
    const struct server *s, struct sockaddr_storage *out, socklen_t *len, struct err *e)
{
    const struct local *l = s->state;

    return target_socket_address(l->dir.server, l->port, out, len, e);
}

// Explains why the server ended before it was ready: ERR_USAGE for a setting that the server
// refuses, ERR_SYSTEM with the end of the log for any other reason. Returns false.
static bool explain_failed_start(const struct server *s, struct err *e)
{
    static const char *const refusals[] = {
        "unrecognized configuration parameter", "invalid value for parameter", "cannot be changed"};
    char tail[600];

    provider_log_tail(s, tail, sizeof tail);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const char *found = strstr(tail, refusals[i]);
        if (found)
            return err_set(e, ERR_USAGE, "postgres.settings: the server refuses them: %s", found);
    }
    return err_set(e, ERR_SYSTEM, "the server did not start: …%s", tail);
}

// Waits at most 60 s until the server answers. Fails at once when its postmaster has ended.
static bool wait_local_ready(struct server *s, struct err *e)
{
    struct local *l = s->state;
    int64_t deadline = clock_now_ns() + start_limit_ns;

    while (!provider_handshake(s, e)) {
        if (process_wait(l->postmaster, 0, NULL)) {
            l->postmaster = 0;
            return explain_failed_start(s, e);
        }
        if (clock_now_ns() > deadline)
            return err_prefix(e, "the server was not ready after 60 s");
        if (!interrupt_sleep(start_poll_ns, e))
            return false;
    }
    return true;
}

// Removes the lock files and the socket that a killed server has left. If the lock files stayed, a
// process that now has the pid in them would keep the server from starting.
static void remove_stale_locks(const struct local *l)
{
    static const char *const ends[] = {".lock", ""};
    char path[PATH_MAX], name[40];
    struct err ignored;

    if (path_join(path, l->data, "postmaster.pid", &ignored))
        unlink(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, ".s.PGSQL.%s%s", l->port, ends[i]);
        if (path_join(path, l->dir.server, name, &ignored))
            unlink(path);
    }
}

// Starts the server, unless it runs, and returns when it answers. Mounts its disk first, if that is
// not mounted.
static bool local_start(struct server *s, struct err *e)
{
    struct local *l = s->state;

    if (l->postmaster)
        return true;
    if (l->crashable && !disk_mount(&l->disk, e))
        return false;
    remove_stale_locks(l);
    l->postmaster = local_spawn(l, l->data, l->port, e);
    s->running = l->postmaster && wait_local_ready(s, e);
    return s->running;
}

// First freezes the postmaster, so that it starts no child while we look for its children. We are a
// subreaper, so the children of a dead postmaster become ours, and we can wait for them. A killed
// server does not remove its shared memory, so we do. A process that waits for a disk without power
// ends only when disk_off releases it.
bool local_kill(const struct local *l, pid_t postmaster, struct disk *dark, struct err *e)
{
    pid_t children[PROCESSES_MAX];
    int64_t deadline = clock_now_ns() + stop_limit_ns;

    kill(postmaster, SIGSTOP);
    process_wait_stopped(postmaster, deadline);
    size_t count = process_children(postmaster, children, PROCESSES_MAX);
    for (size_t i = 0; i < count; i++)
        kill(children[i], SIGKILL);
    kill(postmaster, SIGKILL);
    if (dark && !disk_off(dark, e))
        return false;
    bool gone = process_wait(postmaster, deadline, NULL);
    for (size_t i = 0; i < count; i++)
        gone = process_wait(children[i], deadline, NULL) && gone;
    postmasters_remove_memory(l->dir.path, postmaster);
    return gone || err_set(e, ERR_SYSTEM, "the server's processes survived SIGKILL for 30 s");
}

// Ends the server in the wanted way, and returns when all its processes are gone. After a power cut
// it also unmounts the disk. Does nothing without a running server.
static bool local_stop(struct server *s, enum server_stop how, struct err *e)
{
    struct local *l = s->state;

    if (!l->postmaster)
        return true;
    s->running = false;
    // The disk loses its power while the server still works. The server then waits for the disk,
    // and is killed.
    if (how == SERVER_STOP_POWER && !disk_cut_power(&l->disk, e))
        return false;
    s->paused = false;
    if (how == SERVER_STOP_KILL || how == SERVER_STOP_POWER) {
        bool power = how == SERVER_STOP_POWER;
        bool gone = local_kill(l, l->postmaster, power ? &l->disk : NULL, e);
        l->postmaster = 0;
        return gone && (!power || disk_unmount(&l->disk, e));
    }
    kill(l->postmaster, how == SERVER_STOP_FAST ? SIGINT : SIGQUIT);
    // A connection whose first message never arrives can keep a server from stopping for a minute.
    // This function then fails, but it kills the server, so that the server can at least be started
    // again.
    bool stopped = process_wait(l->postmaster, clock_now_ns() + stop_limit_ns, NULL);
    bool gone = stopped || local_kill(l, l->postmaster, NULL, e);
    l->postmaster = 0;
    return stopped ||
           (gone && err_set(e, ERR_SYSTEM, "the server did not stop within 30 s, and was killed"));
}

// Freezes all processes of the server, or lets them go on (paused: false).
static bool local_pause(struct server *s, bool paused, struct err *e)
{
    struct local *l = s->state;
    pid_t children[PROCESSES_MAX];
    int signal = paused ? SIGSTOP : SIGCONT;
    int64_t deadline = clock_now_ns() + stop_limit_ns;

    if (!l->postmaster || kill(l->postmaster, signal) != 0)
        return err_set(e, ERR_SYSTEM, "no server is running that could be signalled");
    s->paused = paused;
    // Waits until the postmaster stands still, because until then it may start a further child that
    // we would miss.
    if (paused && !process_wait_stopped(l->postmaster, deadline))
        return err_set(e, ERR_SYSTEM, "the server did not stop at SIGSTOP");
    size_t count = process_children(l->postmaster, children, PROCESSES_MAX);
    for (size_t i = 0; i < count; i++)
        kill(children[i], signal);
    // A child that has ended meanwhile is never seen stopped; that is no failure.
    for (size_t i = 0; paused && i < count; i++) {
        if (!process_wait_stopped(children[i], deadline) && clock_now_ns() >= deadline)
            return err_set(
                e, ERR_SYSTEM, "the server's pid %d did not stop at SIGSTOP", (int)children[i]);
    }
    return true;
}

// Makes the standby if one is wanted. Brings all that was written so far to the crashable disk, if
// there is one, so that a power cut takes only what comes later.
static bool local_settle(struct server *s, struct err *e)
{
    struct local *l = s->state;

    if (l->standby_mode != STANDBY_NONE && !standby_make(s, e))
        return false;
    if (!l->crashable)
        return true;
    PGconn *conn FREED_BY(sql_finish) = provider_connect(s, s->superuser, "postgres", e);
    // pages_make: the pages that a later cut may tear.
    return conn && pages_make(conn, e) && sql_exec(conn, "CHECKPOINT", e) &&
           disk_settle(&l->disk, e);
}

static struct disk *local_disk(const struct server *s)
{
    struct local *l = s->state;

    return l->crashable ? &l->disk : NULL;
}

// Returns the clock of the server, or the one that all collectors share.
static struct own_clock *local_clock(const struct server *s, enum fault_target whose)
{
    struct local *l = s->state;

    return whose == TARGET_SERVER ? &l->clock : &l->collectors_clock;
}

// Leaves the server running after us, without its standby, and appends to `out` how to reach and
// how to remove it.
static bool local_keep(struct server *s, struct buf *out, struct err *e)
{
    struct local *l = s->state;

    // The running postmaster would die with us, so the server is started anew, without a death
    // signal.
    l->detached = true;
    if (!local_stop(s, SERVER_STOP_FAST, e) || !local_start(s, e) || !standby_dismiss(s, e))
        return false;
    // In the command, tail waits for the server's end: until then the server may write files, which
    // would keep rm from removing the folders.
    buf_printf(out,
        "The server is still running.\n  reach it:  psql 'host=%s port=%s"
        " user=mailproof dbname=mailroom'\n"
        "  remove it: kill -INT %d && tail -s 0.1 --pid=%d -f /dev/null && rm -rf '%s'\n",
        l->dir.server, l->port, (int)l->postmaster, (int)l->postmaster, l->dir.path);
    workdir_keep(&l->dir);
    l->postmaster = 0;
    disk_keep(&l->disk);
    return true;
}

// Ends the server and its standby, and removes the disk and the folder. Accepts a server that is
// half opened.
static void local_close(struct server *s)
{
    struct local *l = s->state;
    struct err ignored;

    if (!l)
        return;
    // Nobody will read the server's data again, so the fastest way to end the server is good
    // enough. A server that has not died in time gets as much time again, because its disk cannot
    // be unmounted while it lives.
    pid_t postmaster = l->postmaster; // local_stop forgets it
    if (postmaster && !local_stop(s, SERVER_STOP_KILL, &ignored))
        process_wait(postmaster, clock_now_ns() + stop_limit_ns, NULL);
    if (l->standby && !local_kill(l, l->standby, NULL, &ignored))
        process_wait(l->standby, clock_now_ns() + stop_limit_ns, NULL);
    disk_remove(&l->disk);
    workdir_remove(&l->dir);
    free(l);
    *s = (struct server){.provider = s->provider};
}

const struct provider provider_local = {
    .name = "local",
    .open = local_open,
    .start = local_start,
    .stop = local_stop,
    .pause = local_pause,
    .conninfo = local_conninfo,
    .address = local_address,
    .promote = standby_promote,
    .settle = local_settle,
    .disk = local_disk,
    .clock = local_clock,
    .repair = local_repair,
    .keep = local_keep,
    .close = local_close,
};
