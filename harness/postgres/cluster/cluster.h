// A cluster under Patroni that belongs to somebody else. We know only a conninfo that leads to its
// leader, and the addresses of its REST interface. The only fault that we can cause is a
// switchover.
#pragma once

#include "postgres/provider.h"
#include "postgres/cluster/rest.h"
#include "postgres/target.h"

struct cluster {
    char *list; // owned; the targets point into it
    char auth[256];
    struct rest_target targets[REST_MEMBERS_MAX];
    size_t count; // 0: the server is no cluster
};

// Parses "HOST:PORT,…"; NULL means no cluster. For an interface that asks for a password, it reads
// MAILPROOF_REST_AUTH=USER:PASSWORD from the environment. ERR_USAGE says what is wrong.
MUST_USE bool cluster_init(struct cluster *c, const char *addresses, struct err *e);
void cluster_fini(struct cluster *c); // accepts a zeroed struct

// Waits at most 60 s until every host of the target has replayed all that was written so far. It
// skips a host that cannot be reached, as clients do.
MUST_USE bool cluster_spread(const struct server *s, const struct target *t, struct err *e);

// Makes the cluster change its leader. Waits at most 60 s until another member takes writes behind
// the server's conninfo, on a later timeline.
MUST_USE bool cluster_switch_over(
    const struct server *s, const struct cluster *c, struct failover *out, struct err *e);
