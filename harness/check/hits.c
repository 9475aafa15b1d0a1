#include "check/hits.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check/inside.h"

static const int64_t burst_ns = 50 * NS_PER_MS; // sessions that are closer together form one burst

int64_t hits_session_ns(const struct ledger *l, int64_t from_ns)
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

// Returns how long the fault keeps the collectors from working. When it hits only one of several,
// this is the time until the others take over.
static int64_t lasted_ns(const struct ledger *l, const struct fault_record *f)
{
    int64_t ns = f->ended_ns - f->began_ns;

    return harm_hits_one(l->scenario, f->spec)
               ? clock_min(ns, harm_carry_on_ns(l->scenario, f->spec))
               : ns;
}

// Returns when the subject must be back: when recovery_limit has passed since the fault's end.
//
// Time under a later fault does not count. The first later fault begins the limit anew, because it
// may have spoilt an attempt to reconnect. It is unlikely that further faults spoil further
// attempts. So each further fault only adds its own length once more, for a client that doubles its
// pauses.
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

// Returns when all instances that the fault hit are alive. One line is enough for collectors that
// take turns; collectors that share the work have a session each.
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
    int64_t back_ns = serving_session_ns(l, f, hits_session_ns(l, from_ns));

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
    int64_t back_ns = serving_session_ns(l, f, hits_session_ns(l, f->began_ns));
    return clock_min(back_ns, limit_of(l, f));
}

// Returns when another collector must have taken over from one that the fault has ended; where
// there is no other, the end of the fault. In the modes that share the work, a new process is
// another collector, even if it is the only one.
static int64_t handed_over_ns(const struct ledger *l, const struct fault_record *f)
{
    enum harm harm = harm_of(l->scenario, f->spec);
    bool others =
        l->scenario->collector.instances > 1 || (harm == HARM_PROCESS && check_shares(l->scenario));

    if (!others || harm == HARM_SLOWS || harm == HARM_OUTPUT)
        return f->ended_ns;
    return f->ended_ns + harm_grace_ns(l->scenario) + harm_takeover_ns;
}

static struct hit hit_of(const struct ledger *l, const struct fault_record *f, struct cause cause)
{
    const struct scenario *s = l->scenario;
    bool one = harm_hits_one(s, f->spec);
    int64_t back_ns = latest(f->ended_ns, session_back_ns(l, f));

    return (struct hit){.from_ns = f->began_ns,
        .back_ns = back_ns,
        .handed_ns = latest(back_ns, handed_over_ns(l, f)),
        .carry_on_ns = one ? harm_carry_on_ns(s, f->spec) : CLOCK_NEVER,
        .instance = one ? f->spec->instance : -1,
        .harm = harm_of(s, f->spec),
        .cause = cause};
}

// Returns the hit of a sender that died by itself, which is like that of a fault that kills the
// sender. The hit is short even if the collector does not end then, so that this collector is
// judged again soon.
static struct hit hit_of_sender(const struct ledger *l, const struct delivery *d)
{
    uint32_t process = l->log->lines[d->line].process;
    const struct process_record *p = &l->log->processes[process];
    struct fault_spec spec = {.verb = &verbs[VERB_KILL_SENDER], .instance = p->instance};
    struct fault_record f = {.spec = &spec,
        .began_ns = d->replied_ns,
        .ended_ns = clock_min(p->ended_ns, d->replied_ns + harm_sender_died_ns(l->scenario))};

    return hit_of(l, &f, (struct cause){CAUSE_SENDER, process});
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
    const struct hit *x = a, *y = b;

    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

bool hits_make(struct hits *h, const struct ledger *l, struct err *e)
{
    *h = (struct hits){.items = calloc(l->fault_count + count_deaths(l) + 1, sizeof *h->items)};
    if (!h->items)
        return err_memory(e);
    for (uint32_t i = 0; i < l->fault_count; i++) {
        if (touches(l, &l->faults[i]))
            h->items[h->count++] = hit_of(l, &l->faults[i], (struct cause){CAUSE_FAULT, i});
    }
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        if (is_death(&l->log->deliveries[i]))
            h->items[h->count++] = hit_of_sender(l, &l->log->deliveries[i]);
    }
    qsort(h->items, h->count, sizeof *h->items, compare);
    return true;
}

void hits_fini(struct hits *h)
{
    free(h->items);
    *h = (struct hits){0};
}
