#include "postgres/cluster/cluster.h"

#include "os/interrupt.h"
#include "postgres/cluster/timeline_left.h"

static const int64_t wait_limit_ns = 60 * NS_PER_S;
static const int64_t poll_ns = 50 * NS_PER_MS;

// --- addresses ----------------------------------------------------------------------

// Adds the REST interface of one member. `one` is HOST:PORT; it is cut at the colon, and the target
// keeps a pointer into it.
static bool add_rest_address(struct cluster *c, char *one, struct err *e)
{
    char *colon = strrchr(one, ':'), *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : 0;

    if (strncmp(one, "https://", 8) == 0)
        return err_set(e, ERR_USAGE, "postgres.rest: '%.100s': only plain HTTP is supported", one);
    if (strncmp(one, "http://", 7) == 0)
        one += 7;
    if (!colon || colon <= one || !end || *end || port < 1 || port > 65535)
        return err_set(e, ERR_USAGE, "postgres.rest: '%.100s' should be HOST:PORT", one);
    if (c->count == REST_MEMBERS_MAX)
        return err_set(e, ERR_USAGE, "postgres.rest: at most %d addresses", REST_MEMBERS_MAX);
    *colon = '\0';
    // net -1: the address is reached from our own network.
    c->targets[c->count++] = (struct rest_target){.net = -1, .host = one, .port = (int)port};
    return true;
}

// Reads user and password of the REST interfaces from the environment, if they are given there.
static bool read_rest_auth(struct cluster *c, struct err *e)
{
    const char *auth = getenv("MAILPROOF_REST_AUTH");

    if (!auth || !*auth)
        return true;
    snprintf(c->auth, sizeof c->auth, "%s", auth);
    char *password = strchr(c->auth, ':');
    if (!password || strlen(auth) >= sizeof c->auth)
        return err_set(e, ERR_USAGE, "MAILPROOF_REST_AUTH should be USER:PASSWORD");
    *password++ = '\0';
    // All members of one cluster ask for the same password.
    for (size_t i = 0; i < c->count; i++) {
        c->targets[i].user = c->auth;
        c->targets[i].password = password;
    }
    return true;
}

bool cluster_init(struct cluster *c, const char *addresses, struct err *e)
{
    *c = (struct cluster){0};
    if (!addresses)
        return true;
    c->list = memory_copy(addresses);
    char *rest = c->list;
    for (char *one; (one = strsep(&rest, ",")) != NULL;) {
        if (!add_rest_address(c, one + strspn(one, " "), e))
            return false;
    }
    return read_rest_auth(c, e);
}

void cluster_fini(struct cluster *c)
{
    free(c->list);
    *c = (struct cluster){0};
}

// --- its members --------------------------------------------------------------------

// Connects to the n-th host of the conninfo, counted from 0. *there becomes false when the conninfo
// has no such host. NULL when there is no connection.
static PGconn *connect_to_member(
    const struct server *s, const struct target *t, size_t n, bool *there, struct err *e)
{
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);

    *there = target_one_of(t, n, s->superuser, "postgres", &conninfo) && buf_str(&conninfo);
    return *there ? sql_connect(conninfo.data, e) : NULL;
}

// Waits at most 60 s until the member has replayed the WAL up to `lsn`, or takes writes itself.
static bool await_replay(PGconn *conn, const char *lsn, struct err *e)
{
    char sql[160];

    snprintf(sql, sizeof sql,
        "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= '%.30s'::pg_lsn", lsn);
    return sql_await(conn, sql, "a standby has not followed within 60 s", e);
}

bool cluster_spread(const struct server *s, const struct target *t, struct err *e)
{
    PGconn *conn = provider_connect(s, s->superuser, "postgres", e);
    struct err ignored;
    char lsn[32];
    bool there = true;

    bool ok = conn && sql_value(conn, "SELECT pg_current_wal_lsn()", lsn, sizeof lsn, e);
    PQfinish(conn);
    for (size_t n = 0; ok && there && n < REST_MEMBERS_MAX; n++) {
        conn = connect_to_member(s, t, n, &there, &ignored);
        // A member that is down (NULL) is not waited for.
        ok = !conn || await_replay(conn, lsn, e);
        PQfinish(conn);
    }
    return ok;
}

// --- switchover ---------------------------------------------------------------------

// Asks one member after another until one answers. False when none does, with the last one's error.
static bool ask_patroni(const struct cluster *c, const char *method, const char *path,
    const char *body, struct rest_answer *out, struct err *e)
{
    for (size_t i = 0; i < c->count; i++) {
        if (rest_ask(&c->targets[i], method, path, body, out, e))
            return true;
    }
    return false;
}

// Asks the cluster for its leader. ERR_CONNECTION when it has none.
static bool find_cluster_leader(const struct cluster *c, struct rest_member *out, struct err *e)
{
    static struct rest_answer answer; // 64 KiB, kept off the stack
    struct rest_member members[REST_MEMBERS_MAX];
    size_t count;

    if (!ask_patroni(c, "GET", "/cluster", NULL, &answer, e) ||
        !rest_members(answer.text, members, &count, e))
        return false;
    const struct rest_member *leader = rest_leader(members, count);
    if (!leader)
        return err_set(e, ERR_CONNECTION, "the cluster has no leader at this time");
    *out = *leader;
    return true;
}

// Returns the timeline of the server to which the conninfo leads; 0: no server takes writes now.
static int ask_timeline(const struct server *s)
{
    struct err ignored;

    // timeline_written accepts a NULL, and closes the connection.
    return timeline_written(provider_connect(s, s->superuser, "postgres", &ignored));
}

// Waits until the REST interface names another leader than `old`, and a session proves that a
// member takes writes on a later timeline than `timeline`.
static bool await_new_leader(const struct server *s, const struct cluster *c, const char *old,
    int timeline, struct failover *out, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + wait_limit_ns;
    struct rest_member now;
    struct err ignored;
    int next = 0;

    while (!find_cluster_leader(c, &now, &ignored) || strcmp(now.name, old) == 0 ||
           (next = ask_timeline(s)) <= timeline) {
        if (clock_now_ns() > deadline_ns)
            return err_set(e, ERR_SYSTEM, "no other member took writes within 60 s");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    out->served_ns = clock_now_ns();
    snprintf(out->text, sizeof out->text, "%.40s stepped down; %.40s takes writes on timeline %d",
        old, now.name, next);
    return true;
}

bool cluster_switch_over(
    const struct server *s, const struct cluster *c, struct failover *out, struct err *e)
{
    static struct rest_answer answer; // 64 KiB, kept off the stack
    struct rest_member leader;
    char body[128];

    *out = (struct failover){0};
    if (!find_cluster_leader(c, &leader, e))
        return false;
    int timeline = ask_timeline(s);
    if (timeline == 0)
        return err_set(e, ERR_CONNECTION, "no server of the conninfo takes writes");
    if (strpbrk(leader.name, "\"\\"))
        return err_set(e, ERR_SYSTEM, "the leader's name cannot be written as JSON");
    snprintf(body, sizeof body, "{\"leader\": \"%s\"}", leader.name);
    if (!ask_patroni(c, "POST", "/switchover", body, &answer, e))
        return false;
    if (answer.status != 200)
        return err_set(e, ERR_SYSTEM, "Patroni refuses the switchover%s: %.80s",
            answer.status == 401 ? " (MAILPROOF_REST_AUTH=USER:PASSWORD)" : "", answer.text);
    return await_new_leader(s, c, leader.name, timeline, out, e);
}
