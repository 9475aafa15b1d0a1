// The proxy between collector and server, as other threads see it.
//
// The proxy is one thread with one lock, and the lock is free only while the thread waits in poll.
// So a verb never changes the network while the thread moves bytes, and no flow needs a lock of its
// own.
//
// The port on 127.0.0.1 is random, and every user of the machine can reach it while the run lasts.
// So the proxy lets in only clients whose startup message carries the run's password. It asks for
// no encryption, because it could not find the messages in an encrypted stream.
#include "fault/proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "fault/wire.h"
#include "fault/proxy_inside.h"
#include "postgres/provider.h"

// Releases the lock, and wakes the proxy's thread, so that a change takes effect at once.
static void unlock_and_wake(struct proxy *p)
{
    pthread_mutex_unlock(&p->lock);
    // If the pipe is full, the thread wakes in any case.
    ssize_t ignored = write(p->wake[1], "x", 1);
    (void)ignored;
}

// --- start and end ----------------------------------------------------------------

static bool proxy_listen_at(
    struct proxy *p, const struct sockaddr_storage *at, socklen_t at_len, struct err *e)
{
    int on = 1;

    // SO_REUSEADDR lets a proxy come back at the same port while connections of an earlier proxy
    // are still in TIME_WAIT.
    p->listener = socket(at->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p->listener < 0 || setsockopt(p->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(p->listener, (const struct sockaddr *)at, at_len) != 0 ||
        listen(p->listener, PROXY_LINKS_MAX) != 0)
        return err_sys(e, ERR_SYSTEM, "the proxy cannot listen");
    p->port = proxy_port_of(p->listener, false); // of a socket that listens, the kernel knows it
    return true;
}

// Makes the proxy listen and starts its thread. On failure, frees it and returns NULL.
static struct proxy *start_proxy(
    struct proxy *p, const struct sockaddr_storage *at, socklen_t at_len, struct err *e)
{
    p->listener = p->wake[0] = p->wake[1] = -1;
    pthread_mutex_init(&p->lock, NULL);
    rng_init(&p->rng, 1, 0); // only for the jitter of a delay, which need not follow a run's seed
    // `mailproof proxy` asks for no password: like a network, it lets every client through.
    if ((p->asks_password && !target_random(p->password, TARGET_PASSWORD_LEN, e)) ||
        !proxy_listen_at(p, at, at_len, e))
        goto failed;
    if (pipe2(p->wake, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pthread_create(&p->thread, NULL, proxy_pass_bytes, p) != 0) {
        err_set(e, ERR_SYSTEM, "cannot start the proxy's thread");
        goto failed;
    }
    p->started = true;
    return p;
failed:
    proxy_free(p);
    return NULL;
}

// True when the proxy may send to this server in clear text. Only a server that the user has named
// must be checked, because the harness's own servers are on this machine.
static bool may_stand_before(const struct server *server, struct err *e)
{
    struct sockaddr_storage at;
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(8192);
    socklen_t len;

    if (!server->conninfo)
        return true;
    return provider_conninfo(server, server->superuser, server->database, &conninfo, e) &&
           server->provider->address(server, &at, &len, e) &&
           clear_text_allowed(conninfo.data, (const struct sockaddr *)&at, e);
}

struct proxy *proxy_start(const struct server *server, struct err *e)
{
    struct sockaddr_storage at = {0};
    struct proxy *p;

    if (!may_stand_before(server, e))
        return NULL;
    p = memory_zeroed(1, sizeof *p);
    // The address has port 0, so the system chooses a free port.
    *(struct sockaddr_in *)&at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    p->server = server;
    p->asks_password = true;
    return start_proxy(p, &at, sizeof(struct sockaddr_in), e);
}

struct proxy *proxy_start_open(const struct proxy_open *open, struct err *e)
{
    struct proxy *p = memory_zeroed(1, sizeof *p);

