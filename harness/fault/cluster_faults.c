// Faults against a cluster that elects its leader.
#include "fault/family.h"

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

// Closes the superuser's connection, because the leader at its other end may be replaced.
static void close_admin(struct fault_context *c)
{
    PQfinish(c->admin);
    c->admin = NULL;
}

static void copy_failover(struct fault_record *r, const struct failover *f)
{
    r->served_ns = f->served_ns;
    r->left_known = f->lost_known;
    r->left_ns = f->first_lost_ns;
}

// Carries out the fault through the provider, which says when another member took over.
static bool strike_cluster(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct failover f;

    close_admin(c);
    bool ok = c->server->provider->strike(c->server, fault_cluster_of(r->spec->verb->id), &f, e);
    copy_failover(r, &f);
    snprintf(r->evidence, sizeof r->evidence, "%s", f.text);
    return ok;
}

// Ends the fault. The provider goes on from what it has found at the fault's beginning.
static bool mend_cluster(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct failover f = {
        .served_ns = r->served_ns, .lost_known = r->left_known, .first_lost_ns = r->left_ns};

    close_admin(c);
    snprintf(f.text, sizeof f.text, "%s", r->evidence);
    bool ok = c->server->provider->mend(c->server, fault_cluster_of(r->spec->verb->id), &f, e);
    copy_failover(r, &f);
    snprintf(r->evidence, sizeof r->evidence, "%s", f.text);
    return ok;
}

const struct fault_verb fault_cluster_verbs[] = {
    {VERB_SWITCHOVER, .begin = strike_cluster, .need = NEEDS_CLUSTER},
    {VERB_KILL_LEADER, .begin = strike_cluster, .end = mend_cluster, .need = NEEDS_CLUSTER},
    {VERB_PARTITION_LEADER, .begin = strike_cluster, .end = mend_cluster, .need = NEEDS_CLUSTER},
    {VERB_KILL_ETCD, .begin = strike_cluster, .end = mend_cluster, .need = NEEDS_CLUSTER},
    {0},
};
