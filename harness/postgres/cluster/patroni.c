// The patroni provider: a cluster of three members on this machine that elects its leader. Its
// ports are on loopback, or in a network of namespaces if members are to be cut off from each
// other. The harness's own sessions use the members' sockets in a folder that nobody else may
// enter. HAProxy's socket has a folder of its own, which the user of --as may enter, too.
#include "postgres/cluster/patroni.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "os/other_user.h"
#include "os/paths.h"
#include "os/process.h"
#include "postgres/migrate.h"
#include "postgres/target.h"

#define PORTS (2 * PATRONI_MEMBERS + 1) // each member's server and REST interface, and the store

static const int64_t keep_limit_ns = 10 * NS_PER_S;

// --- places -----------------------------------------------------------------------------

static struct patroni_place make_place(const char *host, int port)
{
    struct patroni_place p = {.port = port};

    snprintf(p.host, sizeof p.host, "%s", host);
    return p;
}

// Chooses the addresses and ports: of the members' servers first, then of their REST interfaces,
// and last of the store.
static bool find_places(struct patroni *p, struct err *e)
{
    const bool lan = p->lan.middle >= 0;
    const char *middle = lan ? CLUSTER_NET_MIDDLE_ADDRESS : "127.0.0.1";
    int ports[PORTS];

    if (!target_free_ports(ports, PORTS, e))
        return false;
    for (int i = 0; i < PATRONI_MEMBERS; i++) {
        char address[CLUSTER_NET_ADDRESS];
        const char *host = lan ? cluster_net_address(i, address) : middle;
        p->at.servers[i] = make_place(host, ports[i]);
        p->at.rests[i] = make_place(host, ports[PATRONI_MEMBERS + i]);
    }
    p->at.store = make_place(middle, ports[2UL * PATRONI_MEMBERS]);
    return true;
}

// Makes the folder of HAProxy's socket, and lets the user of --as, who runs the collectors, connect
// there. That is safe: the members ask everybody who comes through HAProxy for a password.
static bool make_proxy_folder(struct patroni *p, struct err *e)
{
    struct other_user other;

    if (!other_user(&other, e) || !path_join(p->proxy, p->dir.path, "proxy", e))
        return false;
    if (other.chosen && other.uid == p->user.uid)
        return err_set(e, ERR_USAGE, "--as: the run's servers run as that user; name another");
    p->at.proxy_dir = p->proxy;
    p->at.shares_proxy = other.chosen;
    return (mkdir(p->proxy, 0700) == 0 && chown(p->proxy, p->user.uid, p->user.gid) == 0 &&
               chmod(p->proxy, other.chosen ? 0711 : 0700) == 0) ||
           err_sys(e, ERR_SYSTEM, "cannot make %s", p->proxy);
}

static bool check_socket_paths(const struct patroni *p, struct err *e)
{
    const size_t max = sizeof((struct sockaddr_un *)0)->sun_path;

    return strlen(p->dir.server) + strlen("/.s.PGSQL.65535") < max ||
           err_set(e, ERR_USAGE,
               "a server's socket path in %s would be longer than the system allows: set "
               "MAILPROOF_TMPDIR to a shorter folder",
               p->dir.server);
}

// --- files in the run's folder ---------------------------------------------------------

// Writes a file into the run's folder, for the server's user alone to read.
static bool write_patroni_file(
    const struct patroni *p, const char *name, struct buf *text, struct err *e)
{
    char path[PATH_MAX];

    if (!path_join(path, p->dir.path, name, e))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, text->data, text->len) == (ssize_t)text->len &&
              fchown(fd, p->user.uid, p->user.gid) == 0;
    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return ok;
}

// Writes a configuration for each member, and the proxy's.
static bool write_configs(const struct patroni *p, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 20);
    char member[8], name[16];
    bool ok = true;

    for (int i = 0; ok && i < PATRONI_MEMBERS; i++) {
        buf_clear(&text);
        snprintf(name, sizeof name, "%s.yml", patroni_member(i, member));
        ok = patroni_render(&p->at, i, &text, e) && write_patroni_file(p, name, &text, e);
    }
    buf_clear(&text);
    return ok && patroni_render_proxy(&p->at, &text, e) &&
           write_patroni_file(p, "haproxy.cfg", &text, e);
}

