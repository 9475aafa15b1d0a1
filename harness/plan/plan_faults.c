#include "plan/plan.h"

#include "plan/rng.h"

// The first number of the faults' random streams (see plan.c), above those of all phases. Each
// fault of the scenario has one stream.
#define FAULT_STREAMS (1u << 20)

// Room for the faults that last at one moment: one for each thing that a fault takes (see THING_ in
// scenario/verbs.h). Nine of them are there once, and three, the collector, its reader and its
// sender, for each instance.
#define LASTING_MAX (9 + 3 * INSTANCES_MAX)

static void leave_out_collisions(struct plan *p, const struct scenario *s);

// Returns how often a fault comes: once, or at at_ns and then every every_ns up to until_ns.
static size_t count_occurrences(const struct fault_spec *f)
{
    return f->every_ns == 0 ? 1 : (size_t)((f->until_ns - f->at_ns) / f->every_ns) + 1;
}

// Sorts by time. Faults at the same moment keep the order of the file.
static int compare_planned_faults(const void *a, const void *b)
{
    const struct plan_fault *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->spec < y->spec ? -1 : x->spec > y->spec;
}

// Returns when the fault comes for the n-th time, counted from 0. Jitter never moves a repetition
// past `until`. For verbs with PARAM_JITTER the jitter does not move the fault, but delays bytes.
static int64_t fault_at_ns(const struct fault_spec *f, size_t n, struct rng *rng)
{
    int64_t at_ns = f->at_ns + (int64_t)n * f->every_ns;
    bool jitters = f->every_ns > 0 && f->jitter_ns > 0 && !(f->verb->params & PARAM_JITTER);

    if (jitters)
        at_ns += (int64_t)rng_below(rng, (uint64_t)(f->jitter_ns / NS_PER_US) + 1) * NS_PER_US;
    return jitters ? clock_min(at_ns, f->until_ns) : at_ns;
}

// Adds an entry for each time that the fault comes, and moves the plan's end to the end of the last
// one if that is later.
static void add_occurrences(struct plan *p, const struct scenario *s, uint32_t spec)
{
    const struct fault_spec *f = &s->faults[spec];
    struct rng rng;

    rng_init(&rng, s->seed, FAULT_STREAMS + spec);
    for (size_t n = 0; n < count_occurrences(f); n++) {
        int64_t at_ns = fault_at_ns(f, n, &rng), end_ns = at_ns + plan_lasts_ns(f);
        p->faults[p->fault_count++] =
            (struct plan_fault){.at_ns = at_ns, .end_ns = end_ns, .spec = spec};
        p->end_ns = clock_max(p->end_ns, end_ns);
    }
}

bool plan_add_faults(struct plan *p, const struct scenario *s, struct err *e)
{
    size_t count = 0;

    for (size_t i = 0; i < s->fault_count; i++) {
        count += count_occurrences(&s->faults[i]);
        if (count > PLAN_FAULTS_MAX)
            return err_set(e, ERR_USAGE,
                "the scenario comes to more than %u faults, the most that a plan holds",
                PLAN_FAULTS_MAX);
    }
    p->faults = memory_zeroed(count, sizeof *p->faults);
    for (size_t i = 0; i < s->fault_count; i++)
        add_occurrences(p, s, (uint32_t)i);
    // Of two faults that collide, the later one is left out, so they must be sorted first.
    qsort(p->faults, p->fault_count, sizeof *p->faults, compare_planned_faults);
    leave_out_collisions(p, s);
    return true;
}

int64_t plan_lasts_ns(const struct fault_spec *f)
{
    return f->for_ns == FOR_REST ? 0 : f->for_ns;
}

static bool meet_at_instance(const struct fault_spec *a, const struct fault_spec *b)
{
    return a->instance < 0 || b->instance < 0 || a->instance == b->instance; // -1: all instances
}

// Returns the things that a fault takes, as bits. A fault of one direction does not take the other.
static unsigned taken_by(const struct fault_spec *f)
{
    const unsigned ways = THING_TO_SERVER | THING_TO_COLLECTOR;
    unsigned other_way = f->direction == TO_SERVER ? THING_TO_COLLECTOR : THING_TO_SERVER;
    bool one_way = (f->verb->takes & ways) && (f->verb->params & PARAM_DIRECTION);

    return one_way ? f->verb->takes & ~other_way : f->verb->takes;
}

bool plan_collide(const struct fault_spec *a, const struct fault_spec *b)
{
    const unsigned of_instance = THING_COLLECTOR | THING_READER | THING_SENDER;
    unsigned both = taken_by(a) & (taken_by(b) | b->verb->wants);

    return both & of_instance ? meet_at_instance(a, b) : both != 0;
}

// True when a fault lasts and takes a thing for itself, so that it would collide with a fault like
// itself. Only such faults need to be kept for the faults after them.
static bool can_collide_later(const struct scenario *s, const struct plan_fault *f)
{
    const struct fault_spec *spec = &s->faults[f->spec];

    return plan_collide(spec, spec) && f->end_ns > f->at_ns;
}

// Marks (`busy`) each fault that collides with an earlier one that still lasts. A marked fault does
// not take place, so no later fault collides with it.
static void leave_out_collisions(struct plan *p, const struct scenario *s)
{
    // The faults that still last and can collide. No two of them take the same thing, so they are
    // few.
    const struct plan_fault *lasting[LASTING_MAX];
    size_t count = 0;

    for (size_t i = 0; i < p->fault_count; i++) {
        struct plan_fault *f = &p->faults[i];
        size_t kept = 0;
        for (size_t j = 0; j < count; j++) {
            if (lasting[j]->end_ns <= f->at_ns)
                continue;
            lasting[kept++] = lasting[j];
            if (plan_collide(&s->faults[lasting[j]->spec], &s->faults[f->spec]))
                f->busy = (uint32_t)(lasting[j] - p->faults) + 1; // its index plus 1; 0: none
        }
        count = kept;
        if (!f->busy && can_collide_later(s, f)) {
            assert(count < LASTING_MAX);
            lasting[count++] = f;
        }
    }
}
