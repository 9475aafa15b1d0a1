#include "plan/arrivals.h"

#include <math.h>

void arrivals_init(struct arrivals_source *a, const struct load_phase *phase, struct rng rng)
{
    // A phase's rate is in tokens per second, the source's in transactions of so many rows.
    double rows = (phase->rows_from + phase->rows_to) / 2.0;

    *a = (struct arrivals_source){
        .rng = rng,
        .kind = phase->arrivals,
        .from = (phase->closed ? ARRIVALS_CLOSED_PER_S : phase->rate_from) / rows,
        .to = (phase->closed ? ARRIVALS_CLOSED_PER_S : phase->rate_to) / rows,
        .seconds = (double)phase->for_ns / (double)NS_PER_S,
        .phase = phase,
    };
    a->expected = (a->from + a->to) / 2 * a->seconds;
    // Constant arrivals are at 0.5, 1.5, 2.5 and so on in rate time: arrivals_next adds 1 first.
    a->position = a->kind == ARRIVALS_CONSTANT ? -0.5 : 0;
}

// Converts the rate time y into seconds from the phase's start: solves from·t + slope·t²/2 = y for
// t. This form of the solution neither divides by a slope of zero nor subtracts two large numbers.
static double time_of(const struct arrivals_source *a, double y)
{
    double slope = (a->to - a->from) / a->seconds;
    double square = a->from * a->from + 2 * slope * y;

    return 2 * y / (a->from + sqrt(square > 0 ? square : 0));
}

bool arrivals_next(struct arrivals_source *a, int64_t *at_ns)
{
    if (a->kind == ARRIVALS_TRACE) {
        if (a->taken == a->phase->trace_count)
            return false;
        *at_ns = a->phase->trace_ns[a->taken++];
        return true;
    }
    // An insert of a closed loop has no planned time: it is sent when the one before is answered.
    if (a->phase->closed) {
        *at_ns = 0;
        return (double)a->taken++ < a->expected;
    }
    a->position += a->kind == ARRIVALS_CONSTANT ? 1 : rng_exponential(&a->rng);
    if (a->position >= a->expected)
        return false;
    *at_ns = llround(time_of(a, a->position) * (double)NS_PER_S);
    return true;
}
