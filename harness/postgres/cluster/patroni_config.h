// Renders the configuration of Patroni and HAProxy for a cluster of three members on one machine.
// Pure.
#pragma once

#include "os/cluster_net.h"
#include "scenario/scenario.h"

#define PATRONI_MEMBERS CLUSTER_NET_MEMBERS
#define PATRONI_PASSWORD_MAX 64
#define PATRONI_STORE_USER "root" // the user without which etcd turns no authentication on
#define PATRONI_PROXY_PORT "3" // HAProxy listens at no port; this is only part of its socket's name

// Patroni's ttl, loop_wait and retry_timeout, which decide how soon the cluster notices that its
// leader is gone. Patroni's own defaults are 30, 10 and 10 s. ttl must be at least loop_wait + 2 *
// retry_timeout.
#define PATRONI_TTL_S 8
#define PATRONI_LOOP_WAIT_S 1
#define PATRONI_RETRY_S 3

struct patroni_place {
    char host[CLUSTER_NET_ADDRESS];
    int port;
};

struct patroni_layout {
    const char *dir;    // the part of the run's folder that belongs to the server's user, with a
                        // folder for each member
    const char *bindir; // the folder of the server's programs
    struct patroni_place servers[PATRONI_MEMBERS], rests[PATRONI_MEMBERS];
    struct patroni_place store; // address of etcd
    char store_password[PATRONI_PASSWORD_MAX];
    const char *proxy_dir;               // the folder of HAProxy's socket
    bool shares_proxy;                   // other users may connect to it; they need a password
    char password[PATRONI_PASSWORD_MAX]; // password of the superuser and of the REST interface
    bool synchronous;
    const struct settings *settings; // settings of the scenario
};

// Returns "m1", "m2", …
const char *patroni_member(int member, char name[8]);

// Appends the configuration of one member. It is written as JSON, which Patroni reads as YAML.
MUST_USE bool patroni_render(
    const struct patroni_layout *l, int member, struct buf *out, struct err *e);

// Appends HAProxy's configuration: one socket that leads to the present leader.
MUST_USE bool patroni_render_proxy(const struct patroni_layout *l, struct buf *out, struct err *e);
