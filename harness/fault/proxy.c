#include "fault/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "fault/link.h"
#include "plan/rng.h"
#include "postgres/target.h"

#define LINKS_MAX 128
#define PASSWORD_SETTING "mailproof.proxy"

enum cut_state { CUT_NONE, CUT_ARMED, CUT_BEGUN, CUT_DONE };

struct cut {
    enum cut_state state; // begun: the message has come, and the connection is about to end
    struct message_kind kind;
    int left; // messages of the kind until the cut
    enum cut_side side;
};

// The holder of the lock owns everything below it. The thread releases the lock only while it waits
// for an event.
struct proxy {
    const struct server *server; // NULL: `target` says where the server is
    const struct target *target;
    bool asks_password;
    char password[TARGET_PASSWORD_LEN + 1];
    int listener, port;
    int wake[2];
    pthread_t thread;
    bool started;

    pthread_mutex_t lock;
    bool stopping;
    struct link *links[LINKS_MAX];
    size_t link_count;
    struct link_conditions conditions;
    int64_t jitter_ns;
    struct rng rng;
    struct cut cut, next; // next: armed when the cut is done
    proxy_hook *hook;
    void *hook_arg;
    size_t cut_count;
    int64_t cut_ns[PROXY_CUTS_MAX];
    unsigned tally[2][256];
    uint64_t passed_before; // by links that are gone
    uint64_t refused;
};

static void *pass_bytes(void *arg);

static void lock(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
}

static void unlock_and_wake(struct proxy *p)
{
    pthread_mutex_unlock(&p->lock);
    ssize_t ignored = write(p->wake[1], "x", 1);
    (void)ignored;
}

// --- start and end ----------------------------------------------------------------

static bool listen_at(
    struct proxy *p, const struct sockaddr_storage *at, socklen_t at_len, struct err *e)
{
    struct sockaddr_storage bound = {0};
    socklen_t len = sizeof bound;
    int on = 1;

    p->listener = socket(at->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p->listener < 0 || setsockopt(p->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(p->listener, (const struct sockaddr *)at, at_len) != 0 ||
        listen(p->listener, LINKS_MAX) != 0 ||
        getsockname(p->listener, (struct sockaddr *)&bound, &len) != 0)
        return err_sys(e, ERR_SYSTEM, "the proxy cannot listen");
    p->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                : ((struct sockaddr_in *)&bound)->sin_port);
    return true;
}

static struct proxy *start(
    struct proxy *p, const struct sockaddr_storage *at, socklen_t at_len, struct err *e)
{
    p->listener = p->wake[0] = p->wake[1] = -1;
    pthread_mutex_init(&p->lock, NULL);
    rng_init(&p->rng, 1, 0);
    if ((p->asks_password && !target_password(p->password, e)) || !listen_at(p, at, at_len, e))
        goto failed;
    if (pipe2(p->wake, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pthread_create(&p->thread, NULL, pass_bytes, p) != 0) {
        err_set(e, ERR_SYSTEM, "cannot start the proxy's thread");
        goto failed;
    }
    p->started = true;
    return p;
failed:
    proxy_free(p);
    return NULL;
}

struct proxy *proxy_start(const struct server *server, struct err *e)
{
    struct sockaddr_storage at = {0};
    struct proxy *p = calloc(1, sizeof *p);

    if (!p) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    *(struct sockaddr_in *)&at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    p->server = server;
    p->asks_password = true;
    return start(p, &at, sizeof(struct sockaddr_in), e);
}

struct proxy *proxy_start_open(const struct proxy_open *open, struct err *e)
{
    struct proxy *p = calloc(1, sizeof *p);

