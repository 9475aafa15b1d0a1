// sketch_apply: makes the smaller scenario that a sketch describes out of the whole one.
#include <math.h>

#include "scenario/metric.h"
#include "shrink/search.h"

#define REPEATS_MIN 3 // fewer evenly spaced faults are written one by one, without `every`

// --- load -------------------------------------------------------------------------------

// Rounds a rate to three decimals, so that the scenario's file gives back the same rate.
static double rounded_rate(double rate)
{
    return round(rate * 1000) / 1000;
}

// Keeps of a recording the arrivals in the span; their times count from the start of the span.
static void cut_trace(struct load_phase *p, const struct span *span)
{
    size_t n = 0;

    for (size_t i = 0; i < p->trace_count; i++) {
        if (p->trace_ns[i] >= span->from_ns && p->trace_ns[i] < span->to_ns)
            p->trace_ns[n++] = p->trace_ns[i] - span->from_ns;
    }
    p->trace_count = n;
}

// Cuts a phase to the span, and halves its rate `halvings` times.
static void cut_phase(struct load_phase *p, const struct span *span, int halvings)
{
    double slope = (p->rate_to - p->rate_from) / (double)p->for_ns, first = p->rate_from;

    // The rate of a phase may rise or fall. The part that is left keeps its piece of the slope, so
    // that the rate at a fault stays what it was, but for the halvings.
    p->rate_from = rounded_rate(ldexp(first + slope * (double)span->from_ns, -halvings));
    p->rate_to = rounded_rate(ldexp(first + slope * (double)span->to_ns, -halvings));
    cut_trace(p, span);
    p->for_ns = span->to_ns - span->from_ns;
}

// Takes features away from a phase (bits of enum plain).
static void make_phase_plain(struct load_phase *p, unsigned plain)
{
    p->rollback = plain & PLAIN_ROLLBACK ? 0 : p->rollback;
    p->hold_share = plain & PLAIN_HOLD_OPEN ? 0 : p->hold_share;
    p->hold_for_ns = plain & PLAIN_HOLD_OPEN ? 0 : p->hold_for_ns;
    p->ineligible = plain & PLAIN_INELIGIBLE ? 0 : p->ineligible;
    p->unsendable = plain & PLAIN_UNSENDABLE ? 0 : p->unsendable;
    p->recovery = plain & PLAIN_RECOVERY ? 0 : p->recovery;
    p->names = plain & PLAIN_NAMES ? NAMES_PLAIN : p->names;
    p->insert = plain & PLAIN_INSERT ? INSERT_ROW : p->insert;
    p->backlog = plain & PLAIN_BACKLOG ? 0 : p->backlog;
    if (plain & PLAIN_CHANGES)
        p->consume = p->suspend = p->reactivate = p->expire = p->delete = p->email = p->login = 0;
    p->tokens_per_account = plain & PLAIN_ACCOUNTS ? 1 : p->tokens_per_account;
    p->ids_from = plain & PLAIN_IDS ? 1 : p->ids_from;
    p->rows_from = plain & PLAIN_ROWS ? 1 : p->rows_from;
    p->rows_to = plain & PLAIN_ROWS ? 1 : p->rows_to;
}

// Takes away from the load what the sketch takes away.
static void apply_load(const struct sketch *k, struct scenario *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->load_count; i++) {
        struct load_phase *p = &s->load[i];
        bool nothing_left = k->spans[i].from_ns == k->spans[i].to_ns;
        if (nothing_left) { // free the phase now: later phases move into its place
            phase_fini(p);
            continue;
        }
        cut_phase(p, &k->spans[i], k->halvings);
        make_phase_plain(p, k->plain);
        if (p->connections > k->connections)
            p->connections = k->connections;
        s->load[n++] = *p;
    }
    s->load_count = n;
}

// --- faults -----------------------------------------------------------------------------

// Adds a fault like `original` that happens at each of `times`, which are evenly spaced.
static void add_repeating_fault(
    struct scenario *s, const struct fault_spec *original, const int64_t *times, size_t count)
{
    struct fault_spec *fault = &s->faults[s->fault_count++];

    *fault = *original;
    fault->at_ns = times[0];
    fault->every_ns = count > 1 ? times[1] - times[0] : 0;
    fault->until_ns = count > 1 ? times[count - 1] : 0;
    // A delay keeps its jitter, because it varies the delay of each byte. Other faults lose their
    // jitter, because it varies the fault's time, and the planned times already include that.
    fault->jitter_ns = fault->verb->params & PARAM_JITTER ? original->jitter_ns : 0;
    fault->message = memory_copy(original->message);
}

// Returns how many of the times, from the first one on, are evenly spaced and longer apart than
// for_ns; 1 if these are fewer than REPEATS_MIN.
static size_t evenly_spaced(const int64_t *times, size_t count, int64_t for_ns)
{
    size_t n = count < 2 ? count : 2;

    while (n > 1 && n < count && times[n] - times[n - 1] == times[1] - times[0])
        n++;
    return n < REPEATS_MIN || times[1] - times[0] <= for_ns ? 1 : n;
}

// Adds what is left of one fault of the whole scenario's file. A fault of the new file can only
// repeat at even intervals, so several may be needed.
static void add_fault_spec(
    struct scenario *s, const struct sketch *k, const struct whole *w, size_t spec, int64_t *times)
{
    const struct fault_spec *original = &w->scenario->faults[spec];
    size_t count = 0, n;

    for (size_t i = 0; i < w->plan->fault_count; i++) {
        if (k->faults[i] && w->plan->faults[i].spec == spec)
            times[count++] = sketch_fault_ns(k, w, i);
    }
    for (size_t i = 0; i < count; i += n) {
        // A repeated fault must have ended before its next time, so the times must be further
        // apart than for_ns.
        n = evenly_spaced(times + i, count - i, original->for_ns);
        add_repeating_fault(s, original, times + i, n);
    }
}

// Replaces the faults of `s` by those that are left.
static void apply_faults(const struct sketch *k, const struct whole *w, struct scenario *s)
{
    // At worst each planned fault becomes a fault of the new file.
    size_t most = sketch_fault_count(k, w);
    int64_t *times FREED_BY(memory_free) = memory_zeroed(most, sizeof *times);

    for (size_t i = 0; i < s->fault_count; i++)
        free(s->faults[i].message);
    free(s->faults);
    s->faults = memory_zeroed(most, sizeof *s->faults);
    s->fault_count = 0;
    for (size_t i = 0; i < w->scenario->fault_count; i++)
        add_fault_spec(s, k, w, i, times);
}

// --- the rest ---------------------------------------------------------------------------

// Removes the expectations of anything but invariants.
static void drop_other_expectations(struct scenario *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->expect_count; i++) {
        // Expectations of speeds and counts do not hold for a shorter load. They are removed, so
        // that the small scenario passes once the collector is corrected.
        const struct metric *m = metric_find(s->expect[i].metric);
        if (m && m->invariant) {
            s->expect[n++] = s->expect[i];
            continue;
        }
        free(s->expect[i].metric);
        free(s->expect[i].want);
    }
    s->expect_count = n;
}

void sketch_apply(const struct sketch *k, const struct whole *w, struct scenario *s)
{
    s->drain_ns = sketch_drain_ns(w->scenario);
    s->collector.instances = k->instances;
    drop_other_expectations(s);
    apply_load(k, s);
    apply_faults(k, w, s);
}
