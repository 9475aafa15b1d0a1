#include "os/cluster_net.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include "os/netns.h"

const char *cluster_net_address(int member, char text[CLUSTER_NET_ADDRESS])
{
    snprintf(text, CLUSTER_NET_ADDRESS, "192.0.2.%d", 11 + member); // 192.0.2.1 is the middle
    return text;
}

// Makes the namespace in the middle, with a bridge to which the cables lead.
static bool make_middle(struct cluster_net *n, struct err *e)
{
    return netns_new(&n->middle, e) &&
           NETNS_RUN(n->middle, e, "ip", "link", "set", "dev", "lo", "up") &&
           NETNS_RUN(n->middle, e, "ip", "link", "add", "name", "switch", "type", "bridge") &&
           NETNS_RUN(n->middle, e, "ip", "address", "add", CLUSTER_NET_MIDDLE_ADDRESS "/24", "dev",
               "switch") &&
           NETNS_RUN(n->middle, e, "ip", "link", "set", "dev", "switch", "up");
}

// Adds a filter, still without rules, for the packets that come out of the cable at this device. A
// packet that is dropped there gives its sender no error.
static bool add_filter(int net, const char *device, struct err *e)
{
    char filter[200];

    snprintf(filter, sizeof filter,
        "add table netdev %s; add chain netdev %s cut "
        "{ type filter hook ingress device %s priority 0; }",
        device, device, device);
    return NETNS_RUN(net, e, "nft", filter);
}

// Connects a member to the middle, a network namespace with the cluster's switch. The cable's
// device is called "cable" at the member's end, and "m" plus the member's number at the other.
static bool connect_member(struct cluster_net *n, int member, struct err *e)
{
    int net = n->members[member];
    char other[64], port[8], address[CLUSTER_NET_ADDRESS], with_mask[CLUSTER_NET_ADDRESS + 4];

    snprintf(other, sizeof other, "/proc/%d/fd/%d", (int)getpid(), net);
    snprintf(port, sizeof port, "m%d", member);
    snprintf(with_mask, sizeof with_mask, "%s/24", cluster_net_address(member, address));
    return NETNS_RUN(n->middle, e, "ip", "link", "add", "name", port, "type", "veth", "peer",
               "name", "cable", "netns", other) &&
           NETNS_RUN(n->middle, e, "ip", "link", "set", "dev", port, "master", "switch", "up") &&
           NETNS_RUN(net, e, "ip", "address", "add", with_mask, "dev", "cable") &&
           NETNS_RUN(net, e, "ip", "link", "set", "dev", "cable", "up") &&
           NETNS_RUN(net, e, "ip", "link", "set", "dev", "lo", "up") &&
           add_filter(net, "cable", e) && add_filter(n->middle, port, e);
}

bool cluster_net_make(struct cluster_net *n, struct err *e)
{
    *n = (struct cluster_net)CLUSTER_NET_INIT;
    if (geteuid() != 0)
        return err_set(e, ERR_SKIP, "cutting a member off needs root, for network namespaces");
    bool ok = make_middle(n, e);
    for (int i = 0; ok && i < CLUSTER_NET_MEMBERS; i++)
        ok = netns_new(&n->members[i], e) && connect_member(n, i, e);
    if (ok)
        return true;
    e->kind = ERR_SKIP;
    return err_prefix(e, "cutting a member off needs ip (Debian: iproute2), nft (nftables) and "
                         "bridges in the kernel");
}

void cluster_net_fini(struct cluster_net *n)
{
    if (n->middle >= 0)
        close(n->middle);
    for (int i = 0; i < CLUSTER_NET_MEMBERS; i++) {
        if (n->members[i] >= 0)
            close(n->members[i]);
    }
    *n = (struct cluster_net)CLUSTER_NET_INIT;
}

// Drops all IPv4 packets that come out of the cable at this device. Address resolution is not IP
// and passes: without it, connecting would soon fail, and not wait for an answer.
static bool drop_packets(int net, const char *device, struct err *e)
{
    char rule[100];

    snprintf(rule, sizeof rule, "add rule netdev %s cut meta protocol ip counter drop", device);
    return NETNS_RUN(net, e, "nft", rule);
}

bool cluster_net_cut(const struct cluster_net *n, int member, struct err *e)
{
    char port[8];

    snprintf(port, sizeof port, "m%d", member);
    return drop_packets(n->members[member], "cable", e) && drop_packets(n->middle, port, e);
}

// Ends a cut on this device and adds the packets that it dropped to *dropped.
static bool let_packets_pass(int net, const char *device, uint64_t *dropped, struct err *e)
{
    char chain[32];
    bool counted; // does not matter: a cut that failed halfway has no rule here

    snprintf(chain, sizeof chain, "netdev %s cut", device);
    return netns_let_pass(net, chain, dropped, &counted, e);
}

bool cluster_net_heal(const struct cluster_net *n, int member, uint64_t *dropped, struct err *e)
{
    char port[8];
    struct err ignored;

    *dropped = 0;
    snprintf(port, sizeof port, "m%d", member);
    // Both ends must pass packets again, whatever fails at the first.
    bool first = let_packets_pass(n->members[member], "cable", dropped, e);
    return let_packets_pass(n->middle, port, dropped, first ? e : &ignored) && first;
}

// --- a socket in another namespace ------------------------------------------------

struct socket_request {
    int net, fd; // the namespace (-1: the caller's) and the socket made in it (-1: none)
    struct err err;
};

// Enters the namespace of a socket_request and makes the socket. Runs in a thread of its own.
static void *make_socket(void *arg)
{
    struct socket_request *request = arg;

    if (request->net >= 0 && setns(request->net, CLONE_NEWNET) != 0) {
        err_sys(&request->err, ERR_SYSTEM, "cannot enter a network namespace");
        return NULL;
    }
    request->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (request->fd < 0)
        err_sys(&request->err, ERR_SYSTEM, "cannot make a socket");
    return NULL;
}

// A socket belongs to the namespace in which it was made. So a new thread enters the namespace and
// makes the socket there, and the other threads stay in their own.
int cluster_net_socket(int net, struct err *e)
{
    struct socket_request request = {.net = net, .fd = -1};
    pthread_t thread;

    if (pthread_create(&thread, NULL, make_socket, &request) != 0) {
        err_set(e, ERR_SYSTEM, "cannot start a thread");
        return -1;
    }
    pthread_join(thread, NULL);
    if (request.fd < 0)
        *e = request.err;
    return request.fd;
}