    p->target = open->to;
    return start_proxy(p, &open->at, open->at_len, e);
}

int proxy_port(const struct proxy *p)
{
    return p->port;
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    // The thread uses the links until it has ended.
    if (p->started) {
        pthread_mutex_lock(&p->lock);
        p->stopping = true;
        unlock_and_wake(p);
        pthread_join(p->thread, NULL);
    }
    for (size_t i = 0; i < p->link_count; i++)
        link_free(p->links[i], false);
    if (p->listener >= 0)
        close(p->listener);
    if (p->wake[0] >= 0) {
        close(p->wake[0]);
        close(p->wake[1]);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

// Appends settings that turn encryption off, because a cut has to see the messages. On this side of
// the proxy the bytes never leave the machine; clear_text.c says when they may on the other side.
// The proxy's password travels as a server setting that the server itself ignores.
bool proxy_conninfo(const struct proxy *p, struct buf *conninfo, struct err *e)
{
    buf_printf(conninfo,
        " host=127.0.0.1 hostaddr=127.0.0.1 port=%d sslmode=disable gssencmode=disable"
        " options='-c " PROXY_PASSWORD_SETTING "=%s'",
        p->port, p->password);
    return buf_str(conninfo) || err_set(e, ERR_INTERNAL, "the conninfo is too long");
}

// --- what other threads ask for ---------------------------------------------------------

struct proxy_counts proxy_counts(struct proxy *p)
{
    struct proxy_counts counts;

    pthread_mutex_lock(&p->lock);
    counts = (struct proxy_counts){.links = p->link_count,
        .passed = p->passed_before,
        .limited = p->limited,
        .refused = p->refused};
    for (size_t i = 0; i < p->link_count; i++) {
        // A caller that has armed a cut wants to know of encrypted connections: they are never cut,
        // because their messages cannot be seen.
        counts.opaque += p->links[i]->flows[MESSAGE_CLIENT].wire.phase == WIRE_OPAQUE;
        for (int s = 0; s < 2; s++) {
            size_t withheld = link_withheld(p->links[i], (enum message_sender)s);
            counts.withheld[s] += withheld;
            counts.passed += p->links[i]->flows[s].in - withheld;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return counts;
}

enum exchange_state proxy_state(struct proxy *p)
{
    enum exchange_state busiest = EXCHANGE_NONE;

    pthread_mutex_lock(&p->lock);
    // The states are numbered from the least busy to the busiest.
    for (size_t i = 0; i < p->link_count; i++) {
        enum exchange_state state = exchange_state(&p->links[i]->exchange);
        busiest = state > busiest ? state : busiest;
    }
    pthread_mutex_unlock(&p->lock);
    return busiest;
}

static size_t reset_all(struct proxy *p)
{
    size_t count = p->link_count;

    while (p->link_count > 0)
        proxy_remove_link(p, 0, true);
    return count;
}

void proxy_hold(struct proxy *p, bool client, bool server)
{
    pthread_mutex_lock(&p->lock);
    // Only the directions of this fault change, because another fault may hold the other direction.
    p->conditions.hold[MESSAGE_CLIENT] |= client;
    p->conditions.hold[MESSAGE_SERVER] |= server;
    unlock_and_wake(p);
}

void proxy_heal(struct proxy *p, bool client, bool server, bool drop)
{
    pthread_mutex_lock(&p->lock);
    p->conditions.hold[MESSAGE_CLIENT] &= !client;
    p->conditions.hold[MESSAGE_SERVER] &= !server;
    if (drop)
        reset_all(p);
    unlock_and_wake(p);
}

size_t proxy_reset(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    size_t count = reset_all(p);
    unlock_and_wake(p);
    return count;
}

void proxy_delay(struct proxy *p, int64_t by_ns, int64_t jitter_ns)
{
    pthread_mutex_lock(&p->lock);
    p->conditions.delay_ns = by_ns;
    p->jitter_ns = jitter_ns;
    unlock_and_wake(p);
}

void proxy_throttle(struct proxy *p, double rate)
{
    pthread_mutex_lock(&p->lock);
    p->conditions.rate = rate;
    unlock_and_wake(p);
}

void proxy_limit(struct proxy *p, uint64_t bytes)
{
    pthread_mutex_lock(&p->lock);
    p->conditions.limit = bytes;
    unlock_and_wake(p);
}

void proxy_slice(struct proxy *p, size_t bytes, int64_t gap_ns)
{
    pthread_mutex_lock(&p->lock);
    p->conditions.slice = bytes;
    p->conditions.slice_gap_ns = gap_ns;
    unlock_and_wake(p);
}

struct proxy_client proxy_cut_client(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    struct proxy_client client = p->cut_client;
    pthread_mutex_unlock(&p->lock);
    return client;
}

static struct cut make_cut(const struct message_kind *kind, int n, enum cut_side side)
{
    return (struct cut){.state = CUT_ARMED, .kind = *kind, .left = n, .side = side};
}

void proxy_cut(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side)
{
    pthread_mutex_lock(&p->lock);
    p->cut = make_cut(kind, n, side);
    p->next = (struct cut){0};
    p->cut_count = 0;
    unlock_and_wake(p);
}

void proxy_cut_next(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side)
{
    pthread_mutex_lock(&p->lock);
    p->next = make_cut(kind, n, side);
    unlock_and_wake(p);
}

void proxy_at_cut(struct proxy *p, proxy_hook *hook, void *arg)
{
    pthread_mutex_lock(&p->lock);
    p->hook = hook;
    p->hook_arg = arg;
    pthread_mutex_unlock(&p->lock);
}

size_t proxy_cuts(struct proxy *p, int64_t at_ns[PROXY_CUTS_MAX])
{
    pthread_mutex_lock(&p->lock);
    size_t count = p->cut_count;
    if (at_ns)
        memcpy(at_ns, p->cut_ns, sizeof p->cut_ns);
    pthread_mutex_unlock(&p->lock);
    return count;
}

bool proxy_was_cut(struct proxy *p)
{
    return proxy_cuts(p, NULL) > 0;
}

void proxy_forget_cut(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    p->cut = p->next = (struct cut){0};
    p->cut_count = 0;
    p->hook = NULL;
    unlock_and_wake(p);
}

void proxy_tally(struct proxy *p, unsigned counts[2][256])
{
    pthread_mutex_lock(&p->lock);
    memcpy(counts, p->tally, sizeof p->tally);
    memset(p->tally, 0, sizeof p->tally);
    pthread_mutex_unlock(&p->lock);
}

void proxy_record(struct proxy *p, struct transcript *transcript)
{
    pthread_mutex_lock(&p->lock);
    p->transcript = transcript;
    pthread_mutex_unlock(&p->lock);
}
