// The thread of the proxy: it accepts connections, passes their bytes, and cuts.
//
// One thread serves all connections, so that the messages of several have one order, in which a cut
// counts them. Other threads change the conditions, reset links and arm cuts under the lock, and
// wake it. The thread releases the lock only while it waits in poll.
//
// The proxy connects from a place that the server may trust. So it cuts a client that does not know
// the run's password, before the server sees more of it than a request to encrypt.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "fault/proxy_inside.h"

void proxy_remove_link(struct proxy *p, size_t i, bool reset)
{
    for (int s = 0; s < 2; s++)
        p->passed_before +=
            p->links[i]->flows[s].in - link_withheld(p->links[i], (enum message_sender)s);
    // If the connection ends before the cut that has begun in it, the cut waits for the next such
    // message.
    if (p->cut.state == CUT_BEGUN && p->cut.link == p->links[i]->number) {
        p->cut.state = CUT_ARMED;
        p->cut.left = 1;
    }
    link_free(p->links[i], reset);
    // The last link takes the free place, because the order of the links has no meaning.
    p->links[i] = p->links[--p->link_count];
}

static void set_no_delay(int fd)
{
    int on = 1;

    // Nagle's algorithm would hold small messages back and add its own delay to the measured one.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Begins to connect to the server and returns the socket, which may not be connected yet; -1 on
// failure.
static int connect_to_server(const struct proxy *p)
{
    struct sockaddr_storage address;
    socklen_t len;
    struct err ignored;

    // The address is asked for each client, because a server that was started again, or the next
    // leader, may have another.
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

int proxy_port_of(int fd, bool peer)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {0};
    socklen_t len = sizeof at;

    if ((peer ? getpeername(fd, &at.any, &len) : getsockname(fd, &at.any, &len)) != 0)
        return 0;
    return at.any.sa_family == AF_INET    ? ntohs(at.v4.sin_port)
           : at.any.sa_family == AF_INET6 ? ntohs(at.v6.sin6_port)
                                          : 0;
}

// Connects the client to the server. Refuses the client when there are too many, or when the server
// has no address or refuses at once.
static void accept_client(struct proxy *p, int client)
{
    int server = p->link_count < PROXY_LINKS_MAX ? connect_to_server(p) : -1;

    if (server < 0) {
        p->refused++;
        close(client);
        return;
    }
    set_no_delay(client);
    struct link *link = link_new(client, server);
    link->number = ++p->accepted;
    link->client_port = proxy_port_of(client, true);
    p->links[p->link_count++] = link;
}

// Accepts clients. When descriptors or memory are short, accepts nobody for a while: the client
// stays in the kernel's queue, and poll would report it again at once.
static void accept_clients_now(struct proxy *p)
{
    // The number is bounded, so that a flood of new clients does not starve the connected ones.
    for (int i = 0; i < PROXY_LINKS_MAX; i++) {
        int client = accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client >= 0) {
            accept_client(p, client);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            p->accept_at_ns = clock_now_ns() + PROXY_ACCEPT_PAUSE_NS;
        return;
    }
}

// True when the client's startup message has the setting with the run's password.
static bool startup_has_password(const struct proxy *p, const struct wire_message *m)
{
    // sizeof of the setting's name counts a NUL, and so stands for the '='.
    char setting[sizeof PROXY_PASSWORD_SETTING + 1 + TARGET_PASSWORD_LEN] =
        PROXY_PASSWORD_SETTING "=";

    memcpy(setting + sizeof PROXY_PASSWORD_SETTING, p->password, TARGET_PASSWORD_LEN);
    return memmem(m->text, m->text_len, setting, sizeof setting - 1) != NULL;
}

// True when the client wants to log in as the superuser. To the server, the client has the proxy's
// own system user, which the server may let in as superuser without a password.
static bool asks_for_superuser(const struct proxy *p, const struct wire_message *m)
{
    // In the startup message, the word "user" and the name each end with a NUL. The NULs are
    // compared as well.
    char wanted[100] = "user";
    int len =
        snprintf(wanted + sizeof "user", sizeof wanted - sizeof "user", "%s", p->server->superuser);

    return memmem(m->text, m->text_len, wanted, sizeof "user" + (size_t)len + 1) != NULL;
}

// True when a message shows that the client is none of the run's, or that the server is about to
// encrypt: then the proxy would never see the client's password.
static bool must_turn_away(const struct proxy *p, const struct wire_message *m)
{
    if (m->type == MESSAGE_ENCRYPTION_ANSWER)
        return m->text[0] != 'N';
    return m->type == MESSAGE_STARTUP && (!startup_has_password(p, m) || asks_for_superuser(p, m));
}

// Counts the messages that the armed cut waits for. True at the last of them, where the connection
// must be cut.
static bool reaches_cut(struct cut *c, enum message_sender sender, const struct wire_message *m)
{
    bool fits = c->kind.sender == sender &&
                (c->kind.type == MESSAGE_ANY || c->kind.type == m->type) &&
                (!*c->kind.tag || message_tag_fits(&c->kind, m->text, m->text_len));

    if (c->state != CUT_ARMED || !fits || --c->left > 0)
        return false;
    c->state = CUT_BEGUN;
    return true;
}

// Implements `message` of struct link_watcher: decides whether to cut here.
static bool watch_message(
    void *self, enum message_sender sender, const struct wire_message *m, enum cut_side *side)
{
    struct proxy *p = self;

    // A client that is turned away gets no answer.
    if (p->asks_password && must_turn_away(p, m)) {
        *side = CUT_BEFORE;
        return true;
    }
    p->tally[sender][m->type]++;
    if (p->transcript)
        transcript_take(p->transcript, p->pumped_link, sender, m);
    *side = p->cut.side;
    if (!reaches_cut(&p->cut, sender, m))
        return false;
    p->cut.link = p->pumped_link;
    return true;
}

// Notes a cut, and calls the hook, while the connection is still open; the caller ends it. A second
// cut that is armed then takes the first one's place.
static void finish_cut(struct proxy *p, const struct link *link)
{
    p->cut_client = (struct proxy_client){.number = link->number, .port = link->client_port};
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

// Moves all bytes that can move. Returns the time at which it must be called again at the latest.
static int64_t pump_all(struct proxy *p)
{
    const struct link_watcher watcher = {
        .message = watch_message, .self = p, .clear_only = p->asks_password};
    int64_t wake_ns = CLOCK_NEVER, now = clock_now_ns();

    for (size_t i = 0; i < p->link_count;) {
        struct link_conditions conditions = p->conditions;
        bool was_cut;
        p->pumped_link = p->links[i]->number;
        if (p->jitter_ns > 0)
            conditions.delay_ns += (int64_t)(rng_uniform(&p->rng) * (double)p->jitter_ns);
        if (link_pump(p->links[i], &conditions, &watcher, now, &wake_ns, &was_cut)) {
            i++;
            continue;
        }
        // The connection has ended. If by a cut, the bytes up to the cut have passed.
        if (was_cut && p->cut.state == CUT_BEGUN && p->cut.link == p->links[i]->number)
            finish_cut(p, p->links[i]);
        else
            p->refused += was_cut; // nobody armed this cut: it turns a client away
        p->limited += link_is_at_limit(p->links[i], conditions.limit);
        proxy_remove_link(p, i, false); // false: without a TCP reset
    }
    return wake_ns;
}

// Fills in what the thread waits for, and returns how many entries that is. While accepting pauses,
// the listener is left out, and *wake_ns becomes the end of the pause at the latest.
static size_t fill_proxy_poll(const struct proxy *p, struct pollfd *fds, int64_t *wake_ns)
{
    bool pauses = clock_now_ns() < p->accept_at_ns;
    size_t n = 0;

    if (pauses)
        *wake_ns = clock_min(*wake_ns, p->accept_at_ns);
    fds[n++] = (struct pollfd){.fd = p->wake[0], .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = pauses ? -1 : p->listener, .events = POLLIN};
    for (size_t i = 0; i < p->link_count; i++) {
        for (int end = 0; end < 2; end++) {
            short events = link_events(p->links[i], (enum message_sender)end);
            if (events)
                fds[n++] = (struct pollfd){.fd = p->links[i]->fds[end], .events = events};
        }
    }
    return n;
}

void *proxy_pass_bytes(void *arg)
{
    struct proxy *p = arg;
    struct pollfd fds[2 + 2 * PROXY_LINKS_MAX];
    char bytes[64];

    // fds[0] is the wake pipe, and fds[1] the listener.
    fds[1].revents = 0;
    pthread_mutex_lock(&p->lock);
    while (!p->stopping) {
        if (fds[1].revents)
            accept_clients_now(p);
        int64_t wake_ns = pump_all(p);
        size_t count = fill_proxy_poll(p, fds, &wake_ns);
        // The thread waits without the lock, so that other threads can begin a fault at once.
        pthread_mutex_unlock(&p->lock);
        poll(fds, count, clock_poll_ms(clock_now_ns(), wake_ns));
        while (fds[0].revents && read(p->wake[0], bytes, sizeof bytes) > 0)
            ;
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}
