#include "check/outages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check/inside.h"

static const int64_t burst_ns = 50 * NS_PER_MS; // sessions that are closer together form one burst

// --- when it is over --------------------------------------------------------------

int64_t outages_session_ns(const struct ledger *l, int64_t from_ns)
{
    size_t low = 0, high = l->session_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->sessions[mid] < from_ns)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == l->session_count)
        return CLOCK_NEVER;
    while (low + 1 < l->session_count && l->sessions[low + 1] - l->sessions[low] <= burst_ns)
        low++;
    return l->sessions[low];
}

// A fault that was left out only at its end keeps its times: the subject may have felt it.
static bool touches(const struct ledger *l, const struct fault_record *f)
{
    return f->began_ns && harm_of(l->scenario, f->spec) != HARM_NONE;
}

static int64_t next_fault_ns(const struct ledger *l, const struct fault_record *after)
{
    int64_t next = CLOCK_NEVER;

    for (uint32_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns > after->began_ns && touches(l, f))
            next = clock_min(next, f->began_ns);
    }
    return next;
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Returns the last session that opened before a line came out or the next fault began. An earlier
// session may end before it serves: the fault is about to kill its process, or the starting server
// drops it.
static int64_t serving_session_ns(
    const struct ledger *l, const struct fault_record *f, int64_t back_ns)
{
    int64_t line_ns = next_fault_ns(l, f);

    if (back_ns == CLOCK_NEVER)
        return back_ns;
    for (size_t i = l->log->line_count; i-- > 0 && l->log->lines[i].read_ns >= back_ns;)
        line_ns = clock_min(line_ns, l->log->lines[i].read_ns);
    for (size_t i = l->session_count; i-- > 0 && l->sessions[i] > back_ns;) {
        if (l->sessions[i] <= line_ns)
            return l->sessions[i];
    }
    return back_ns;
}

// Returns how long the fault keeps the collectors from working: others take over from one that is
// away.
static int64_t lasted_ns(const struct ledger *l, const struct fault_record *f)
{
    int64_t ns = f->ended_ns - f->began_ns;

    return harm_hits_one(l->scenario, f->spec)
               ? clock_min(ns, harm_carry_on_ns(l->scenario, f->spec))
               : ns;
}

// Returns when the subject must be back: when recovery_limit has passed since the fault's end. The
// time under a later fault does not count. The first later fault begins the limit anew, because it
// may have spoilt an attempt to reconnect. It is unlikely that further ones do so, too. So each of
// those adds its own length once more, for a client that doubles its pauses.
static int64_t limit_of(const struct ledger *l, const struct fault_record *f)
{
    int64_t recovery_ns = l->scenario->recovery_limit_ns, again_ns = recovery_ns;
    int64_t limit_ns = f->ended_ns + recovery_ns, done_ns = f->ended_ns;

    for (uint32_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *later = &l->faults[i];
        if (later->began_ns <= f->began_ns || later->began_ns > limit_ns || !touches(l, later))
            continue;
        int64_t lasts_ns = lasted_ns(l, later);
        int64_t until_ns =
            later->began_ns + lasts_ns + latest(again_ns, clock_min(lasts_ns, recovery_ns));
        limit_ns += latest(0, until_ns - latest(later->began_ns, done_ns));
        done_ns = latest(done_ns, until_ns);
        again_ns = 0;
    }
    return limit_ns;
}

// Returns when the first line with a token that was committed after the fault's end was read; it
// shows that its writer works. instance -1: any.
static int64_t alive_ns(const struct ledger *l, const struct fault_record *f, int instance)
{
    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        int by = l->log->processes[line->process].instance;
        if (line->read_ns > f->ended_ns && (instance < 0 || by == instance) &&
            check_is_fresh(l, line, f->ended_ns))
            return line->read_ns;
    }
    return CLOCK_NEVER;
}

// Returns the same for all instances that the fault hit. Collectors that share the work have a
// session each.
static int64_t all_alive_ns(const struct ledger *l, const struct fault_record *f)
{
    const struct scenario *s = l->scenario;
    int64_t all_ns = 0;

    if (!check_shares(s) || harm_hits_one(s, f->spec))
        return alive_ns(l, f, check_shares(s) ? f->spec->instance : -1);
    for (int i = 0; i < s->collector.instances; i++)
        all_ns = latest(all_ns, alive_ns(l, f, i));
    return all_ns;
}

// Returns when the subject had a new session, if the fault ended the old one; otherwise the end of
// the fault. The old session survived when the next one opened too late, or only after another
// fault although the subject had written a fresh line before. A session that opened during the
// fault may be dead, unless a line shows that it works.
static int64_t thawed_ns(const struct ledger *l, const struct fault_record *f)
{
    int64_t works_ns = all_alive_ns(l, f), next_ns = next_fault_ns(l, f);
    int64_t from_ns = works_ns > next_ns ? f->ended_ns : f->began_ns;
    int64_t back_ns = serving_session_ns(l, f, outages_session_ns(l, from_ns));

    if (back_ns > limit_of(l, f) || back_ns > latest(works_ns, next_ns))
        return f->ended_ns;
    return back_ns;
}

