// Finds the leader by asking each member over its own socket, which no cut of the network affects.
#include "postgres/cluster/patroni.h"

#include "os/interrupt.h"
#include "postgres/cluster/timeline_left.h"

static const int64_t leader_limit_ns = 60 * NS_PER_S;
static const int64_t followed_limit_ns = 120 * NS_PER_S;
static const int64_t poll_ns = 20 * NS_PER_MS;

PGconn *member_connect(const struct server *s, int member, struct err *e)
{
    const struct patroni *p = s->state;
    char conninfo[PATH_MAX + 200];

    snprintf(conninfo, sizeof conninfo, "host=%s port=%d user=%s dbname=postgres", p->dir.server,
        p->at.servers[member].port, s->superuser);
    return sql_connect(conninfo, e);
}

bool leader_writes(const struct server *s, int member, int *timeline)
{
    struct err ignored;

    *timeline = timeline_written(member_connect(s, member, &ignored));
    return *timeline > 0;
}

int leader_find(const struct server *s, int except, int *timeline)
{
    struct patroni *p = s->state;

    for (int i = 0; i < PATRONI_MEMBERS; i++) {
        if (i == except || !p->leashes[i] || !leader_writes(s, i, timeline))
            continue;
        atomic_store(&p->leader, i); // own_conninfo names this member first
        return i;
    }
    return -1;
}

bool leader_wait(const struct server *s, int except, int *member, int *timeline, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + leader_limit_ns;

    while ((*member = leader_find(s, except, timeline)) < 0) {
        if (clock_now_ns() > deadline_ns)
            return err_set(
                e, ERR_SYSTEM, "no %smember took writes within 60 s", except < 0 ? "" : "other ");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    return true;
}

#define FOLLOWED "SELECT count(*) = 2 AND bool_and(replay_lsn >= pg_current_wal_lsn())"
#define STREAMING " FROM pg_stat_replication WHERE state = 'streaming'"

// True when a member leads and both others have replayed all its WAL; in a synchronous cluster one
// of them must also be the synchronous standby.
static bool is_followed(const struct server *s)
{
    const struct patroni *p = s->state;
    char value[8] = "";
    struct err ignored;
    int timeline, leader = leader_find(s, -1, &timeline);

    if (leader < 0)
        return false;
    PGconn *conn FREED_BY(sql_finish) = member_connect(s, leader, &ignored);
    return conn &&
           sql_value(conn,
               p->at.synchronous ? FOLLOWED " AND bool_or(sync_state = 'sync')" STREAMING
                                 : FOLLOWED STREAMING,
               value, sizeof value, &ignored) &&
           strcmp(value, "t") == 0;
}

bool leader_wait_followed(struct server *s, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + followed_limit_ns;
    char tail[600];

    while (!is_followed(s)) {
        if (clock_now_ns() > deadline_ns) {
            provider_log_tail(s, tail, sizeof tail);
            return err_set(e, ERR_SYSTEM,
                "the cluster had no leader with two standbys within 120 s: …%s", tail);
        }
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    return true;
}
