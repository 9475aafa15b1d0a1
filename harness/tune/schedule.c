#include "tune/schedule.h"

#include <math.h>

#include "plan/rng.h"
#include "tune/precision.h"
#include "tune/tune.h"

#define SHUFFLE_STREAM 2000 // stream of random numbers for the order of the runs

// A pair is given up when this many runs of it were made and all were inconclusive, because the
// machine is too busy.
static const size_t inconclusive_max = 10;

// Returns the precision at the latest check, which leaves out later values. To decide anew after
// every run would be wrong more often (precision.h).
static struct precision precision_at_check(const double *values, size_t count)
{
    return precision_of(values, precision_checked(count));
}

// True when `a` certainly has larger batches and a lower p99 than `b`. A few runs are enough to
// tell, because the batch sizes of a pair hardly vary.
static bool certainly_beats(const struct schedule_pair *a, const struct schedule_pair *b)
{
    struct precision a_tokens = precision_at_check(a->tokens, a->count);
    struct precision b_tokens = precision_at_check(b->tokens, b->count);
    struct precision a_p99 = precision_at_check(a->p99, a->count);
    struct precision b_p99 = precision_at_check(b->p99, b->count);

    return a_tokens.low > b_tokens.high && a_p99.high < b_p99.low;
}

// True when a pair certainly misses the objective, because neither end of its interval meets it.
// Objectives with "=" or "!=" are never certainly missed. x NULL: there is no objective.
static bool misses(const struct expectation *x, const struct precision *p)
{
    bool bounded = x && (x->comparison[0] == '<' || x->comparison[0] == '>');

    // low is 0 when the interval is not known.
    return bounded && p->low > 0 && !tune_holds(x, p->low) && !tune_holds(x, p->high);
}

static bool is_beaten(const struct schedule *s, size_t pair)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct schedule_pair *other = &s->pairs[i];
        struct precision interval = precision_at_check(other->values, other->count);
        // A pair that is broken or misses the objective cannot be recommended, so it beats no other
        // pair.
        if (i != pair && !other->broken && !misses(s->objective, &interval) &&
            certainly_beats(other, &s->pairs[pair]))
            return true;
    }
    return false;
}

enum schedule_state schedule_state(const struct schedule *s, size_t pair)
{
    const struct schedule_pair *p = &s->pairs[pair];
    struct precision interval = precision_at_check(p->values, p->count);

    if (p->left_out)
        return SCHEDULE_LEFT_OUT;
    if (p->broken)
        return SCHEDULE_BROKEN;
    // A pair whose runs are all inconclusive would only take time from the other pairs.
    if (p->count == 0 && p->tried >= inconclusive_max)
        return SCHEDULE_GIVEN_UP;
    // After fewer runs than runs_min, the spread of the figures is not known, so nothing is
    // certain.
    if (p->tried < s->runs_min)
        return SCHEDULE_OPEN;
    if (misses(s->objective, &interval))
        return SCHEDULE_MISSES;
    if (is_beaten(s, pair))
        return SCHEDULE_BEATEN;
    if (precision_share(&interval) <= s->precision)
        return SCHEDULE_PRECISE;
    return p->tried >= s->runs_max ? SCHEDULE_GIVEN_UP : SCHEDULE_OPEN;
}

const char *schedule_state_name(enum schedule_state state)
{
    static const char *const names[] = {
        [SCHEDULE_OPEN] = "not precise yet",
        [SCHEDULE_PRECISE] = "precise enough",
        [SCHEDULE_BEATEN] = "beaten for certain",
        [SCHEDULE_MISSES] = "misses the objective for certain",
        [SCHEDULE_BROKEN] = "breaks an invariant",
        [SCHEDULE_LEFT_OUT] = "left out by the model",
        [SCHEDULE_GIVEN_UP] = "given up",
    };

    return names[state];
}

// Writes the open pairs to `order`, shuffled: with `with_runs` those that have conclusive runs,
// otherwise those that have none. Returns their number.
static size_t open_pairs(const struct schedule *s, bool with_runs, struct rng *rng, size_t *order)
{
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (schedule_state(s, i) == SCHEDULE_OPEN && (s->pairs[i].count > 0) == with_runs)
            order[count++] = i;
    }
    for (size_t i = count; i > 1; i--) {
        size_t k = rng_below(rng, i), swap = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
    return count;
}

// Pairs without a conclusive run come first, because the time may be over before the round ends.
// The number of the round changes the seed, so that each round has an order of its own.
size_t schedule_round(const struct schedule *s, uint64_t seed, uint64_t round, size_t *order)
{
    struct rng rng;

    rng_init(&rng, seed + round, SHUFFLE_STREAM);
    size_t unknown = open_pairs(s, false, &rng, order);
    return unknown + open_pairs(s, true, &rng, order + unknown);
}