// Returns when the subject had a session again after the fault.
static int64_t session_back_ns(const struct ledger *l, const struct fault_record *f)
{
    enum harm harm = harm_of(l->scenario, f->spec);

    if (harm == HARM_SLOWS || harm == HARM_OUTPUT)
        return f->ended_ns;
    if (!l->sessions)
        return limit_of(l, f);
    if (harm == HARM_FREEZES)
        return thawed_ns(l, f);
    int64_t back_ns = serving_session_ns(l, f, outages_session_ns(l, f->began_ns));
    return clock_min(back_ns, limit_of(l, f));
}

// Returns when another collector must have taken over; with one collector, ended_ns.
static int64_t handed_over_ns(
    const struct ledger *l, const struct fault_record *f, int64_t ended_ns)
{
    enum harm harm = harm_of(l->scenario, f->spec);
    bool turns = l->scenario->collector.instances > 1;

    if (!turns || harm == HARM_SLOWS || harm == HARM_OUTPUT)
        return ended_ns;
    return ended_ns + harm_grace_ns(l->scenario) + harm_takeover_ns;
}

// Describes the outage as if nobody took over: own_until_ns is when the hit instance is back, and
// until_ns also contains the time to hand the work over.
static struct outage outage_of(
    const struct ledger *l, const struct fault_record *f, struct cause cause)
{
    const struct scenario *s = l->scenario;
    bool one = harm_hits_one(s, f->spec);
    struct outage o = {.from_ns = f->began_ns,
        .instance = one ? f->spec->instance : -1,
        .others_ns = one ? f->began_ns + harm_carry_on_ns(s, f->spec) : CLOCK_NEVER,
        .cause = cause};

    o.own_until_ns = latest(f->ended_ns, session_back_ns(l, f));
    o.until_ns = latest(o.own_until_ns, handed_over_ns(l, f, f->ended_ns));
    return o;
}

// Returns the outage of a sender that died by itself: the same as when a fault kills the sender. It
// is short even if the collector does not end then, so that this collector is judged again soon.
static struct outage outage_of_sender(const struct ledger *l, const struct delivery *d)
{
    uint32_t process = l->log->lines[d->line].process;
    const struct process_record *p = &l->log->processes[process];
    struct fault_spec spec = {.verb = &verbs[VERB_KILL_SENDER], .instance = p->instance};
    struct fault_record f = {.spec = &spec,
        .began_ns = d->replied_ns,
        .ended_ns = clock_min(p->ended_ns, d->replied_ns + harm_sender_died_ns(l->scenario))};

    return outage_of(l, &f, (struct cause){CAUSE_SENDER, process});
}

static bool is_death(const struct delivery *d)
{
    return d->reply == REPLY_DIED && d->replied_ns != 0;
}

static size_t count_deaths(const struct ledger *l)
{
    size_t count = 0;

    for (size_t i = 0; i < l->log->delivery_count; i++)
        count += is_death(&l->log->deliveries[i]);
    return count;
}

