// Causes and undoes the faults of the cluster, and collects the evidence that they took effect.
#include "postgres/cluster/patroni.h"

#include "os/paths.h"
#include "postgres/cluster/rest.h"
#include "postgres/sql.h"
#include "postgres/cluster/timeline_left.h"

// Finds the member that takes writes now, and its timeline. ERR_CONNECTION when none does.
static bool find_patroni_leader(const struct server *s, int *leader, int *timeline, struct err *e)
{
    *leader = leader_find(s, -1, timeline);
    return *leader >= 0 || err_set(e, ERR_CONNECTION, "no member takes writes at that time");
}

// Finds the commits of the old leader `from` that the new leader `to`, on `timeline`, never got,
// and adds them to *out. The history file of the new leader says where its timeline begins, and the
// old leader's own WAL files have the commits after that point.
static bool find_lost_commits(
    struct server *s, int from, int to, int timeline, struct failover *out, struct err *e)
{
    const struct patroni *p = s->state;
    struct timeline_left left;
    char sql[120], history[8192], data[PATH_MAX], name[8];
    size_t len = strlen(out->text);
    PGconn *conn FREED_BY(sql_finish) = member_connect(s, to, e);

    snprintf(sql, sizeof sql, "SELECT pg_read_file('pg_wal/%08X.history')", (unsigned)timeline);
    if (!conn || !sql_value(conn, sql, history, sizeof history, e) ||
        !timeline_parse_history(history, &left, e) ||
        !path_join(data, p->dir.server, patroni_member(from, name), e) ||
        !timeline_read_wal(p->bindir, data, p->user.uid, p->user.gid, &left, e))
        return false;
    out->lost_known = true;
    if (left.commits == 0)
        return true;
    // The WAL has times of day, so convert the first lost commit's time to the monotonic clock.
    out->first_lost_ns = left.first_wall_ns - (clock_wall_ns() - clock_now_ns());
    snprintf(out->text + len, sizeof out->text - len, "; %u %s stayed on timeline %d", left.commits,
        NOUN(left.commits, "commit", "commits"), left.timeline);
    return true;
}

// Waits until a member other than `from` takes writes; fails if its timeline is not later than
// `timeline`. Fills in *out, with `what` as the words for what happened to the old leader.
static bool await_promotion(
    struct server *s, int from, int timeline, const char *what, struct failover *out, struct err *e)
{
    char old[8], new[8];
    int to, next;

    if (!leader_wait(s, from, &to, &next, e))
        return false;
    out->served_ns = clock_now_ns();
    if (next <= timeline)
        return err_set(e, ERR_SYSTEM, "%s takes writes on timeline %d, and %s did on %d",
            patroni_member(to, new), next, patroni_member(from, old), timeline);
    snprintf(out->text, sizeof out->text, "%s %s; %s takes writes on timeline %d",
        patroni_member(from, old), what, patroni_member(to, new), next);
    return find_lost_commits(s, from, to, next, out, e);
}

// Asks Patroni for a switchover. Patroni answers when the switchover is done, or says why it
// refuses.
static bool switch_over(struct server *s, struct failover *out, struct err *e)
{
    const struct patroni *p = s->state;
    static struct rest_answer answer; // 64 KiB, kept off the stack
    char name[8], body[64];
    int leader, timeline;

    // The timeline is needed, too: only a later one proves that another leader was elected.
    if (!find_patroni_leader(s, &leader, &timeline, e))
        return false;
    const struct rest_target rest = {.net = p->lan.middle,
        .host = p->at.rests[leader].host,
        .port = p->at.rests[leader].port,
        .user = "mailproof",
        .password = p->at.password};
    snprintf(body, sizeof body, "{\"leader\": \"%s\"}", patroni_member(leader, name));
    if (!rest_ask(&rest, "POST", "/switchover", body, &answer, e))
        return false;
    if (answer.status != 200)
        return err_set(e, ERR_SYSTEM, "Patroni refuses the switchover: %.80s", answer.text);
    return await_promotion(s, leader, timeline, "stepped down", out, e);
}

// Kills the leader with all its processes, and waits until another member takes writes.
static bool kill_leader(struct server *s, struct failover *out, struct err *e)
{
    struct patroni *p = s->state;
    int timeline;

    if (!find_patroni_leader(s, &p->killed, &timeline, e))
        return false;
    parts_kill(p, (enum patroni_part)p->killed);
    return await_promotion(s, p->killed, timeline, "was killed", out, e);
}

