#include "fault/proxy_inside.h"

#include <poll.h>
#include <sys/socket.h>

#define CHUNK (64u << 10)

static const int64_t throttle_step_ns = 5 * NS_PER_MS; // pause of a flow whose budget is used up

struct link *link_new(int client, int server)
{
    struct link *l = memory_zeroed(1, sizeof *l);

    l->fds[MESSAGE_CLIENT] = client;
    l->fds[MESSAGE_SERVER] = server;
    for (int s = 0; s < 2; s++) {
        wire_init(&l->flows[s].wire, (enum message_sender)s);
        // The last read before LINK_BUFFER is reached may bring up to CHUNK bytes more.
        buf_init(&l->flows[s].bytes, LINK_BUFFER + CHUNK);
    }
    return l;
}

void link_free(struct link *l, bool reset)
{
    // When a TCP socket is closed without lingering, the kernel sends a reset.
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (!l)
        return;
    for (int s = 0; s < 2; s++) {
        if (reset)
            setsockopt(l->fds[s], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(l->fds[s]);
        buf_fini(&l->flows[s].bytes);
    }
    free(l);
}

static bool is_full(const struct flow *f)
{
    return f->bytes.len >= LINK_BUFFER || f->stamp_count == LINK_STAMPS;
}

// Lets the bytes that were read last pass from due_ns on.
static void stamp_bytes(struct flow *f, int64_t due_ns)
{
    // Bytes never overtake others, even when the jitter of the later bytes is smaller.
    if (f->stamp_count > 0) {
        size_t last = (f->first_stamp + f->stamp_count - 1) % LINK_STAMPS;
        if (due_ns < f->stamps[last].due_ns)
            due_ns = f->stamps[last].due_ns;
    }
    // There is room for a stamp, because a flow whose stamps are used up counts as full.
    f->stamps[(f->first_stamp + f->stamp_count++) % LINK_STAMPS] =
        (struct link_stamp){.upto = f->in, .due_ns = due_ns};
}

// Reads what the sender has sent, until its socket is empty or the flow is full, and notes when the
// bytes are due.
static void read_into_flow(struct flow *f, int from, int64_t delay_ns, int64_t now)
{
    while (!f->ended && !is_full(f)) {
        char *room = buf_reserve(&f->bytes, CHUNK);
        ssize_t got = room ? read(from, room, CHUNK) : -1;
        if (got < 0 && errno == EINTR)
            continue;
        // Nothing has come (EAGAIN), or the socket is not connected yet (ENOTCONN).
        if (got < 0 && (errno == EAGAIN || errno == ENOTCONN))
            return;
        if (got <= 0) {
            // An error ends the flow as an end of file does; what has arrived still passes.
            f->ended = true;
            return;
        }
        f->bytes.len += (size_t)got;
        f->in += (uint64_t)got;
        // Even without a delay, these bytes wait behind those that are delayed already.
        if (delay_ns > 0 || f->stamp_count > 0)
            stamp_bytes(f, now + delay_ns);
        else
            f->ready = f->in;
        // A short read has probably emptied the socket. If it has not, the next poll says so.
        if ((size_t)got < CHUNK)
            return;
    }
}

// Lets the server's flow expect the answer to a request for encryption. If the server agrees to
// encrypt, both flows become opaque.
static void follow_encryption(
    struct link *l, enum message_sender sender, const struct wire_message *m)
{
    if (m->type == MESSAGE_SSL_REQUEST || m->type == MESSAGE_GSS_REQUEST)
        wire_expect_answer(&l->flows[MESSAGE_SERVER].wire);
    if (sender == MESSAGE_SERVER && l->flows[MESSAGE_SERVER].wire.phase == WIRE_OPAQUE)
        l->flows[MESSAGE_CLIENT].wire.phase = WIRE_OPAQUE;
}

// Follows the framing to the last byte that has arrived, or to the place of a cut.
static void follow_framing(
    struct link *l, enum message_sender sender, const struct link_watcher *watcher)
{
    struct flow *f = &l->flows[sender];

    while (!f->cut && f->cleared < f->bytes.len) {
        const char *data = f->bytes.data + f->cleared;
        size_t len = f->bytes.len - f->cleared;
        struct wire_message m;
        enum cut_side side;
        const bool is_first = f->wire.phase == WIRE_STARTUP;
        if (f->wire.left == 0 && wire_begin(&f->wire, data, len, &m)) {
            follow_encryption(l, sender, &m);
            exchange_take(&l->exchange, sender, &m);
            if (watcher->message(watcher->self, sender, &m, &side)) {
                f->cut = side == CUT_BEFORE;
                f->cut_next = side == CUT_AFTER;
            }
        }
        // A client whose first bytes are no message, such as one that begins with TLS, is cut if
        // only clear text may pass. Otherwise the server's answers are no messages either.
        if (is_first && f->wire.phase == WIRE_OPAQUE) {
            l->flows[MESSAGE_SERVER].wire.phase = WIRE_OPAQUE;
            f->cut = watcher->clear_only;
        }
        // With a cut before it, the message stays in the buffer and never passes.
        if (f->cut)
            return;
        size_t passed = wire_pass(&f->wire, len);
        // Too little of the next message has arrived.
        if (passed == 0)
            return;
        f->cleared += passed;
        f->cut = f->cut_next && f->wire.left == 0;
    }
}

// Returns how many bytes at the front of the buffer may pass: their delay is over, and the framing
// was followed past them. *wake_ns becomes the time of the next delay's end at the latest.
static size_t due_now(struct flow *f, int64_t now, int64_t *wake_ns)
{
    while (f->stamp_count > 0 && f->stamps[f->first_stamp].due_ns <= now) {
        f->ready = f->stamps[f->first_stamp].upto;
        f->first_stamp = (f->first_stamp + 1) % LINK_STAMPS;
        f->stamp_count--;
    }
    if (f->stamp_count > 0)
        *wake_ns = clock_min(*wake_ns, f->stamps[f->first_stamp].due_ns);
    uint64_t passed = f->in - f->bytes.len;
    uint64_t due = f->ready - passed;
    return due < f->cleared ? (size_t)due : f->cleared;
}

// Returns how many of `len` bytes a throttle lets pass now. `rate` is in bytes per second; 0: there
// is no throttle. *wake_ns becomes the time of the next try at the latest.
static size_t throttled_len(struct flow *f, size_t len, double rate, int64_t now, int64_t *wake_ns)
{
    if (rate <= 0) {
        f->budget = 0;
        f->budget_ns = now;
        return len;
    }
    // pass_on takes each byte that it sends from the budget. Bytes that it sent before the throttle
    // began cost nothing.
    if (f->budget < 0)
        f->budget = 0;
    f->budget += rate * (double)(now - f->budget_ns) / 1e9;
    f->budget_ns = now;
    // An unused budget grows for a twentieth of a second at most. The one byte more lets bytes pass
    // however low the rate is.
    if (f->budget > rate / 20 + 1)
        f->budget = rate / 20 + 1;
    if ((double)len <= f->budget)
        return len;
    *wake_ns = clock_min(*wake_ns, now + throttle_step_ns);
    return (size_t)f->budget;
}

// Returns how many of `len` bytes may still pass before the connection reaches its limit.
static size_t within_limit(const struct link *l, size_t len, uint64_t limit)
{
    uint64_t passed = 0;

    if (limit == 0)
        return len;
    for (int s = 0; s < 2; s++)
        passed += l->flows[s].in - l->flows[s].bytes.len;
    uint64_t left = passed < limit ? limit - passed : 0;
    return left < len ? (size_t)left : len;
}

// Returns how many of `len` bytes the next piece has; 0: the pause after the last piece is not
// over. *wake_ns becomes the end of the pause at the latest.
static size_t sliced_len(struct flow *f, size_t len, const struct link_conditions *conditions,
    int64_t now, int64_t *wake_ns)
{
    if (conditions->slice == 0 || len == 0)
        return len;
    if (now < f->slice_due_ns) {
        *wake_ns = clock_min(*wake_ns, f->slice_due_ns);
        return 0;
    }
    f->slice_due_ns = now + conditions->slice_gap_ns;
    if (len <= conditions->slice)
        return len;
    *wake_ns = clock_min(*wake_ns, f->slice_due_ns);
    return conditions->slice;
}

bool link_is_at_limit(const struct link *l, uint64_t limit)
{
    return limit > 0 && within_limit(l, 1, limit) == 0;
}

// Sends the first `len` bytes of the buffer, or fewer when the receiver's socket is full or closed.
static void pass_on(struct flow *f, int to, size_t len)
{
    f->blocked = false;
    while (len > 0 && !f->dead) {
        ssize_t put = send(to, f->bytes.data, len, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        // A socket that is not connected yet counts as full: poll tells when to go on.
        if (put < 0 && (errno == EAGAIN || errno == ENOTCONN)) {
            f->blocked = true;
            return;
        }
        if (put < 0) {
            f->dead = true;
            return;
        }
        buf_consume(&f->bytes, (size_t)put);
        f->cleared -= (size_t)put;
        f->budget -= (double)put;
        len -= (size_t)put;
    }
}

bool link_pump(struct link *l, const struct link_conditions *conditions,
    const struct link_watcher *watcher, int64_t now_ns, int64_t *wake_ns, bool *was_cut)
{
    bool over = false;

    *was_cut = false;
    for (int s = 0; s < 2; s++) {
        struct flow *f = &l->flows[s];
        read_into_flow(f, l->fds[s], conditions->delay_ns, now_ns);
        follow_framing(l, (enum message_sender)s, watcher);
        // Even while a direction is held, its bytes are read, so that the sender sees a network
        // that takes bytes and never delivers them.
        if (conditions->hold[s])
            continue;
        size_t len = due_now(f, now_ns, wake_ns);
        len = throttled_len(f, len, conditions->rate, now_ns, wake_ns);
        len = within_limit(l, sliced_len(f, len, conditions, now_ns, wake_ns), conditions->limit);
        pass_on(f, l->fds[!s], len);
        // A limit or a cut ends the whole connection, not only this direction.
        over = over || link_is_at_limit(l, conditions->limit);
        *was_cut = *was_cut || (f->cut && f->cleared == 0);
        // While the receiver's own bytes are held, the sender hears nothing from that side, so it
        // must not notice that the receiver is gone.
        over = over || (f->ended && f->cleared == 0) || (f->dead && !conditions->hold[!s]);
    }
    return !over && !*was_cut;
}

short link_events(const struct link *l, enum message_sender end)
{
    // The bytes that come from this end, and those that go to it.
    const struct flow *from = &l->flows[end], *to = &l->flows[!end];
    bool reads = !from->ended && !is_full(from);

    return (short)((reads ? POLLIN : 0) | (to->blocked ? POLLOUT : 0));
}

size_t link_withheld(const struct link *l, enum message_sender sender)
{
    return l->flows[sender].bytes.len;
}
