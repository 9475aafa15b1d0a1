#include "check/outages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check/check.h"

static const int64_t takeover_ns = NS_PER_S;       // promised after the grace
static const int64_t burst_ns = 50 * NS_PER_MS;    // between the sessions of one collector
static const int64_t default_lease_ms = 30000;     // MAILROOM_LEASE
static const int64_t default_check_ms = 270000;    // MAILROOM_HEALTHCHECK_INTERVAL
static const int64_t default_grace_ms = 500;       // MAILROOM_GRACE
static const int64_t bereaved_ns = NS_PER_S;       // to end without a sender
static const int64_t unanswered_ns = 5 * NS_PER_S; // of a health check

// --- settings ---------------------------------------------------------------------

static int64_t setting_ns(const struct scenario *s, const char *name, int64_t default_ms)
{
    const long day_ms = 86400000;
    int64_t ms = default_ms;

    for (size_t i = 0; i < s->collector.env.count; i++) {
        const struct setting *v = &s->collector.env.items[i];
        long given = strcmp(v->name, name) == 0 ? atol(v->value) : -1;
        if (given >= 0 && given <= day_ms)
            ms = given;
    }
    return ms * NS_PER_MS;
}

int64_t outages_grace_ns(const struct scenario *s)
{
    return setting_ns(s, "MAILROOM_GRACE", default_grace_ms);
}

int64_t outages_hang_ns(const struct scenario *s)
{
    int64_t check_ns = setting_ns(s, "MAILROOM_HEALTHCHECK_INTERVAL", default_check_ms);

    return clock_min(setting_ns(s, "MAILROOM_LEASE", default_lease_ms), check_ns + unanswered_ns);
}

int64_t outages_bereaved_ns(const struct scenario *s)
{
    return bereaved_ns + outages_grace_ns(s);
}

// --- what a fault does ------------------------------------------------------------

enum harm {
    HARM_NONE,    // the subject feels nothing
    HARM_SLOWS,   // it lasts; processes and sessions survive
    HARM_SESSION, // every session ends
    HARM_FREEZES, // a session may end, or survive
    HARM_PROCESS, // a process ends
    HARM_OUTPUT,  // nobody reads the output
};

// A foreign transaction delays a subject that waits for writers, and no other.
static enum harm harm_of(const struct scenario *s, const struct fault_spec *f)
{
    switch (f->verb->id) {
    case VERB_OLD_SNAPSHOT: // it writes nothing, so nobody waits for it
        return HARM_NONE;
    case VERB_HOLD_HORIZON:
    case VERB_LONG_VACUUM:
    case VERB_ACTIVE_READERS:
        return s->collector.promises & PROMISE_WAITS_FOR_WRITERS ? HARM_SLOWS : HARM_NONE;
    case VERB_TERMINATE_BACKEND:
        return f->target == TARGET_LOAD ? HARM_NONE : HARM_SESSION;
    case VERB_CANCEL_QUERY:
        return f->target == TARGET_LOAD ? HARM_NONE : HARM_SLOWS;
    case VERB_KILL_COLLECTOR:
    case VERB_STOP_COLLECTOR:
    case VERB_CLOSE_READER:
    case VERB_KILL_SENDER:
        return HARM_PROCESS;
    case VERB_PAUSE_READER:
    case VERB_SLOW_READER:
    case VERB_PAUSE_SENDER:
    case VERB_HANG_SENDER:
        return HARM_OUTPUT;
    case VERB_RESET:
    case VERB_CUT_AT:
        return HARM_SESSION;
    case VERB_PAUSE_SERVER:
    case VERB_PAUSE_COLLECTOR:
    case VERB_PARTITION:
    case VERB_HALF_OPEN:
    case VERB_EXHAUST_CONNECTIONS:
    case VERB_FILL_DISK:
    case VERB_LOCK_JOBS:
    case VERB_DELAY:
    case VERB_THROTTLE:
        return HARM_FREEZES;
    default:
        return f->verb->stops_server ? HARM_SESSION : HARM_SLOWS;
    }
}

bool outages_hits_one(const struct scenario *s, const struct fault_spec *f)
{
    enum harm harm = harm_of(s, f);
    bool one = (f->verb->params & PARAM_INSTANCE) && f->instance >= 0;

    // A collector whose output nobody reads keeps its turn, and is right to.
    return s->collector.instances > 1 && one &&
           (harm == HARM_PROCESS || harm == HARM_FREEZES ||
               (harm == HARM_OUTPUT && check_shares(s)));
}

int64_t outages_carry_on_ns(const struct scenario *s, const struct fault_spec *f)
{
    if (check_shares(s))
        return outages_grace_ns(s);
    return harm_of(s, f) == HARM_PROCESS ? outages_grace_ns(s) + takeover_ns : outages_hang_ns(s);
}

