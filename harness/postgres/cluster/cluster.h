// A cluster under Patroni that we did not start. We know only a conninfo that leads to its leader,
// and the addresses of its REST interface. The only fault that we can cause there is a switchover.
#pragma once

#include "postgres/provider.h"
#include "postgres/cluster/rest.h"
#include "postgres/target.h"

struct cluster {
    char *list;     // owned; the targets point into it
    char auth[256]; // user and password, to which the targets point
    struct rest_target targets[REST_MEMBERS_MAX];
    size_t count; // number of targets; 0: the server is no cluster
};

// Parses "HOST:PORT,…"; NULL means no cluster. Reads user and password of the interface, if it asks
// for them, from MAILPROOF_REST_AUTH=USER:PASSWORD in the environment. ERR_USAGE says what is
// wrong. Call cluster_fini even after a failure.
MUST_USE bool cluster_init(struct cluster *c, const char *addresses, struct err *e);
void cluster_fini(struct cluster *c); // accepts a zeroed struct

// Waits until every host of the target has replayed all that was written, because a client may meet
// any host; at most 60 s for each. Skips a host that cannot be reached, as clients do.
MUST_USE bool cluster_spread(const struct server *s, const struct target *t, struct err *e);

// Makes the cluster change its leader. Then waits at most 60 s until the server's conninfo leads to
// another member that takes writes, on a later timeline.
MUST_USE bool cluster_switch_over(
    const struct server *s, const struct cluster *c, struct failover *out, struct err *e);
