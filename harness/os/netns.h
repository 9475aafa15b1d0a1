// Two network namespaces, one for the collector and one for the server, with a cable between them:
// a pair of virtual devices (veth). When the kernel drops the packets between them, TCP's own
// timers at both ends see a dead network.
//
// The namespaces have no names; they live only by descriptors and by the processes in them. When
// these are gone, for whatever reason, the kernel removes the namespaces and the cable.
#pragma once

#include "base/base.h"

// Addresses that are set aside for documentation, so that they hide no real ones.
#define NETNS_SERVER_ADDRESS "192.0.2.1"
#define NETNS_COLLECTOR_ADDRESS "192.0.2.2"

enum netns_end { NETNS_SERVER, NETNS_COLLECTOR };

struct netns {
    int fds[2]; // descriptor of each end, for process_spec.net; -1: none
};

#define NETNS_INIT                                                                                 \
    {                                                                                              \
        .fds = { -1, -1 }                                                                          \
    }

// Makes both namespaces and the cable. This needs root, and the programs ip and nft; ERR_SKIP says
// what is missing.
MUST_USE bool netns_make(struct netns *n, struct err *e);

// Releases both ends. Accepts NETNS_INIT, and a half-made netns after a failed netns_make.
void netns_fini(struct netns *n);

// From now on every IPv4 packet that arrives at this end is dropped and counted.
MUST_USE bool netns_silence(const struct netns *n, enum netns_end end, struct err *e);

// Ends the silence, and sets *dropped to the number of packets that were dropped in it.
MUST_USE bool netns_heal(
    const struct netns *n, enum netns_end end, uint64_t *dropped, struct err *e);

// --- what cluster_net.c shares ----------------------------------------------------------

// Makes a namespace; the caller closes its descriptor *fd. ERR_SKIP: this process may not make one.
MUST_USE bool netns_new(int *fd, struct err *e);

// Empties a chain of nft in the namespace, such as "ip mailproof silence", also when its rule
// cannot be read. Adds the packets that the rule has counted to *dropped. *counted: there was such
// a rule.
MUST_USE bool netns_let_pass(
    int net, const char *chain, uint64_t *dropped, bool *counted, struct err *e);

// Runs a program in the namespace, as process_run does.
MUST_USE bool netns_run(int net, const char *const *argv, char *text, size_t size, struct err *e);

// As netns_run, with the words of argv as arguments. The output goes only into the error.
#define NETNS_RUN(net, e, ...)                                                                     \
    netns_run((net), (const char *const[]){__VA_ARGS__, NULL}, (char[300]){0}, 300, (e))
