#include "os/netns.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "os/process.h"

#define DEVICE "mailproof"

// The hook prerouting sees a packet when it has crossed the cable and has not reached TCP yet, so
// its sender gets no notice of the loss; for a packet that is dropped on its way out, it would get
// an error. With priority -300 the filter comes before all others. Address resolution is not IP and
// passes. Without it connecting would soon fail with "no route to host", which a silent network
// never says.
#define CHAIN "ip mailproof silence"
static const char make_filter[] =
    "add table ip mailproof; add chain " CHAIN " { type filter hook prerouting priority -300; }";
static const char drop_all[] = "add rule " CHAIN " iifname " DEVICE " counter drop";

struct namespace_request {
    int fd;
    struct err err;
};

// Makes a network namespace and opens it. Runs in a thread of its own, because that thread leaves
// the common namespace for good, and the other threads must stay there.
static void *make_netns(void *arg)
{
    struct namespace_request *request = arg;

    if (unshare(CLONE_NEWNET) != 0) {
        err_sys(&request->err, ERR_SKIP, "cannot make a network namespace");
        return NULL;
    }
    request->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (request->fd < 0)
        err_sys(&request->err, ERR_SYSTEM, "cannot open a network namespace");
    return NULL;
}

bool netns_new(int *fd, struct err *e)
{
    struct namespace_request request = {.fd = -1};
    pthread_t thread;

    if (pthread_create(&thread, NULL, make_netns, &request) != 0)
        return err_set(e, ERR_SYSTEM, "cannot start a thread");
    pthread_join(thread, NULL);
    *fd = request.fd;
    if (request.fd < 0)
        *e = request.err;
    return request.fd >= 0;
}

bool netns_run(int net, const char *const *argv, char *text, size_t size, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;

    spec.argv = argv;
    spec.net = net;
    spec.death_signal = SIGKILL;
    return process_collect(&spec, text, size, e);
}

static bool add_cable(const struct netns *n, struct err *e)
{
    char other[64];

    snprintf(other, sizeof other, "/proc/%d/fd/%d", (int)getpid(), n->fds[NETNS_COLLECTOR]);
    return NETNS_RUN(n->fds[NETNS_SERVER], e, "ip", "link", "add", "name", DEVICE, "type", "veth",
        "peer", "name", DEVICE, "netns", other);
}

// Sets up one end: its address, its device, the filter and loopback, which some servers use to talk
// to themselves.
static bool set_up_end(
    const struct netns *n, enum netns_end end, const char *address, struct err *e)
{
    int net = n->fds[end];

    return NETNS_RUN(net, e, "ip", "address", "add", address, "dev", DEVICE) &&
           NETNS_RUN(net, e, "ip", "link", "set", "dev", DEVICE, "up") &&
           NETNS_RUN(net, e, "ip", "link", "set", "dev", "lo", "up") &&
           NETNS_RUN(net, e, "nft", make_filter);
}

bool netns_make(struct netns *n, struct err *e)
{
    *n = (struct netns)NETNS_INIT;
    if (geteuid() != 0)
        return err_set(e, ERR_SKIP, "through: kernel needs root, for network namespaces");
    if (!netns_new(&n->fds[NETNS_SERVER], e) || !netns_new(&n->fds[NETNS_COLLECTOR], e))
        return false;
    if (add_cable(n, e) && set_up_end(n, NETNS_SERVER, NETNS_SERVER_ADDRESS "/30", e) &&
        set_up_end(n, NETNS_COLLECTOR, NETNS_COLLECTOR_ADDRESS "/30", e))
        return true;
    e->kind = ERR_SKIP;
    return err_prefix(e, "through: kernel needs ip (Debian: iproute2) and nft (nftables)");
}

void netns_fini(struct netns *n)
{
    for (int i = 0; i < 2; i++) {
        if (n->fds[i] >= 0)
            close(n->fds[i]);
        n->fds[i] = -1;
    }
}

bool netns_silence(const struct netns *n, enum netns_end end, struct err *e)
{
    return NETNS_RUN(n->fds[end], e, "nft", drop_all);
}

bool netns_let_pass(int net, const char *chain, uint64_t *dropped, bool *counted, struct err *e)
{
    static const char key[] = "counter packets ";
    char command[100], text[1000];
    struct err ignored;

    snprintf(command, sizeof command, "list chain %s", chain);
    bool listed = netns_run(net, (const char *const[]){"nft", command, NULL}, text, sizeof text, e);
    const char *counter = listed ? strstr(text, key) : NULL;
    *counted = counter != NULL;
    if (counter)
        *dropped += strtoull(counter + sizeof key - 1, NULL, 10);
    // The packets must pass again even when the counter could not be read; e keeps the first error.
    snprintf(command, sizeof command, "flush chain %s", chain);
    return NETNS_RUN(net, listed ? e : &ignored, "nft", command) && listed;
}

bool netns_heal(const struct netns *n, enum netns_end end, uint64_t *dropped, struct err *e)
{
    bool counted;

    *dropped = 0;
    return netns_let_pass(n->fds[end], CHAIN, dropped, &counted, e) &&
           (counted || err_set(e, ERR_SYSTEM, "nft shows no counter of dropped packets"));
}
