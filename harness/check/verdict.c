// The verdict: what is broken, what cannot be judged, and why.
//
// Time is not judged on a machine that other programs use too much. There the counts of early,
// underfull, unrecovered, starved, falls_behind, idle_instance and over_budget convict nobody, but
// make the run inconclusive. One of these three is enough:
// - With a slack that was measured: programs outside of the run took more than 80% of the
//   processors.
// - With a slack that was measured: the load's backends had no processor for more than half of the
//   time in which they were ready to run.
// - With any slack: programs outside of the run took more than half of the processors, and the
//   generator fell behind its plan.
//
// A slack that was set switches the first two rules off for the invariants that it loosens. It does
// not loosen recovery_limit, nor what `expect` says. So for unrecovered and for `expect`, limits
// hold that do not depend on the slack (crowded_at_any_slack).
//
// Where the harness failed to make or to undo a fault that stops the server, it may have left the
// server broken. Then nothing that depends on time convicts anybody, nor do lost tokens or the end
// state. Vanished tokens and phantoms convict nobody, either, if nobody can tell what data the
// server has.
//
// The probe that measures the slack runs too seldom to see all that a collector waits for: its own
// processor, its backend's, a flush, a new process. The invariant late is judged all the same,
// because the watch tells for each token how long it waited for a processor (processor_wait.c). But
// where time is not judged, late convicts nobody in two cases: nobody sampled who had a processor;
// or the generator fell behind its plan, and some insert was at least as late as the latest token.
#include "check/inside.h"

#include <math.h>

// Returns how many cases of this invariant the scenario's `allow` tolerates. When the harness knows
// which tokens each failover left on the old leader (left_behind), no other token may have
// vanished.
static uint64_t tolerated(const struct result *r, const struct ledger *l, enum metric_id id)
{
    uint64_t most = scenario_tolerates(l->scenario, metrics[id].name);
    uint64_t left = (uint64_t)r->values[METRIC_LEFT_BEHIND];
    return id == METRIC_VANISHED && left < most && check_failovers_known(l) ? left : most;
}

// --- doubts --------------------------------------------------------------------

// True when a token came for the first time between from_ns and the drain's end.
static bool new_tokens_came(const struct ledger *l, int64_t from_ns)
{
    for (uint32_t t = 0; t < l->plan->token_count; t++) {
        int64_t read_ns = ledger_read_ns(l, t);
        if (read_ns >= from_ns && read_ns <= l->drain_end_ns)
            return true;
    }
    return false;
}

// True when the missing tokens may still have been on their way: the drain used all its time, and
// near its end full lines arrived, or as many tokens as the budget allows. A subject that promises
// no limit has no full lines; for such a subject it is enough that new tokens came. A drain that
// did not use all its time had nothing left to wait for.
static bool still_draining(const struct result *r, const struct ledger *l)
{
    int64_t took_ns = l->drain_end_ns - l->load_end_ns;
    // How far apart two lines may be while the subject still works: a second, or a longer slack. At
    // most the second half of the drain counts, because the last tokens of the load may come in the
    // first.
    int64_t apart_ns = clock_min(clock_max(r->slack_ns, NS_PER_S), took_ns / 2);
    bool full_lines = false;
    uint64_t tokens = 0;
    struct leased m;

    if (took_ns < l->scenario->drain_ns || r->findings[METRIC_LOST].count == 0)
        return false;
    if (!(l->scenario->collector.promises & PROMISE_LIMIT))
        return new_tokens_came(l, l->drain_end_ns - apart_ns);
    // A subject that still works writes a line within two batch timeouts and apart_ns. Full lines
    // during the load say nothing about the drain.
    int64_t last_ns = 2 * l->scenario->collector.batch_timeout_ns + apart_ns;
    int64_t from_ns = clock_max(l->drain_end_ns - last_ns, l->load_end_ns);
    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        if (line->state != LINE_WHOLE || line->read_ns <= from_ns ||
            line->read_ns > l->drain_end_ns)
            continue;
        tokens += line->tokens;
        full_lines = full_lines || check_is_full(l, line);
    }
    leased_read(&m, l->scenario);
    bool spent = check_is_budget_spent(m.budget_per_s, tokens, l->drain_end_ns - from_ns);
    return full_lines || spent;
}