// Sets the superuser's password in `data` before any member runs, because standbys sign in with it
// from the start.
static bool set_password(const struct patroni *p, const char *data, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    char program[PATH_MAX], sql[200], text[800];
    int in[2];

    if (!path_join(program, p->bindir, "postgres", e))
        return false;
    if (pipe2(in, O_CLOEXEC) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make a pipe");
    int len = snprintf(sql, sizeof sql, "ALTER ROLE mailproof PASSWORD '%s'\n", p->at.password);
    bool ok =
        write(in[1], sql, (size_t)len) == len || err_sys(e, ERR_SYSTEM, "cannot write to a pipe");
    close(in[1]);
    // A single-user server listens nowhere, so nobody can connect before there is a password.
    // Without exit_on_error it would end with 0 even after an SQL error.
    spec.argv = (const char *const[]){
        program, "--single", "-c", "exit_on_error=on", "-D", data, "postgres", NULL};
    spec.uid = p->user.uid;
    spec.gid = p->user.gid;
    spec.in = in[0];
    spec.death_signal = SIGKILL;
    ok = ok && process_collect(&spec, text, sizeof text, e);
    close(in[0]);
    return ok;
}

// Makes the members' data folders. All are copies of one folder, so that the members are one
// cluster and can stream from each other at once.
static bool make_data(struct patroni *p, struct err *e)
{
    char first[PATH_MAX], other[PATH_MAX], name[8], text[800];

    if (!path_join(first, p->dir.server, patroni_member(0, name), e) ||
        !template_copy(p->bindir, first, &p->user, e) || !set_password(p, first, e))
        return false;
    // One folder stands for all when the disk is examined (s->data_dir).
    snprintf(p->data, sizeof p->data, "%s", first);
    for (int i = 1; i < PATRONI_MEMBERS; i++) {
        const char *const argv[] = {"cp", "-a", "--reflink=auto", first, other, NULL};
        if (!path_join(other, p->dir.server, patroni_member(i, name), e) ||
            !process_run(argv, (uid_t)-1, 0, text, sizeof text, e))
            return false;
    }
    return true;
}

// --- the provider ----------------------------------------------------------------------

static void patroni_close(struct server *s);

// Finds the programs, and makes the network, the folder, the configuration and the members' data.
// Starts nothing.
static bool prepare_patroni(struct server *s, struct patroni *p, struct err *e)
{
    return template_user(&p->user, e) && template_bindir(p->bindir, sizeof p->bindir, e) &&
           parts_find(p, e) && (!s->cuts_members_off || cluster_net_make(&p->lan, e)) &&
           workdir_make(&p->dir, p->user.uid, e) && check_socket_paths(p, e) &&
           target_random(p->password, TARGET_PASSWORD_LEN, e) &&
           target_random(p->at.password, TARGET_PASSWORD_LEN, e) &&
           target_random(p->at.store_password, TARGET_PASSWORD_LEN, e) && find_places(p, e) &&
           make_proxy_folder(p, e) && write_configs(p, e) && make_data(p, e) &&
           workdir_give(&p->dir, p->user.uid, p->user.gid, e) &&
           path_join(p->log, p->dir.path, "server.log", e);
}

// Prepares the cluster, without starting it.
static bool patroni_open(struct server *s, const struct scenario_postgres *want, struct err *e)
{
    struct patroni *p = memory_zeroed(1, sizeof *p);

    p->dir = (struct workdir)WORKDIR_INIT;
    p->lan = (struct cluster_net)CLUSTER_NET_INIT;
    p->killed = p->cut_off = -1;
    p->route = want->route;
    p->at.dir = p->dir.server;
    p->at.bindir = p->bindir;
    p->at.synchronous = want->standby == STANDBY_SYNC;
    p->at.settings = &want->settings;
    s->state = p;
    s->pids_are_ours = true;
    s->superuser = "mailproof";
    s->database = "mailroom";
    // The server outlives a Patroni that is killed. It then becomes our child, so that we can wait
    // for it.
    process_adopt_orphans();
    if (!prepare_patroni(s, p, e)) {
        patroni_close(s);
        return false;
    }
    s->password = p->password;
    // A client needs only the network from which all members can be reached, which is the middle.
    p->clients = (struct netns){.fds = {[NETNS_SERVER] = -1, [NETNS_COLLECTOR] = p->lan.middle}};
    s->clients = p->lan.middle >= 0 ? &p->clients : NULL;
    s->data_dir = p->data;
    s->log_path = p->log;
    s->log_is_live = true;
    return true;
}

// Starts the store, the members and the proxy. Returns when a member leads and both others follow.
static bool patroni_start(struct server *s, struct err *e)
{
    struct patroni *p = s->state;

    s->running =
        parts_start(p, PART_STORE, e) && parts_wait_store(p, e) && parts_set_store_password(p, e) &&
        parts_start(p, PART_M1, e) && parts_start(p, PART_M2, e) && parts_start(p, PART_M3, e) &&
        parts_start(p, PART_PROXY, e) && leader_wait_followed(s, e) && provider_handshake(s, e);
    return s->running;
}

// Appends a conninfo with the members' sockets that leads to the member that takes writes. The
// present leader comes first, because a standby that does not have the database yet would end the
// search with an error.
static bool own_conninfo(
    const struct patroni *p, const char *user, const char *dbname, struct buf *out)
{
    const struct patroni_place *at = p->at.servers;
    int first = atomic_load(&p->leader);

    return buf_printf(out,
        "host=%s,%s,%s port=%d,%d,%d target_session_attrs=read-write user=%s dbname=%s",
        p->dir.server, p->dir.server, p->dir.server, at[first].port,
        at[(first + 1) % PATRONI_MEMBERS].port, at[(first + 2) % PATRONI_MEMBERS].port, user,
        dbname);
}

// Appends the conninfo of a role. The collector finds the leader as in production: through the
// proxy (route: proxy), or else by the members' addresses. The load goes through the proxy, too, or
// else to the members' own sockets. There it is like a client on the leader's machine: no cut of
// the network separates it from the leader.
static bool patroni_conninfo(
    const struct server *s, const char *user, const char *dbname, struct buf *out)
{
    const struct patroni *p = s->state;

    if (strcmp(user, s->superuser) == 0)
        return own_conninfo(p, user, dbname, out);
    if (p->route == ROUTE_PROXY)
        return buf_printf(out, "host=%s port=" PATRONI_PROXY_PORT " user=%s password=%s dbname=%s",
            p->proxy, user, s->password, dbname);
    if (strcmp(user, MIGRATE_COLLECTOR) != 0)
        return own_conninfo(p, user, dbname, out);
    return buf_printf(out,
        "host=%s,%s,%s port=%d,%d,%d target_session_attrs=read-write user=%s password=%s "
        "dbname=%s",
        p->at.servers[0].host, p->at.servers[1].host, p->at.servers[2].host, p->at.servers[0].port,
        p->at.servers[1].port, p->at.servers[2].port, user, s->password, dbname);
}

// Implements `address` of struct provider: the socket of the cluster's proxy.
static bool patroni_address(
    const struct server *s, struct sockaddr_storage *out, socklen_t *len, struct err *e)
{
    const struct patroni *p = s->state;

    return target_socket_address(p->proxy, PATRONI_PROXY_PORT, out, len, e);
}

// --- a cluster that is left running ------------------------------------------------------

// True when no signal is pending for the leash, and it sleeps, so it handles none either.
static bool is_leash_idle(pid_t leash)
{
    char text[PROCESS_STATUS_MAX];
    const char *pending = process_status(leash, "ShdPnd", text);
    struct process_stat stat;

    return pending && strtoull(pending, NULL, 16) == 0 && process_stat(leash, &stat) &&
           stat.state == 'S';
}

// Waits at most 10 s until the leash has handled the signal that was sent. False when it has not.
static bool wait_for_leash(pid_t leash)
{
    int64_t deadline_ns = clock_now_ns() + keep_limit_ns;
    bool idle;

    while (!(idle = is_leash_idle(leash)) && clock_now_ns() < deadline_ns)
        usleep(1000);
    return idle;
}

// Makes the leashes and their programs survive us, and appends to `out` how to reach and how to
// remove the cluster.
static bool patroni_keep(struct server *s, struct buf *out, struct err *e)
{
    struct patroni *p = s->state;

    buf_printf(out, "The cluster is still running.\n  reach it:  psql '");
    own_conninfo(p, "mailproof", "mailroom", out);
    // The leashes of the programs (os/leash.c) stay. At TERM each ends its program.
    buf_printf(out, "'\n  remove it: kill");
    for (int i = 0; i < PARTS; i++) {
        if (!p->leashes[i])
            continue;
        kill(p->leashes[i], SIGUSR1); // from now on the leash survives us
        if (!wait_for_leash(p->leashes[i]))
            return err_set(e, ERR_SYSTEM, "the cluster cannot be left running");
        buf_printf(out, " %d", (int)p->leashes[i]);
    }
    // In the command, tail waits for the leashes to end: until then the programs may write files,
    // which would keep rm from removing the folder.
    for (int i = 0; i < PARTS; i++) {
        if (p->leashes[i])
            buf_printf(out, " && tail -s 0.1 --pid=%d -f /dev/null", (int)p->leashes[i]);
    }
    buf_printf(out, " && rm -rf '%s'\n", p->dir.path);
    p->detached = true;
    workdir_keep(&p->dir);
    memset(p->leashes, 0, sizeof p->leashes);
    return true;
}

// Kills all programs and removes the folder, unless patroni_keep has left the cluster running.
static void patroni_close(struct server *s)
{
    struct patroni *p = s->state;

    if (!p)
        return;
    // Without the folder's lock no program was started, and p->dir.server is empty, so parts_kill
    // would look for the members' data in "/".
    bool started = p->dir.lock >= 0;
    for (int i = 0; started && !p->detached && i < PARTS; i++)
        parts_kill(p, (enum patroni_part)i);
    cluster_net_fini(&p->lan);
    workdir_remove(&p->dir);
    free(p);
    *s = (struct server){.provider = s->provider};
}

const struct provider provider_patroni = {
    .name = "patroni",
    .open = patroni_open,
    .start = patroni_start,
    .conninfo = patroni_conninfo,
    .address = patroni_address,
    .strike = patroni_strike,
    .strikes = ~0u,
    .mend = patroni_mend,
    // The load then starts on a cluster whose members all have what the migrations wrote.
    .settle = leader_wait_followed,
    .keep = patroni_keep,
    .close = patroni_close,
};
