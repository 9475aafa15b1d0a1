// Faults of the network between collector and server. They are made in the proxy, or in the kernel
// between two network namespaces.
#include "fault/family.h"

#include "os/interrupt.h"

static const int64_t cut_wait_ns = 5 * NS_PER_S;
static const int64_t poll_ns = 2 * NS_PER_MS;

// True when the fault stops what goes in this direction. A partition stops both directions.
static bool is_silent_direction(const struct fault_spec *spec, enum fault_direction direction)
{
    return spec->verb->id == VERB_PARTITION || spec->direction == direction;
}

// Begins partition or half-open. The kernel drops the packets at the end at which they arrive; the
// proxy holds the bytes back.
static bool begin_silence(struct fault_context *c, struct fault_record *r, struct err *e)
{
    bool to_server = is_silent_direction(r->spec, TO_SERVER);
    bool to_collector = is_silent_direction(r->spec, TO_COLLECTOR);

    if (r->spec->through == THROUGH_KERNEL)
        return (!to_server || netns_silence(c->net, NETNS_SERVER, e)) &&
               (!to_collector || netns_silence(c->net, NETNS_COLLECTOR, e));
    proxy_hold(c->proxy, to_server, to_collector);
    return true;
}

// Ends a silence that was made by the kernel's filter, not by the proxy. Both ends are healed even
// after an error. The filter's own counters prove the fault.
static bool end_kernel_silence(struct fault_context *c, struct fault_record *r, struct err *e)
{
    uint64_t at_server = 0, at_collector = 0;
    bool ok =
        !is_silent_direction(r->spec, TO_SERVER) || netns_heal(c->net, NETNS_SERVER, &at_server, e);

    ok = (!is_silent_direction(r->spec, TO_COLLECTOR) ||
             netns_heal(c->net, NETNS_COLLECTOR, &at_collector, e)) &&
         ok;
    // If nothing was sent during the silence, nobody can have noticed it.
    if (ok && at_server + at_collector == 0)
        return err_set(e, ERR_SKIP, "nothing was sent while the network was silent");
    snprintf(r->evidence, sizeof r->evidence,
        "the kernel dropped %llu packets to the server, %llu to the collector",
        (unsigned long long)at_server, (unsigned long long)at_collector);
    return ok;
}

// Ends a silence. The bytes that the proxy still withholds prove it. There should be some, because
// the load goes on.
static bool end_silence(struct fault_context *c, struct fault_record *r, struct err *e)
{
    if (r->spec->through == THROUGH_KERNEL)
        return end_kernel_silence(c, r, e);
    bool to_server = is_silent_direction(r->spec, TO_SERVER);
    bool to_collector = is_silent_direction(r->spec, TO_COLLECTOR);
    struct proxy_counts counts = proxy_counts(c->proxy);
    size_t withheld = (to_server ? counts.withheld[MESSAGE_CLIENT] : 0) +
                      (to_collector ? counts.withheld[MESSAGE_SERVER] : 0);

    proxy_heal(c->proxy, to_server, to_collector, r->spec->reset);
    if (withheld == 0)
        return err_set(e, ERR_SKIP, "nothing was sent while the network was silent");
    snprintf(r->evidence, sizeof r->evidence, "%zu %s on %zu %s %s", withheld,
        NOUN(withheld, "byte", "bytes"), counts.links,
        NOUN(counts.links, "connection", "connections"),
        r->spec->reset ? "withheld and dropped" : "withheld until the end");
    return true;
}

static bool fail_no_connection(struct err *e)
{
    return err_set(e, ERR_CONNECTION, "the collector had no connection in time");
}

static bool sees_connection(struct fault_context *c, const struct fault_record *r, struct err *e)
{
    (void)r;
    return proxy_counts(c->proxy).links > 0 || fail_no_connection(e);
}

static bool reset_connections(struct fault_context *c, struct fault_record *r, struct err *e)
{
    size_t count = proxy_reset(c->proxy);

    if (count == 0)
        return fail_no_connection(e);
    snprintf(r->evidence, sizeof r->evidence, "%zu %s reset", count,
        NOUN(count, "connection", "connections"));
    return true;
}

// Turns the fault's own kind of slowness on or off. The other kinds stay as they are, because a
// delay, a throttle and slices may overlap.
static void set_slow(struct fault_context *c, const struct fault_spec *spec, bool on)
{
    switch (spec->verb->id) {
    case VERB_DELAY:
        proxy_delay(c->proxy, on ? spec->by_ns : 0, on ? spec->jitter_ns : 0);
        break;
    case VERB_SLICE:
        proxy_slice(c->proxy, on ? (size_t)spec->bytes : 0, on ? spec->gap_ns : 0);
        break;
    default:
        proxy_throttle(c->proxy, on ? spec->rate : 0);
    }
}

