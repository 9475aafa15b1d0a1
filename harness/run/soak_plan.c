#include "run/soak_plan.h"

#include <malloc.h>

#include "run/cuts/cuts.h"
#include "scenario/units.h"

// Returns an option that was given and does not go with --soak, or NULL. These options need runs
// that end, but the segments of a soak go on into one another.
static const char *other_option(const struct options *o)
{
    return cuts_tried(o) || o->run.every_flush ? "--every-..."
           : o->shard.of                       ? "--shard"
           : o->repeat > 1                     ? "--repeat"
           : o->run.retries                    ? "--retry-inconclusive"
           : o->run.workers                    ? "--workers"
           : o->run.keep                       ? "--keep"
                                               : NULL;
}

static bool has_backlog(const struct scenario *s)
{
    for (size_t i = 0; i < s->load_count; i++) {
        if (s->load[i].backlog > 0)
            return true;
    }
    return false;
}

static bool uses_for_rest(const struct scenario *s)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].for_ns == FOR_REST)
            return true;
    }
    return false;
}

// Returns what the scenario has that does not go with --soak; NULL: nothing. All collectors must
// run on into the next segment, or be started again.
static const char *unsoakable_part(const struct scenario *s)
{
    return scenario_is_queue(s)    ? "a queue of another kind"
           : has_backlog(s)        ? "a backlog, because its collector runs already"
           : uses_for_rest(s)      ? "a fault with `for: rest`"
           : !s->collector.restart ? "collector.restart: false"
                                   : NULL;
}

// Returns how long the load goes on after the end of the last fault; INT64_MAX without faults. The
// collector must recover in this time, so that the faults of a segment do not disturb the next one.
static int64_t calm_ns(const struct plan *p)
{
    int64_t last_ns = 0;

    for (size_t i = 0; i < p->fault_count; i++)
        last_ns = clock_max(last_ns, p->faults[i].end_ns);
    return p->fault_count > 0 ? p->end_ns - last_ns : INT64_MAX;
}

// Checks the scenario's plan: its number of tokens, and the time after its last fault.
static bool check_soak_plan(const struct scenario *s, const struct plan *p, struct err *e)
{
    struct buf limit FREED_BY(buf_fini) = BUF_INIT(40);

    if (p->token_count > SOAK_PLAN_TOKENS_MAX)
        return err_set(e, ERR_USAGE,
            "--soak: %s has %zu tokens, and a segment may have up to %u; make its load shorter, "
            "such as --set load.0.for=4m",
            s->name, p->token_count, SOAK_PLAN_TOKENS_MAX);
    if (calm_ns(p) >= s->recovery_limit_ns)
        return true;
    units_print_duration(&limit, s->recovery_limit_ns);
    err_set(e, ERR_USAGE,
        "--soak: the last fault of %s ends with its load, and a segment must not feel those of the "
        "one before; let the load go on for recovery_limit (%s) behind it",
        s->name, buf_str(&limit) ? limit.data : "?");
    return false;
}

// Keeps a soak's memory from growing, with two settings of the allocator.
// M_MMAP_THRESHOLD: an array of this size or more has pages of its own, which go back to the system
// when it is freed. By default the allocator raises this size to that of the largest array that was
// freed. Then a segment's arrays lie in the heaps of its threads, which are not given back. Each
// segment has new threads, so one heap after another grows, by 40 MiB in an hour.
// M_ARENA_MAX: smaller arrays leave holes in a heap. One heap stops growing after two segments; the
// usual eight heaps for each processor only after 20.
static void limit_heaps(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    mallopt(M_ARENA_MAX, 1);
}

bool soak_plan_begin(struct soak_plan *k, const struct scenario *scenarios, size_t count,
    const struct options *o, int *segments, struct err *e)
{
    const struct scenario *s = &scenarios[0];
    struct plan plan FREED_BY(plan_fini) = {0};
    int64_t soak_ns;

    if (!o->run.soak)
        return true;
    if (!units_duration(o->run.soak, &soak_ns, e) || soak_ns <= 0)
        return err_set(e, ERR_USAGE, "--soak takes a time such as 6h, not '%.40s'", o->run.soak);
    if (other_option(o))
        return err_set(e, ERR_USAGE, "--soak does not go with %s", other_option(o));
    if (count != 1)
        return err_set(e, ERR_USAGE, "--soak takes one scenario, not %zu", count);
    if (unsoakable_part(s))
        return err_set(e, ERR_USAGE, "%s: --soak does not go with %s", s->name, unsoakable_part(s));
    if (!plan_make(&plan, s, e) || !check_soak_plan(s, &plan, e))
        return false;
    // Rounded up: a soak lasts at least as long as was asked for, and all of its segments are
    // whole.
    int64_t number = (soak_ns + plan.end_ns - 1) / plan.end_ns;
    if (number > SOAK_PLAN_SEGMENTS_MAX)
        return err_set(e, ERR_USAGE,
            "--soak: %s would take %lld segments, and there may be up to %d; make its load longer",
            s->name, (long long)number, SOAK_PLAN_SEGMENTS_MAX);
    limit_heaps();
    k->seed = s->seed;
    k->segments = (uint64_t)number;
    k->scenarios[0] = k->scenarios[1] = *s;
    *segments = (int)number;
    return true;
}

const struct scenario *soak_plan_segment(
    struct soak_plan *k, uint64_t number, struct segment *segment)
{
    // A run needs its own scenario and that of the segment after it, so two copies take turns.
    struct scenario *present = &k->scenarios[number % 2], *next = &k->scenarios[(number + 1) % 2];

    present->seed = k->seed + number;
    next->seed = present->seed + 1;
    *segment = (struct segment){.number = (uint32_t)number,
        .next = number + 1 < k->segments ? next : NULL,
        .handover = &k->handover};
    return present;
}

void soak_plan_end(struct soak_plan *k)
{
    run_end(k->handover);
    k->handover = NULL;
}