static bool has_fault_for_rest(const struct ledger *l)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        if (l->faults[i].spec->for_ns == FOR_REST && l->faults[i].ok)
            return true;
    }
    return false;
}

// True when the plan itself ended the last collector: a fault asked it to end or killed it, and
// `collector.restart: false` or a fault with `for: rest` kept it down. Then the harness gives the
// subject up, and nobody is to blame for the tokens that remain.
static bool ended_by_plan(const struct ledger *l, const struct check_input *in)
{
    const struct process_record *last = NULL;

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        if (p->ended_ns >= l->drain_end_ns)
            return false;
        last = last && last->ended_ns > p->ended_ns ? last : p;
    }
    return in->gave_up && (!l->scenario->collector.restart || has_fault_for_rest(l)) && last &&
           last->asked;
}

// True when a disk was slow during this fault. The server's recovery flushes each file, so a slow
// disk explains why the server was not ready in the time that the harness waits for it.
static bool was_disk_slow(const struct ledger *l, const struct fault_record *fault)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns && f->spec->verb->id == VERB_SLOW_DISK && f->began_ns <= fault->ended_ns &&
            f->ended_ns >= fault->began_ns)
            return true;
    }
    return false;
}

// True when the disk may hold all data after this fault, even if the server does not start. A
// server that does not start after a power cut has lost data, unless a slow disk explains it.
static bool may_keep_data(const struct ledger *l, const struct fault_record *f)
{
    return f->spec->verb->loses != LOSES_UNFLUSHED || was_disk_slow(l, f);
}

// True when a fault that stops the server failed, at its beginning or at its end. Then the harness
// may have left the server broken, and no collector can work with it. `unread`: count only faults
// after which the disk may hold all data, though nobody can read them.
static bool left_server_broken(const struct ledger *l, bool unread)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        bool failed = f->began_ns && !f->ok && !f->left_out && verb_stops_server(f->spec->verb);
        if (failed && (!unread || may_keep_data(l, f)))
            return true;
    }
    return false;
}

// The limits of the three rules at the head of this file. others_most and starved_most count only
// with a measured slack, others_while_lagging only if our own generator fell behind its plan. For
// what no slack loosens, others_most counts with any slack.
static const double others_most = 0.8, others_while_lagging = 0.5, starved_most = 0.5;

// True when other programs used so much of the processors that no verdict may rest on time.
static bool crowded_out(
    const struct result *r, const struct ledger *l, const struct check_input *in)
{
    bool measured = l->scenario->slack_ns == SLACK_AUTO;

    return (measured && in->others_share > others_most) ||
           (measured && check_load_starved(l) > starved_most) ||
           (in->others_share > others_while_lagging && check_generator_lags(r, l->scenario));
}

// True when other programs used too much of the processors for a verdict on what no slack loosens.
static bool crowded_at_any_slack(const struct result *r, const struct check_input *in)
{
    return in->others_share > others_most ||
           (in->others_share > others_while_lagging && check_generator_lags_unforgiven(r));
}

// True when other programs may explain each late token: nobody sampled who had a processor, or the
// generator fell behind its plan by at least as much as the latest token was late. Otherwise it is
// known for each token how long its collector and its backend waited for a processor.
static bool lateness_explained(const struct result *r, const struct ledger *l)
{
    return isnan(check_load_starved(l)) || (check_generator_lags(r, l->scenario) &&
                                               r->latest_ns <= histogram_percentile(&r->lag, 100));
}

// True when the invariant is for this subject and promised, and the run had what it needs: some
// invariants need a feature that only some runs have.
static bool is_looked_for(const struct result *r, const struct scenario *s, enum metric_id id)
{
    bool rare = metrics[id].traits & TRAIT_RARE;

    return check_promised(s, id) && (!rare || r->judged[id].of > 0);
}