    if (!p) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    p->target = open->to;
    return start(p, &open->at, open->at_len, e);
}

int proxy_port(const struct proxy *p)
{
    return p->port;
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    if (p->started) {
        lock(p);
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

// Asks for no encryption, because a cut has to see the messages, and on this side the bytes never
// leave the machine. The password travels as a setting that nobody reads.
bool proxy_conninfo(const struct proxy *p, struct buf *conninfo)
{
    return buf_printf(conninfo,
        " host=127.0.0.1 hostaddr=127.0.0.1 port=%d sslmode=disable gssencmode=disable"
        " options='-c " PASSWORD_SETTING "=%s'",
        p->port, p->password);
}

// --- what other threads ask for ---------------------------------------------------------

struct proxy_counts proxy_counts(struct proxy *p)
{
    struct proxy_counts counts;

    lock(p);
    counts = (struct proxy_counts){
        .links = p->link_count, .passed = p->passed_before, .refused = p->refused};
    for (size_t i = 0; i < p->link_count; i++) {
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
    enum exchange_state most = EXCHANGE_NONE;

    lock(p);
    for (size_t i = 0; i < p->link_count; i++) {
        enum exchange_state state = exchange_state(&p->links[i]->exchange);
        most = state > most ? state : most;
    }
    pthread_mutex_unlock(&p->lock);
    return most;
}

static void remove_link(struct proxy *p, size_t i, bool reset)
{
    for (int s = 0; s < 2; s++)
        p->passed_before +=
            p->links[i]->flows[s].in - link_withheld(p->links[i], (enum message_sender)s);
    link_free(p->links[i], reset);
    p->links[i] = p->links[--p->link_count];
}

static size_t reset_all(struct proxy *p)
{
    size_t count = p->link_count;

    while (p->link_count > 0)
        remove_link(p, 0, true);
    return count;
}

void proxy_hold(struct proxy *p, bool client, bool server)
{
    lock(p);
    p->conditions.hold[MESSAGE_CLIENT] |= client;
    p->conditions.hold[MESSAGE_SERVER] |= server;
    unlock_and_wake(p);
}

void proxy_heal(struct proxy *p, bool client, bool server, bool drop)
{
    lock(p);
    p->conditions.hold[MESSAGE_CLIENT] &= !client;
    p->conditions.hold[MESSAGE_SERVER] &= !server;
    if (drop)
        reset_all(p);
    unlock_and_wake(p);
}

size_t proxy_reset(struct proxy *p)
{
    lock(p);
    size_t count = reset_all(p);
    unlock_and_wake(p);
    return count;
}

void proxy_delay(struct proxy *p, int64_t by_ns, int64_t jitter_ns)
{
    lock(p);
    p->conditions.delay_ns = by_ns;
    p->jitter_ns = jitter_ns;
    unlock_and_wake(p);
}

void proxy_throttle(struct proxy *p, double rate)
{
    lock(p);
    p->conditions.rate = rate;
    unlock_and_wake(p);
}

static struct cut make_cut(const struct message_kind *kind, int n, enum cut_side side)
{
    return (struct cut){.state = CUT_ARMED, .kind = *kind, .left = n, .side = side};
}

void proxy_cut(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side)
{
    lock(p);
    p->cut = make_cut(kind, n, side);
    p->next = (struct cut){0};
    p->cut_count = 0;
    unlock_and_wake(p);
}

void proxy_cut_next(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side)
{
    lock(p);
    p->next = make_cut(kind, n, side);
    unlock_and_wake(p);
}

void proxy_at_cut(struct proxy *p, proxy_hook *hook, void *arg)
{
    lock(p);
    p->hook = hook;
    p->hook_arg = arg;
    pthread_mutex_unlock(&p->lock);
}

size_t proxy_cuts(struct proxy *p, int64_t at_ns[PROXY_CUTS_MAX])
{
    lock(p);
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
    lock(p);
    p->cut = p->next = (struct cut){0};
    p->cut_count = 0;
    p->hook = NULL;
    unlock_and_wake(p);
}

void proxy_tally(struct proxy *p, unsigned counts[2][256])
{
    lock(p);
    memcpy(counts, p->tally, sizeof p->tally);
    memset(p->tally, 0, sizeof p->tally);
    pthread_mutex_unlock(&p->lock);
}

// --- the thread ---------------------------------------------------------------------

static void set_no_delay(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int connect_to_server(const struct proxy *p)
{
    struct sockaddr_storage address;
    socklen_t len;
    struct err ignored;

    if (!(p->server ? p->server->provider->address(p->server, &address, &len, &ignored)
                    : target_address(p->target, &address, &len, &ignored)))
        return -1;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, len) != 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    if (fd >= 0 && address.ss_family != AF_UNIX)
        set_no_delay(fd);
    return fd;
}

static void accept_all(struct proxy *p)
{
    int client;

    while ((client = accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int server = p->link_count < LINKS_MAX ? connect_to_server(p) : -1;
        struct link *link = server >= 0 ? link_new(client, server) : NULL;
        set_no_delay(client);
        if (link) {
            p->links[p->link_count++] = link;
            continue;
        }
        p->refused++;
        close(client);
        if (server >= 0)
            close(server);
    }
}

static bool knows_password(const struct proxy *p, const struct wire_message *m)
{
    char setting[sizeof PASSWORD_SETTING + 1 + TARGET_PASSWORD_LEN] = PASSWORD_SETTING "=";

    memcpy(setting + sizeof PASSWORD_SETTING, p->password, TARGET_PASSWORD_LEN);
    return memmem(m->text, m->text_len, setting, sizeof setting - 1) != NULL;
}

static bool is_the_cut(struct cut *c, enum message_sender sender, const struct wire_message *m)
{
    if (c->state != CUT_ARMED || c->kind.sender != sender ||
        (c->kind.type != MESSAGE_ANY && c->kind.type != m->type) ||
        (*c->kind.tag && !message_tag_fits(&c->kind, m->text, m->text_len)) || --c->left > 0)
        return false;
    c->state = CUT_BEGUN;
    return true;
}

static bool watch_message(
    void *self, enum message_sender sender, const struct wire_message *m, enum cut_side *side)
{
    struct proxy *p = self;

    if (p->asks_password && m->type == MESSAGE_STARTUP && !knows_password(p, m)) {
        p->refused++;
        *side = CUT_BEFORE;
        return true;
    }
    p->tally[sender][m->type]++;
    *side = p->cut.side;
    return is_the_cut(&p->cut, sender, m);
}

// Calls the hook while the connection is still open, and then ends the connection.
static void finish_cut(struct proxy *p)
{
    p->cut_ns[p->cut_count] = clock_now_ns();
    if (p->hook)
        p->hook(p->hook_arg, p->cut_count);
    p->cut_count++;
    p->cut.state = CUT_DONE;
    if (p->next.state == CUT_ARMED && p->cut_count < PROXY_CUTS_MAX) {
        p->cut = p->next;
        p->next = (struct cut){0};
    }
}

// Moves all bytes that can move. Returns when it must be called again at the latest.
static int64_t pump_all(struct proxy *p)
{
    const struct link_watcher watcher = {.message = watch_message, .self = p};
    int64_t wake_ns = CLOCK_NEVER, now = clock_now_ns();

    for (size_t i = 0; i < p->link_count;) {
        struct link_conditions conditions = p->conditions;
        bool was_cut;
        if (p->jitter_ns > 0)
            conditions.delay_ns += (int64_t)(rng_uniform(&p->rng) * (double)p->jitter_ns);
        if (link_pump(p->links[i], &conditions, &watcher, now, &wake_ns, &was_cut)) {
            i++;
            continue;
        }
        if (was_cut && p->cut.state == CUT_BEGUN)
            finish_cut(p);
        remove_link(p, i, false);
    }
    return wake_ns;
}

static size_t fill_poll(const struct proxy *p, struct pollfd *fds)
{
    size_t n = 0;

    fds[n++] = (struct pollfd){.fd = p->wake[0], .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = p->listener, .events = POLLIN};
    for (size_t i = 0; i < p->link_count; i++) {
        for (int end = 0; end < 2; end++) {
            short events = link_events(p->links[i], (enum message_sender)end);
            if (events)
                fds[n++] = (struct pollfd){.fd = p->links[i]->fds[end], .events = events};
        }
    }
    return n;
}

static void *pass_bytes(void *arg)
{
    struct proxy *p = arg;
    struct pollfd fds[2 + 2 * LINKS_MAX];
    char bytes[64];

    fds[1].revents = 0;
    lock(p);
    while (!p->stopping) {
        if (fds[1].revents)
            accept_all(p);
        int64_t wake_ns = pump_all(p);
        size_t count = fill_poll(p, fds);
        pthread_mutex_unlock(&p->lock);
        poll(fds, count, clock_poll_ms(clock_now_ns(), wake_ns));
        while (fds[0].revents && read(p->wake[0], bytes, sizeof bytes) > 0)
            ;
        lock(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}