// --- when it is over --------------------------------------------------------------

// Returns the first session that opened at `from_ns` or later, extended to the end of its burst;
// CLOCK_NEVER without one.
static int64_t next_session_ns(const struct ledger *l, int64_t from_ns)
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

static int64_t next_fault_ns(const struct ledger *l, const struct fault_record *after)
{
    int64_t next = CLOCK_NEVER;

    for (uint32_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns > after->began_ns && harm_of(l->scenario, f->spec) != HARM_NONE)
            next = clock_min(next, f->began_ns);
    }
    return next;
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

// Returns when the session was replaced that the fault ended or may have ended. If the fault need
// not have ended it and another fault is at work, the next session does not prove anything.
static int64_t session_back_ns(const struct ledger *l, const struct fault_record *f)
{
    enum harm harm = harm_of(l->scenario, f->spec);
    int64_t limit_ns = f->ended_ns + l->scenario->recovery_limit_ns;

    if (harm == HARM_SLOWS || harm == HARM_OUTPUT)
        return f->ended_ns;
    if (!l->sessions)
        return limit_ns;
    int64_t back_ns = serving_session_ns(l, f, next_session_ns(l, f->began_ns));
    if (harm == HARM_FREEZES && (back_ns > limit_ns || back_ns > next_fault_ns(l, f)))
        return f->ended_ns;
    return clock_min(back_ns, limit_ns);
}

// When several collectors take turns, another may have to wait before it takes over.
static int64_t handed_over_ns(
    const struct ledger *l, const struct fault_record *f, int64_t ended_ns)
{
    enum harm harm = harm_of(l->scenario, f->spec);
    bool turns = l->scenario->collector.instances > 1;

    if (!turns || harm == HARM_SLOWS || harm == HARM_OUTPUT)
        return ended_ns;
    return ended_ns + outages_grace_ns(l->scenario) + takeover_ns;
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct outage outage_of(
    const struct ledger *l, const struct fault_record *f, struct cause cause)
{
    const struct scenario *s = l->scenario;
    struct outage o = {.from_ns = f->began_ns, .instance = -1, .cause = cause};
    int64_t back_ns = latest(f->ended_ns, session_back_ns(l, f));

    o.own_until_ns = o.until_ns = latest(back_ns, handed_over_ns(l, f, f->ended_ns));
    if (!outages_hits_one(s, f->spec))
        return o;
    int64_t others_ns =
        f->began_ns + outages_carry_on_ns(s, f->spec) + (check_shares(s) ? takeover_ns : 0);
    o.until_ns = clock_min(o.until_ns, others_ns);
    // Where they share the work, the tokens of one wait for its return. Where they take turns, the
    // others write them.
    o.instance = check_shares(s) ? f->spec->instance : -1;
    if (o.instance < 0)
        o.own_until_ns = o.until_ns;
    return o;
}

// A sender that dies by itself takes what one takes that a fault kills. A collector that
// does not end of it is judged again soon.
static struct outage bereavement_of(const struct ledger *l, const struct delivery *d)
{
    uint32_t process = l->log->lines[d->line].process;
    const struct process_record *p = &l->log->processes[process];
    struct fault_spec spec = {.verb = &verbs[VERB_KILL_SENDER], .instance = p->instance};
    struct fault_record f = {.spec = &spec,
        .began_ns = d->replied_ns,
        .ended_ns = clock_min(p->ended_ns, d->replied_ns + outages_bereaved_ns(l->scenario))};

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

bool outages_make(struct outages *o, const struct ledger *l, struct err *e)
{
    *o = (struct outages){.items = calloc(l->fault_count + count_deaths(l) + 1, sizeof *o->items)};
    if (!o->items)
        return err_set(e, ERR_INTERNAL, "out of memory for the faults' outages");
    for (uint32_t i = 0; i < l->fault_count; i++) {
        if (l->faults[i].began_ns && harm_of(l->scenario, l->faults[i].spec) != HARM_NONE)
            o->items[o->count++] = outage_of(l, &l->faults[i], (struct cause){CAUSE_FAULT, i});
    }
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        if (is_death(&l->log->deliveries[i]))
            o->items[o->count++] = bereavement_of(l, &l->log->deliveries[i]);
    }
    qsort(o->items, o->count, sizeof *o->items, compare);
    int64_t latest_ns = INT64_MIN;
    for (size_t i = 0; i < o->count; i++) {
        latest_ns = latest(latest_ns, latest(o->items[i].until_ns, o->items[i].own_until_ns));
        o->items[i].latest_ns = latest_ns;
    }
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
