// Faults against a cluster that elects its leader.
#include "fault/family.h"

#include "postgres/sql.h"

enum cluster_fault fault_cluster_of(enum verb_id id)
{
    switch (id) {
    case VERB_KILL_LEADER:
        return CLUSTER_KILL_LEADER;
    case VERB_PARTITION_LEADER:
        return CLUSTER_PARTITION_LEADER;
    case VERB_KILL_ETCD:
        return CLUSTER_KILL_STORE;
    default:
        return CLUSTER_SWITCHOVER;
    }
}

// Lets the provider carry out or end the fault, by its `strike` or `mend`. The provider says when
// another member took over; at the fault's end it goes on from what it has found at the beginning.
static bool act_on_cluster(struct fault_context *c, struct fault_record *r,
    bool (*act)(struct server *, enum cluster_fault, struct failover *, struct err *),
    struct err *e)
{
    struct failover f = {
        .served_ns = r->served_ns, .lost_known = r->left_known, .first_lost_ns = r->left_ns};

    // The leader at the other end of this connection may be replaced.
    sql_finish(&c->admin);
    snprintf(f.text, sizeof f.text, "%s", r->evidence);
    bool ok = act(c->server, fault_cluster_of(r->spec->verb->id), &f, e);
    r->served_ns = f.served_ns;
    r->left_known = f.lost_known;
    r->left_ns = f.first_lost_ns;
    snprintf(r->evidence, sizeof r->evidence, "%s", f.text);
    return ok;
}

static bool strike_cluster(struct fault_context *c, struct fault_record *r, struct err *e)
{
    return act_on_cluster(c, r, c->server->provider->strike, e);
}

static bool mend_cluster(struct fault_context *c, struct fault_record *r, struct err *e)
{
    return act_on_cluster(c, r, c->server->provider->mend, e);
}

const struct fault_verb fault_cluster_verbs[] = {
    {VERB_SWITCHOVER, .begin = strike_cluster, .need = NEEDS_CLUSTER},
    {VERB_KILL_LEADER, .begin = strike_cluster, .end = mend_cluster, .need = NEEDS_CLUSTER},
    {VERB_PARTITION_LEADER, .begin = strike_cluster, .end = mend_cluster, .need = NEEDS_CLUSTER},
    {VERB_KILL_ETCD, .begin = strike_cluster, .end = mend_cluster, .need = NEEDS_CLUSTER},
    {0},
};
