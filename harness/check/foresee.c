// Tells from a plan how much of its load will be judged by the clock.
#include "check/bounds.h"
#include "check/check.h"
#include "check/sources/sources.h"

static const int64_t restart_ns = 100 * NS_PER_MS; // until an ended process is started again

// Returns the latest time, from the load's beginning, until which a planned fault may excuse all
// collectors: until the struck ones must be back or, if that is earlier, until others must have
// taken over from one. CLOCK_NEVER: until the run's end.
static int64_t excused_until_ns(const struct scenario *s, const struct plan_fault *f)
{
    const struct fault_spec *spec = &s->faults[f->spec];
    bool hits_one = strike_instance(s, spec) != EVERY;
    bool ends_process = spec->verb->ends == ENDS_PROCESSES;
    int64_t back_ns = bounds_return_ns(s, spec->verb);

    if (ends_process) {
        int64_t starts_ns = restart_ns + scenario_starts_ns(s);
        // A process that starts before the server is back must also have the time to return.
        back_ns = verb_stops_server(spec->verb) ? clock_max(starts_ns, back_ns) : starts_ns;
    }
    // The other instances go on with the shared work, so no time is excused for all.
    if (hits_one && scenario_shares(s))
        return f->at_ns;
    // When another must have taken over; CLOCK_NEVER: none can, because all collectors are struck.
    int64_t handed_ns = hits_one ? f->at_ns + bounds_handover_ns(s, spec->verb) : CLOCK_NEVER;
    // Nobody starts the process again.
    if (spec->for_ns == FOR_REST || (ends_process && !s->collector.restart))
        return handed_ns;
    return clock_min(f->end_ns + back_ns, handed_ns);
}

// Adds up the parts of the load between the faults. The faults are in the order of their times, and
// done_ns is the end of what they have excused so far.
int64_t check_foreseen_ns(const struct scenario *s, const struct plan *plan)
{
    int64_t judged_ns = 0, done_ns = 0;

    for (size_t i = 0; i < plan->fault_count; i++) {
        const struct plan_fault *f = &plan->faults[i];
        if (f->busy || !strike_is_made_by(s, &s->faults[f->spec]))
            continue;
        judged_ns += clock_max(0, clock_min(f->at_ns, plan->load_ns) - done_ns);
        done_ns = clock_max(done_ns, clock_min(excused_until_ns(s, f), plan->load_ns));
    }
    return judged_ns + clock_max(0, plan->load_ns - done_ns);
}