// The reasons why some invariants of a run cannot be judged; doubted() says which.
struct doubts {
    bool draining;             // tokens may still have been on their way
    bool nobody_left;          // the plan ended the last collector
    bool crowded_out;          // other programs used too much of the processors to judge time
    bool crowded_at_any_slack; // so much that even what no slack loosens is not judged
    bool lateness_explained;   // other programs may explain each late token
    bool server_broken; // the harness failed to make or to undo a fault that stops the server
    bool server_unread; // the server is broken, and nobody can tell what data it has
};

// True when one of the doubts forbids that this invariant convicts.
static bool doubted(const struct doubts *d, enum metric_id id)
{
    unsigned traits = metrics[id].traits;

    return (d->draining && id == METRIC_LOST) || (d->nobody_left && (traits & TRAIT_COLLECTOR)) ||
           (d->server_broken && (traits & (TRAIT_COLLECTOR | TRAIT_TIME))) ||
           (d->server_unread && (id == METRIC_VANISHED || id == METRIC_PHANTOM)) ||
           (d->crowded_at_any_slack && id == METRIC_UNRECOVERED) ||
           (d->crowded_out && (traits & TRAIT_TIME) &&
               (id != METRIC_LATE || d->lateness_explained));
}

// Judges each invariant. Returns whether one is broken.
static bool judge_invariants(struct result *r, const struct ledger *l, const struct doubts *d)
{
    bool any = false;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        // An invariant that is not promised or not looked for keeps the value NAN.
        if (!metrics[id].invariant || !is_looked_for(r, l->scenario, id))
            continue;
        r->values[id] = (double)r->findings[id].count;
        bool seems_broken = r->findings[id].count > tolerated(r, l, id);
        r->doubted[id] = seems_broken && doubted(d, id);
        r->broken[id] = seems_broken && !r->doubted[id];
        // NAN shows that the invariant was not judged, which a 0 would hide.
        if (d->nobody_left && (metrics[id].traits & TRAIT_COLLECTOR))
            r->values[id] = NAN;
        any = any || r->broken[id];
    }
    return any;
}

// --- expectations --------------------------------------------------------------

// Compares a value with what is wanted; `how` is an operator such as "<=". NAN never holds.
static bool meets_wish(double got, const char *how, double want)
{
    if (isnan(got))
        return false;
    switch (how[0]) {
    case '<':
        return how[1] == '=' ? got <= want : got < want;
    case '>':
        return how[1] == '=' ? got >= want : got > want;
    case '!':
        return got < want || got > want;
    default:
        return got >= want && got <= want;
    }
}

// True when the figure is a count that may be too small only because faults were left out.
static bool lacks_faults(
    const struct ledger *l, const struct expectation *x, enum metric_id id, double got)
{
    size_t left_out = 0;

    for (size_t i = 0; i < l->fault_count; i++)
        left_out += l->faults[i].left_out != LEFT_OUT_NOT;
    return (id == METRIC_COLLECTOR_DEATHS || id == METRIC_COLLECTOR_RECONNECTS) &&
           meets_wish(got + (double)left_out, x->comparison, x->value);
}

// True when the machine may explain why a figure is not as expected:
// - The generator's lag says nothing of the subject. Nor does any figure when the generator did not
//   send the whole load.
// - A figure that depends on time is spoiled where other programs used too much of the processors
//   or the harness may have left the server broken. It is also spoiled where the generator fell
//   behind and the figure would be as expected without the generator's lag, or nobody can tell. The
//   run's own load is no excuse: how much a subject bears is what such a figure is for.
static bool spoiled(const struct result *r, const struct ledger *l, const struct check_input *in,
    const struct doubts *d, const struct expectation *x)
{
    const struct metric *m = metric_find(x->metric);
    bool lags = check_generator_lags_unforgiven(r);

    if (m->id == METRIC_GENERATOR_LAG_P99_MS || r->values[METRIC_GENERATOR_DROPPED] > 0)
        return true;
    if (!(m->traits & TRAIT_TIME))
        return false;
    if (d->server_broken || d->crowded_at_any_slack)
        return true;
    double without = check_less_lag(r, l, in, m->id);
    return lags && (isnan(without) || meets_wish(without, x->comparison, x->value));
}

