#include "fault/scheduler.h"

#include "plan/plan.h"
#include "plan/rng.h"

// Returns when a lasting fault is due to end.
static int64_t due_end_ns(const struct fault_record *r)
{
    // A fault that begins late still lasts as long as its `for`.
    return clock_max(r->began_ns, r->planned_ns) + plan_lasts_ns(r->spec);
}

// True when a fault that stops the server is at work.
static bool server_is_away(const struct fault_record *faults, size_t begun_count)
{
    for (size_t i = 0; i < begun_count; i++) {
        if (verb_stops_server(faults[i].spec->verb) && !faults[i].undone)
            return true;
    }
    return false;
}

struct fault_record *scheduler_next_end(
    struct fault_record *faults, size_t begun_count, int64_t *at_ns)
{
    bool away = server_is_away(faults, begun_count);
    struct fault_record *next = NULL;

    *at_ns = CLOCK_NEVER;
    for (size_t i = 0; i < begun_count; i++) {
        struct fault_record *r = &faults[i];
        // A fault with sessions or a setting to undo (`kept`) cannot do that while the server is
        // away. Of two faults with the same end, the one that was planned first ends first.
        if (r->undone || (away && r->kept) || due_end_ns(r) >= *at_ns)
            continue;
        *at_ns = due_end_ns(r);
        next = r;
    }
    return next;
}

// True when, by the plan, `next` begins at the moment at which r ends.
static bool is_followed_by(const struct fault_record *r, const struct fault_record *next)
{
    int64_t lasts_ns = plan_lasts_ns(r->spec);

    return lasts_ns > 0 && r->planned_ns + lasts_ns == next->planned_ns;
}

int64_t scheduler_begin_ns(const struct fault_record *faults, size_t begun_count)
{
    const struct fault_record *next = &faults[begun_count];
    int64_t at_ns = next->planned_ns;

    for (size_t i = 0; i < begun_count; i++) {
        const struct fault_record *r = &faults[i];
        bool waits = plan_collide(r->spec, next->spec) || is_followed_by(r, next);
        if (!r->undone && waits && due_end_ns(r) > at_ns)
            at_ns = due_end_ns(r);
    }
    return at_ns;
}

// True when the fault may take backends, processes or bytes away from the collector. A fault of the
// database that does not stop the collector's work takes none away.
static bool takes_victims(const struct verb *verb)
{
    return verb->hits != HITS_DATABASE || verb->does == STOPS;
}

int64_t scheduler_victim_deadline_ns(
    const struct fault_record *faults, size_t begun_count, int64_t now_ns, int64_t wait_max_ns)
{
    int64_t until_ns = now_ns + wait_max_ns;

    for (size_t i = 0; i < begun_count; i++) {
        const struct fault_record *f = &faults[i];
        // Fault f may keep the victims away until it ends. Its end cannot be carried out while this
        // fault waits for a victim, so the wait ends when f is due to end.
        if (!f->undone && takes_victims(f->spec->verb) && due_end_ns(f) < until_ns)
            until_ns = clock_max(due_end_ns(f), now_ns);
    }
    return until_ns;
}

int64_t scheduler_strike_ns(const struct fault_record *faults, size_t begun_count,
    const struct fault_record *r, int64_t now_ns, uint64_t seed)
{
    int64_t most_ns = clock_min(r->spec->every_ns, SCHEDULER_VICTIM_WAIT_NS);
    struct rng rng;

    // Each fault has a random stream of its own. Its number is the fault's distance in time from
    // the first fault, because absolute times differ in each run.
    rng_init(&rng, seed, (uint64_t)(r->planned_ns - faults[0].planned_ns));
    int64_t drawn_ns = (int64_t)(rng_uniform(&rng) * (double)most_ns);
    // Like the wait for a victim, this wait must not hold up the end of another fault.
    return scheduler_victim_deadline_ns(faults, begun_count, now_ns, drawn_ns);
}

const struct fault_record *scheduler_culprit(
    const struct fault_record *faults, size_t count, const struct fault_record *r, int64_t felt_ns)
{
    // If there are several, the latest is the most likely one.
    for (size_t i = count; i-- > 0;) {
        const struct fault_record *f = &faults[i];
        // With FOR_REST nothing is to be undone, so the fault counts as undone, and yet lasts.
        bool lasts = !f->undone || f->spec->for_ns == FOR_REST;
        if (f == r || f->left_out || f->began_ns == 0 || !f->ok || !takes_victims(f->spec->verb))
            continue;
        if (lasts || f->ended_ns + felt_ns >= r->sought_ns)
            return f;
    }
    return NULL;
}