// Cuts the leader off from the others and the store, and waits until another member takes writes.
static bool cut_leader_off(struct server *s, struct failover *out, struct err *e)
{
    struct patroni *p = s->state;
    int timeline;

    if (p->lan.middle < 0)
        return err_set(e, ERR_SKIP, "the members are not in a network of their own");
    if (!find_patroni_leader(s, &p->cut_off, &timeline, e) ||
        !cluster_net_cut(&p->lan, p->cut_off, e))
        return false;
    return await_promotion(s, p->cut_off, timeline, "was cut off", out, e);
}

// Kills the store. Notes the leader first, with which restore_store compares the one after it.
static bool kill_store(struct server *s, struct failover *out, struct err *e)
{
    struct patroni *p = s->state;

    if (!find_patroni_leader(s, &p->leader_before, &p->timeline_before, e))
        return false;
    parts_kill(p, PART_STORE);
    snprintf(out->text, sizeof out->text, "etcd was killed");
    return true;
}

bool patroni_strike(struct server *s, enum cluster_fault fault, struct failover *out, struct err *e)
{
    *out = (struct failover){0};
    switch (fault) {
    case CLUSTER_SWITCHOVER:
        return switch_over(s, out, e);
    case CLUSTER_KILL_LEADER:
        return kill_leader(s, out, e);
    case CLUSTER_PARTITION_LEADER:
        return cut_leader_off(s, out, e);
    case CLUSTER_KILL_STORE:
        return kill_store(s, out, e);
    }
    return err_set(e, ERR_INTERNAL, "there is no such fault");
}

// --- undoing them -----------------------------------------------------------------------

// Starts the member that kill-leader killed, if it killed one.
static bool revive_member(struct server *s, struct err *e)
{
    struct patroni *p = s->state;
    int member = p->killed;

    p->killed = -1;
    return member < 0 || parts_start(p, (enum patroni_part)member, e);
}

// Ends a cut. Fails when the cut dropped no packet, so that it cut nothing. Also fails when the
// leader that was cut off has not stepped down by itself: then two members took writes at once, a
// split brain.
static bool heal_cut(struct server *s, struct failover *out, struct err *e)
{
    struct patroni *p = s->state;
    int member = p->cut_off, timeline;
    uint64_t dropped = 0;
    size_t len = strlen(out->text);

    // No member was cut off, because the fault failed before that.
    if (member < 0)
        return true;
    // We ask before the cut ends, over the member's own socket.
    bool split = leader_writes(s, member, &timeline);
    p->cut_off = -1;
    if (!cluster_net_heal(&p->lan, member, &dropped, e))
        return false;
    if (dropped == 0)
        return err_set(e, ERR_SYSTEM, "no packet was lost in the cut");
    if (split)
        return err_set(
            e, ERR_SYSTEM, "the member that was cut off still took writes beside the new leader");
    snprintf(out->text + len, sizeof out->text - len, "; %llu packets dropped",
        (unsigned long long)dropped);
    return true;
}

// Starts the store again after kill-etcd, waits for a member that takes writes, and looks for
// commits that only the old leader has.
static bool restore_store(struct server *s, struct failover *out, struct err *e)
{
    struct patroni *p = s->state;
    int timeline, leader, before = leader_find(s, -1, &timeline); // while the store is still down
    char name[8];

    // The fault failed before it killed the store, so there is nothing to undo.
    if (p->leashes[PART_STORE])
        return true;
    if (!parts_start(p, PART_STORE, e) || !parts_wait_store(p, e) ||
        !leader_wait(s, -1, &leader, &timeline, e))
        return false;
    snprintf(out->text, sizeof out->text, "etcd was killed%s; %s takes writes on timeline %d",
        before < 0 ? ", and the leader stepped down" : "", patroni_member(leader, name), timeline);
    if (timeline == p->timeline_before || leader == p->leader_before) {
        out->lost_known = true; // no commit is lost: the old leader, or its timeline, goes on
        return true;
    }
    return find_lost_commits(s, p->leader_before, leader, timeline, out, e);
}

bool patroni_mend(struct server *s, enum cluster_fault fault, struct failover *out, struct err *e)
{
    switch (fault) {
    case CLUSTER_SWITCHOVER:
        return true;
    case CLUSTER_KILL_LEADER:
        return revive_member(s, e);
    case CLUSTER_PARTITION_LEADER:
        return heal_cut(s, out, e);
    case CLUSTER_KILL_STORE:
        return restore_store(s, out, e);
    }
    return err_set(e, ERR_INTERNAL, "there is no such fault");
}