// A broken expectation about a count makes the run violated, as a broken invariant does, unless the
// count is in doubt. A broken expectation about a time or a rate makes the run missed.
static void judge_expectations(struct result *r, const struct ledger *l,
    const struct check_input *in, const struct doubts *d, bool *violated, bool *missed)
{
    const struct scenario *s = l->scenario;
    char text[64];

    for (size_t i = 0; i < s->expect_count; i++) {
        const struct metric *m = metric_find(s->expect[i].metric);
        r->holds[i] = meets_wish(r->values[m->id], s->expect[i].comparison, s->expect[i].value);
        if (r->holds[i])
            continue;
        if (isnan(r->values[m->id]))
            result_reason(
                r, "%s was not measured, so '%s' cannot be judged", m->name, s->expect[i].want);
        else if (lacks_faults(l, &s->expect[i], m->id, r->values[m->id]))
            result_reason(r, "%s is %.0f, but faults were left out, so '%s' cannot be judged",
                m->name, r->values[m->id], s->expect[i].want);
        else if (m->invariant && !doubted(d, m->id))
            *violated = true;
        // add_reasons has told of this doubt. If `allow` tolerates so many cases, it has not, and
        // the next branch does.
        else if (m->invariant && r->doubted[m->id])
            continue;
        else if (m->invariant)
            result_reason(r,
                "%s is %.0f, but the machine or the harness may explain that, so '%s' cannot be "
                "judged",
                m->name, r->values[m->id], s->expect[i].want);
        else if (spoiled(r, l, in, d, &s->expect[i]))
            result_reason(r,
                "%s is %s, but the machine may explain that (generator's lag p99 %.0f ms; other "
                "programs used %.0f%% of the processors), so '%s' cannot be judged; repeat it when "
                "idle",
                m->name, metric_text(m->id, r->values[m->id], text, sizeof text),
                r->values[METRIC_GENERATOR_LAG_P99_MS], 100 * in->others_share, s->expect[i].want);
        // A count is a fact, whereas a time or a rate is only a target.
        else
            *(m->unit == UNIT_COUNT ? violated : missed) = true;
    }
}

// --- reasons -------------------------------------------------------------------

// Adds a reason for each fault of the scenario that could not strike at any of its times. A
// repeated fault may be unable at some of them.
static void add_faults_that_never_struck(struct result *r, const struct ledger *l)
{
    const struct scenario *s = l->scenario;

    for (size_t i = 0; i < s->fault_count; i++) {
        size_t planned = 0, left_out = 0;
        for (size_t k = 0; k < l->fault_count; k++) {
            planned += l->faults[k].spec == &s->faults[i];
            left_out += l->faults[k].spec == &s->faults[i] &&
                        l->faults[k].left_out == LEFT_OUT_CANNOT_STRIKE;
        }
        if (left_out > 0 && left_out == planned)
            result_reason(r, "%s could not strike at any of its %zu %s", s->faults[i].verb->name,
                planned, NOUN(planned, "time", "times"));
    }
}

// Adds a reason if faults failed that were not left out. One that never began failed, too, unless
// the run ended early: then its time may not have come.
static void add_failed_faults(struct result *r, const struct ledger *l, bool ended_early)
{
    const struct fault_record *bad = NULL;
    size_t failed = 0;

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->left_out || (f->began_ns ? f->ok : ended_early))
            continue;
        bad = bad ? bad : f;
        failed++;
    }
    if (failed)
        result_reason(r,
            "%zu of %zu faults did not take effect; the first, %s planned for %.3f s: %s", failed,
            l->fault_count, bad->spec->verb->name, ledger_seconds(l, bad->planned_ns),
            bad->began_ns ? bad->evidence : "never begun");
}

// Adds a reason for each invariant of time that would have convicted the collector if other
// programs had not used too much of the processors.
static void add_doubted_counts(
    struct result *r, const struct ledger *l, const struct check_input *in, const struct doubts *d)
{
    double starved = check_load_starved(l);

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (metrics[id].invariant && (metrics[id].traits & TRAIT_TIME) && doubted(d, id) &&
            is_looked_for(r, l->scenario, id) && r->findings[id].count > tolerated(r, l, id))
            result_reason(r,
                "cannot judge %s (%llu): the machine was too busy (other programs used %.0f%% of "
                "the processors; the load's backends waited %.0f%% of their time for one); repeat "
                "it when idle, or allow more, such as --set slack=500ms",
                metrics[id].name, (unsigned long long)r->findings[id].count, 100 * in->others_share,
                isnan(starved) ? 0 : 100 * starved);
    }
}