// Begins a delay, a throttle or slices. Bytes that pass meanwhile prove that the fault took effect.
static bool begin_slow(struct fault_context *c, struct fault_record *r, struct err *e)
{
    (void)e;
    r->memo = proxy_counts(c->proxy).passed;
    set_slow(c, r->spec, true);
    return true;
}

// Ends the slowness. r->memo: the number of bytes that had passed when it began.
static bool end_slow(struct fault_context *c, struct fault_record *r, struct err *e)
{
    uint64_t passed = proxy_counts(c->proxy).passed - r->memo;
    double seconds = (double)(clock_now_ns() - r->began_ns) / 1e9;

    set_slow(c, r->spec, false);
    if (passed == 0)
        return err_set(e, ERR_SKIP, "nothing passed while the network was slow");
    snprintf(r->evidence, sizeof r->evidence, "%llu bytes passed in %.1f s",
        (unsigned long long)passed, seconds);
    return true;
}

// Limits the bytes of every connection, including those that are opened later. A single connection
// that has ended at the limit is evidence enough.
static bool begin_limit(struct fault_context *c, struct fault_record *r, struct err *e)
{
    (void)e;
    r->memo = proxy_counts(c->proxy).limited;
    proxy_limit(c->proxy, (uint64_t)r->spec->bytes);
    return true;
}

// Removes the limit. r->memo: the number of connections that had ended at a limit before.
static bool end_limit(struct fault_context *c, struct fault_record *r, struct err *e)
{
    uint64_t ended = proxy_counts(c->proxy).limited - r->memo;

    proxy_limit(c->proxy, 0);
    if (ended == 0)
        return err_set(e, ERR_SKIP, "no connection had %d bytes to pass", r->spec->bytes);
    snprintf(r->evidence, sizeof r->evidence, "%llu %s ended at %d %s", (unsigned long long)ended,
        NOUN(ended, "connection", "connections"), r->spec->bytes,
        NOUN(r->spec->bytes, "byte", "bytes"));
    return true;
}

// Arms a cut and waits until the message has come: at most the fault's `for`, or 5 s without one.
static bool cut_at(struct fault_context *c, struct fault_record *r, struct err *e)
{
    int64_t deadline = clock_now_ns() + (r->spec->for_ns > 0 ? r->spec->for_ns : cut_wait_ns);
    int64_t cut_ns[PROXY_CUTS_MAX];
    struct message_kind kind;

    if (!message_kind_parse(r->spec->message, &kind, e))
        return false;
    proxy_cut(c->proxy, &kind, r->spec->n, r->spec->side);
    while (proxy_cuts(c->proxy, cut_ns) == 0) {
        bool go_on = interrupt_sleep_until(clock_now_ns() + poll_ns);
        if (go_on && clock_now_ns() <= deadline)
            continue;
        proxy_forget_cut(c->proxy);
        return err_set(
            e, ERR_CONNECTION, "%s number %d did not come in time", r->spec->message, r->spec->n);
    }
    // The cut was armed earlier; the fault began when the message came.
    r->began_ns = cut_ns[0];
    snprintf(r->evidence, sizeof r->evidence, "connection cut %s %s number %d",
        r->spec->side == CUT_BEFORE ? "before" : "after", r->spec->message, r->spec->n);
    return true;
}

const struct fault_verb fault_network_verbs[] = {
    {VERB_PARTITION, .begin = begin_silence, .end = end_silence, .need = NEEDS_ADDRESS},
    {VERB_HALF_OPEN, .begin = begin_silence, .end = end_silence, .need = NEEDS_ADDRESS},
    {VERB_RESET, .look = sees_connection, .begin = reset_connections, .need = NEEDS_ADDRESS},
    {VERB_DELAY, .begin = begin_slow, .end = end_slow, .need = NEEDS_ADDRESS},
    {VERB_THROTTLE, .begin = begin_slow, .end = end_slow, .need = NEEDS_ADDRESS},
    {VERB_LIMIT_DATA, .begin = begin_limit, .end = end_limit, .need = NEEDS_ADDRESS},
    {VERB_SLICE, .begin = begin_slow, .end = end_slow, .need = NEEDS_ADDRESS},
    {VERB_CUT_AT, .begin = cut_at, .need = NEEDS_ADDRESS},
    {0},
};
