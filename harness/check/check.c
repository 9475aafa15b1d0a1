#include "check/inside.h"

#include <math.h>

#include "check/sources/sources.h"

// The judges in their order. Each one adds up its findings and the amount that it judged; the table
// of metrics says which invariants count for the subject.
static void (*const judges[])(const struct check *c) = {
    check_tokens,
    check_lines,
    check_exits,
    check_vitals,
    check_leak,
    check_end_state,
    check_meddles,
    check_litters,
    check_holds,
    check_secrets,
    check_recovery,
    check_repeats,
    check_early,
    check_late,
    check_fill,
    check_behind,
    check_idle_instances,
    check_sequence,
    check_outcomes,
    check_lanes,
};

// Notes for each verb how long its strikes excused the subject after their end, and how long they
// might have. Where another instance must take the place of the struck one, the time until then
// counts if it is shorter.
static void note_excuses(struct result *r, const struct timeline *t)
{
    for (size_t i = 0; i < t->strike_count; i++) {
        const struct strike *k = &t->strikes[i];
        struct excuse *x = &r->excuses[k->verb->id];
        int64_t bound_ns = clock_min(k->bound_ns, k->others_ns);
        int64_t back_ns = clock_min(k->back_ns, k->others_ns);
        x->strikes++;
        if (bound_ns == CLOCK_NEVER) {
            x->to_end = true;
            continue;
        }
        x->most_ns = clock_max(x->most_ns, bound_ns - k->undone_ns);
        x->used_ns = clock_max(x->used_ns, back_ns - k->undone_ns);
    }
}

void check_findings(struct result *r, const struct ledger *l, const struct check_input *in)
{
    struct check c = {.r = r, .l = l, .flush_ns = check_flush_ns(l)};

    leased_read(&c.leased, l->scenario);
    sources_make(&c.timeline, l);
    note_excuses(r, &c.timeline);
    r->slack_ns = check_slack_ns(l, &c.timeline);
    stall_list_make(&c.stalls, l, in->reader_stalls, &c.timeline, r->slack_ns / 2);
    if (l->scenario->collector.promises & PROMISE_WAITS_FOR_WRITERS)
        spans_make(&c.txns, l);
    check_budget(&c);
    check_chains(&c);
    for (size_t i = 0; i < sizeof judges / sizeof *judges; i++)
        judges[i](&c);
    free(c.txns.items);
    free(c.spent);
    free(c.busy_since_ns);
    free(c.overtaken_ns);
    timeline_fini(&c.timeline);
    stall_list_fini(&c.stalls);
}

void check_ledger(struct result *r, const struct ledger *l, const struct check_input *in)
{
    // A larger value makes the histogram grow, so no value is clipped.
    const int64_t highest_ns = 60 * NS_PER_S;

    *r = (struct result){0};
    for (size_t i = 0; i < METRIC_COUNT; i++)
        r->values[i] = NAN;
    r->holds = memory_zeroed(l->scenario->expect_count, sizeof *r->holds);
    r->recovery_ms = memory_zeroed(l->fault_count, sizeof *r->recovery_ms);
    histogram_init(&r->from_intended, highest_ns);
    histogram_init(&r->from_commit, highest_ns);
    histogram_init(&r->lag, highest_ns);
    stages_make(&r->stages, l);
    check_findings(r, l, in);
    check_figures(r, l, in);
    check_verdict(r, l, in);
}

struct check_input check_input_of(const struct history *h)
{
    const struct history_notes *n = &h->notes;

    return (struct check_input){
        .load = &h->load,
        .reconnects = n->reconnects,
        .interrupted = n->interrupted,
        .gave_up = n->gave_up[0] ? n->gave_up : NULL,
        .reader_stalls = &n->reader_stalls,
        .reader_ns = n->reader_ns,
        .cpu_users = n->cpu_users,
        .others_share = n->others_share,
    };
}

void result_fini(struct result *r)
{
    free(r->holds);
    free(r->recovery_ms);
    histogram_fini(&r->from_intended);
    histogram_fini(&r->from_commit);
    histogram_fini(&r->lag);
    stages_fini(&r->stages);
    *r = (struct result){0};
}
