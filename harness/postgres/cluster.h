// A cluster under Patroni that is somebody else's: all that is known of it is a conninfo
// that leads to its leader and the addresses of its REST interface. It can be asked to
// switch over, and no more.
#pragma once

#include "postgres/provider.h"
#include "postgres/rest.h"
#include "postgres/target.h"

struct cluster {
    char *list; // the targets point into it
    char auth[256];
    struct rest_target targets[REST_MEMBERS_MAX];
    size_t count; // 0: it is no cluster
};

// "HOST:PORT,…"; NULL is no cluster. MAILPROOF_REST_AUTH=USER:PASSWORD in the
// environment, where the interface asks for one. ERR_USAGE says what is wrong.
MUST_USE bool cluster_init(struct cluster *c, const char *addresses, struct err *e);
void cluster_fini(struct cluster *c); // accepts a zeroed one

// Waits until every host of the target has replayed what was written so far; 60 s. One that
// cannot be reached is passed over, as clients do.
MUST_USE bool cluster_spread(const struct server *s, const struct target *t, struct err *e);

// Has it change its leader, and waits until another takes writes behind the server's
// conninfo, on a later timeline; 60 s.
MUST_USE bool cluster_switch_over(
    const struct server *s, const struct cluster *c, struct failover *out, struct err *e);
