// A network of a few machines, each of which is a network namespace. A cable leads from the machine
// in the middle to each of the others, and these reach each other through the middle. A cable is a
// pair of virtual devices (veth). It can be cut: then packets are dropped in both directions, and
// their senders get no error.
//
// As in netns.h, the namespaces have no names. The kernel removes them when the last descriptor and
// the last process in them are gone.
#pragma once

#include "base/base.h"

#define CLUSTER_NET_MEMBERS 3
#define CLUSTER_NET_MIDDLE_ADDRESS "192.0.2.1"

struct cluster_net {
    int middle, members[CLUSTER_NET_MEMBERS]; // descriptors for process_spec.net; -1: none
};

#define CLUSTER_NET_INIT                                                                           \
    {                                                                                              \
        .middle = -1, .members = { -1, -1, -1 }                                                    \
    }

// Makes the network. This needs root, and the programs ip and nft; ERR_SKIP says what is missing.
MUST_USE bool cluster_net_make(struct cluster_net *n, struct err *e);

// Releases the namespaces. Accepts CLUSTER_NET_INIT, and a half-made network after a failed
// cluster_net_make.
void cluster_net_fini(struct cluster_net *n);

// Writes the address of a member, e.g. 192.0.2.12.
#define CLUSTER_NET_ADDRESS 24
const char *cluster_net_address(int member, char text[CLUSTER_NET_ADDRESS]);

// Cuts a member's cable.
MUST_USE bool cluster_net_cut(const struct cluster_net *n, int member, struct err *e);

// Ends the cut, and sets *dropped to the number of packets that the cut dropped.
MUST_USE bool cluster_net_heal(
    const struct cluster_net *n, int member, uint64_t *dropped, struct err *e);

// Makes a non-blocking TCP socket in the namespace `net`, whatever the caller's namespace is; net
// -1: in the caller's. On failure, returns -1 with the reason in e.
MUST_USE int cluster_net_socket(int net, struct err *e);