// Adds the reasons why the run is inconclusive, except those of `expect` (judge_expectations) and
// of processes that ended late (check_exits).
static void add_reasons(
    struct result *r, const struct ledger *l, const struct check_input *in, const struct doubts *d)
{
    if (in->interrupted)
        result_reason(r, "interrupted at %.1f s of %.1f s: load and faults ended there",
            ledger_seconds(l, l->load_end_ns), (double)l->plan->end_ns / NS_PER_S);
    if (!check_ended_early(in))
        add_faults_that_never_struck(r, l);
    add_failed_faults(r, l, check_ended_early(in));
    if (r->values[METRIC_EXPECTED] <= 0 && r->values[METRIC_UNDELIVERABLE] <= 0)
        result_reason(r, "the history is empty: no committed token had to be delivered");
    // Without the server's log, `sessions` is NULL.
    if (l->sessions && l->session_count == 0 && r->values[METRIC_DELIVERED] <= 0)
        result_reason(r, "the collector never opened a session; logs/collector-0.log may say why");
    check_gates(r, l, in);
    check_judged(r, l->scenario);
    if (in->load->refused > 0)
        result_reason(r, "the server refused %zu %s: %s", in->load->refused,
            NOUN(in->load->refused, "transaction", "transactions"), in->load->refusal);
    if (r->values[METRIC_PENDING] > 0)
        result_reason(r,
            "the run ended too soon: tokens still to be tried again: %.0f; set a longer drain, "
            "such as --set drain=%.0fs",
            r->values[METRIC_PENDING], 2 * ceil((double)l->scenario->drain_ns / NS_PER_S));
    if (d->crowded_out || d->crowded_at_any_slack)
        add_doubted_counts(r, l, in, d);
    if (d->nobody_left)
        result_reason(r, "the plan ended the last collector, so lost, unrecovered and end_state "
                         "cannot be judged");
    if (d->draining)
        result_reason(r,
            "the run ended too soon: full lines still came when the drain ended; tokens missing: "
            "%llu; set a longer drain, such as --set drain=%.0fs",
            (unsigned long long)r->findings[METRIC_LOST].count,
            2 * ceil((double)l->scenario->drain_ns / NS_PER_S));
}

// --- the verdict ---------------------------------------------------------------

void check_verdict(struct result *r, const struct ledger *l, const struct check_input *in)
{
    bool missed = false;
    const struct doubts doubts = {.draining = still_draining(r, l),
        .nobody_left = ended_by_plan(l, in),
        .crowded_out = crowded_out(r, l, in),
        .crowded_at_any_slack = crowded_at_any_slack(r, in),
        .lateness_explained = lateness_explained(r, l),
        .server_broken = left_server_broken(l, false),
        .server_unread = left_server_broken(l, true)};
    bool violated = judge_invariants(r, l, &doubts);

    add_reasons(r, l, in, &doubts);
    judge_expectations(r, l, in, &doubts, &violated, &missed);
    // A collector that cannot be kept running is to blame for that itself.
    violated = violated || (in->gave_up && !doubts.nobody_left && !doubts.server_broken);
    r->verdict = violated          ? VERDICT_VIOLATED
                 : r->reason_count ? VERDICT_INCONCLUSIVE
                 : missed          ? VERDICT_MISSED
                                   : VERDICT_PASS;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"pass", "violated", "inconclusive", "missed"};

    return names[verdict];
}

bool verdict_find(const char *name, enum verdict *verdict)
{
    for (enum verdict v = VERDICT_PASS; name && v <= VERDICT_MISSED; v++) {
        if (strcmp(verdict_name(v), name) == 0) {
            *verdict = v;
            return true;
        }
    }
    return false;
}

int verdict_exit_code(enum verdict verdict)
{
    return (int)verdict;
}
