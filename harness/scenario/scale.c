// --scale: the same scenario with a shorter or longer load.
#include "scenario/rules.h"

#include <math.h>

#include "scenario/metric.h"

// Scales a time and rounds it to whole milliseconds, at least 1 ms, because 0 means something else.
// A time that is 0 or negative stays.
static int64_t scale_time(int64_t ns, double scale)
{
    if (ns <= 0)
        return ns;
    int64_t ms = llround((double)ns * scale / NS_PER_MS);
    return (ms > 0 ? ms : 1) * NS_PER_MS;
}

// Lowers an expectation of at least so many deaths, sessions or lines for a shorter run, which has
// fewer of them. A longer run need not have more: a fault without `every` comes once in any case.
static void scale_expectation(struct expectation *x, double scale)
{
    const struct metric *m = metric_find(x->metric); // never NULL in a decoded scenario

    if (scale >= 1 || m->invariant || m->unit != UNIT_COUNT || *x->comparison != '>')
        return;
    x->value = floor(x->value * scale);
    free(x->want);
    x->want = memory_format("%s %.0f", x->comparison, x->value);
}

void scale_scenario(struct scenario *s, double scale)
{
    for (size_t i = 0; i < s->load_count; i++) {
        s->load[i].for_ns = scale_time(s->load[i].for_ns, scale);
        s->load[i].backlog = (int)ceil(s->load[i].backlog * scale);
    }
    for (size_t i = 0; i < s->fault_count; i++) {
        struct fault_spec *f = &s->faults[i];
        f->at_ns = scale_time(f->at_ns, scale);
        f->until_ns = scale_time(f->until_ns, scale);
        // No fault gets longer, because it must end before it comes again. FOR_REST is no length.
        if (f->for_ns != FOR_REST)
            f->for_ns = scale_time(f->for_ns, fmin(scale, 1));
    }
    for (size_t i = 0; i < s->expect_count; i++)
        scale_expectation(&s->expect[i], scale);
}