static int compare(const void *a, const void *b)
{
    const struct outage *x = a, *y = b;

    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

// Returns from when on no outage keeps this instance away.
static int64_t free_ns(const struct outages *o, int instance, int64_t at_ns)
{
    for (size_t i = 0; i < o->count && o->items[i].from_ns <= at_ns; i++) {
        if (o->items[i].instance == instance)
            at_ns = latest(at_ns, o->items[i].own_until_ns);
    }
    return at_ns;
}

// Others take over as soon as one of them can work, so the time to take over counts from then on.
static void await_others(const struct scenario *s, const struct outages *o, struct outage *out)
{
    int64_t first_ns = CLOCK_NEVER;

    for (int i = 0; i < s->collector.instances; i++) {
        if (i != out->instance)
            first_ns = clock_min(first_ns, free_ns(o, i, out->from_ns));
    }
    out->others_ns =
        first_ns == CLOCK_NEVER ? CLOCK_NEVER : out->others_ns + first_ns - out->from_ns;
}

// Collectors that share the work leave the tokens that a lost one had taken until it returns.
// Collectors that take turns write them.
static void take_over(const struct scenario *s, struct outage *out)
{
    int64_t late_ns = check_shares(s) ? harm_takeover_ns : 0;

    out->own_until_ns = out->until_ns;
    if (out->others_ns < out->until_ns - late_ns)
        out->until_ns = out->others_ns + late_ns;
    if (check_shares(s))
        return;
    out->own_until_ns = out->until_ns;
    out->instance = -1;
}

// A collector that hangs keeps the tokens that it has taken until another fault ends its session.
// Then others write them, and nobody knows which tokens these were.
static void keep_taken(const struct ledger *l, const struct outages *o, struct outage *out)
{
    bool fault = out->cause.kind == CAUSE_FAULT;

    if (!fault || harm_of(l->scenario, l->faults[out->cause.index].spec) == HARM_PROCESS)
        return;
    for (size_t i = 0; i < o->count && o->items[i].from_ns < out->own_until_ns; i++) {
        if (o->items[i].instance < 0 && o->items[i].from_ns > out->until_ns)
            out->until_ns = o->items[i].from_ns;
    }
}

static void find_ends(struct outages *o, const struct ledger *l)
{
    const struct scenario *s = l->scenario;
    int64_t latest_ns = INT64_MIN;

    qsort(o->items, o->count, sizeof *o->items, compare);
    for (size_t i = 0; i < o->count; i++) {
        if (o->items[i].instance >= 0)
            await_others(s, o, &o->items[i]);
    }
    for (size_t i = 0; i < o->count; i++) {
        struct outage *out = &o->items[i];
        take_over(s, out);
        if (out->instance >= 0)
            keep_taken(l, o, out);
        out->latest_ns = latest_ns = latest(latest_ns, latest(out->until_ns, out->own_until_ns));
    }
}

bool outages_make(struct outages *o, const struct ledger *l, struct err *e)
{
    *o = (struct outages){.items = calloc(l->fault_count + count_deaths(l) + 1, sizeof *o->items)};
    if (!o->items)
        return err_memory(e);
    for (uint32_t i = 0; i < l->fault_count; i++) {
        if (touches(l, &l->faults[i]))
            o->items[o->count++] = outage_of(l, &l->faults[i], (struct cause){CAUSE_FAULT, i});
    }
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        if (is_death(&l->log->deliveries[i]))
            o->items[o->count++] = outage_of_sender(l, &l->log->deliveries[i]);
    }
    find_ends(o, l);
    return true;
}

void outages_fini(struct outages *o)
{
    free(o->items);
    *o = (struct outages){0};
}

// --- fault-free time --------------------------------------------------------------

// Returns the first outage that may still last after `from_ns`.
static size_t first_after(const struct outages *o, int64_t from_ns)
{
    size_t low = 0, high = o->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (o->items[mid].latest_ns <= from_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int64_t ends_ns(const struct outage *o, int instance)
{
    return instance >= 0 && o->instance == instance ? o->own_until_ns : o->until_ns;
}

struct fault_free outages_free(
    const struct outages *o, int instance, int64_t from_ns, int64_t until_ns)
{
    struct fault_free f = {.ns = until_ns > from_ns ? until_ns - from_ns : 0};
    int64_t done_ns = from_ns, most_ns = -1;

    for (size_t i = first_after(o, from_ns); i < o->count; i++) {
        const struct outage *out = &o->items[i];
        int64_t end_ns = clock_min(ends_ns(out, instance), until_ns);
        if (out->from_ns >= until_ns)
            break;
        if (ends_ns(out, instance) <= from_ns)
            continue;
        f.faults++;
        int64_t taken_ns = end_ns - latest(out->from_ns, done_ns);
        if (taken_ns > most_ns) {
            most_ns = taken_ns;
            f.cause = out->cause;
        }
        if (taken_ns > 0)
            f.ns -= taken_ns;
        done_ns = latest(done_ns, end_ns);
    }
    return f;
}

struct cause outages_hit(const struct outages *o, int instance, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = first_after(o, from_ns); i < o->count && o->items[i].from_ns < until_ns; i++) {
        const struct outage *out = &o->items[i];
        bool hit = out->instance < 0 || out->instance == instance;
        if (hit && latest(out->until_ns, out->own_until_ns) > from_ns)
            return out->cause;
    }
    return CAUSE_IS_NONE;
}

bool outages_last(const struct outages *o, int64_t at_ns)
{
    for (size_t i = first_after(o, at_ns); i < o->count && o->items[i].from_ns <= at_ns; i++) {
        if (o->items[i].own_until_ns >= at_ns)
            return true;
    }
    return false;
}

int64_t outages_due_ns(const struct outages *o, int instance, int64_t from_ns, int64_t need_ns)
{
    int64_t at_ns = from_ns;

    for (size_t i = first_after(o, from_ns); i < o->count; i++) {
        const struct outage *out = &o->items[i];
        if (out->from_ns > at_ns) {
            if (out->from_ns - at_ns >= need_ns)
                break;
            need_ns -= out->from_ns - at_ns;
            at_ns = out->from_ns;
        }
        at_ns = latest(at_ns, ends_ns(out, instance));
    }
    return at_ns + need_ns;
}
