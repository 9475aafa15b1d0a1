// step-clock: the time of day of the server or of the collectors jumps.
#include "fault/family.h"

#include <math.h>

#include "os/own_clock.h"
#include "postgres/sql.h"

// Returns how far the server's clock is ahead of the machine's, in seconds; NAN: the server could
// not be asked. The query takes a moment, so the result may be wrong by half of that.
static double server_ahead_s(struct fault_context *c, struct err *e)
{
    char server[40];

    if (!fault_admin(c, e))
        return NAN;
    const int64_t before_ns = clock_wall_ns();
    if (!sql_value(
            c->admin, "SELECT extract(epoch FROM clock_timestamp())", server, sizeof server, e))
        return NAN;
    return strtod(server, NULL) - (double)(before_ns + clock_wall_ns()) / 2e9;
}

// Steps the server's clock. The proof is what the server says when it is asked for the time.
static bool step_server(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct own_clock *clock = c->server->provider->clock(c->server, TARGET_SERVER);

    if (!own_clock_step(clock, r->spec->by_ns, e))
        return false;
    double ahead = server_ahead_s(c, e), want = (double)clock->offset_ns / 1e9;
    if (isnan(ahead))
        return false;
    snprintf(r->evidence, sizeof r->evidence, "the server's clock is %+.3f s off", ahead);
    // A clock that did not step misses `want` by the whole step.
    return fabs(ahead - want) < fmin(1, fabs((double)r->spec->by_ns / 1e9) / 2) ||
           err_set(
               e, ERR_SYSTEM, "the server's clock is %+.3f s off, and not %+.3f s", ahead, want);
}

// Steps the collectors' clock, but only if it moves for every process of theirs: on a real machine
// all parts of a program have the same time of day.
static bool step_collectors(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct own_clock *clock = c->server->provider->clock(c->server, TARGET_COLLECTOR);
    pid_t pids[INSTANCES_MAX];
    // Signal 0 touches nobody: it only fetches the pids, here of all instances (-1).
    size_t count = subject_signal(c->subject, -1, 0, pids);

    for (size_t i = 0; i < count; i++) {
        if (own_clock_is_loaded(clock, pids[i]))
            continue;
        r->left_out = LEFT_OUT_CANNOT_STRIKE;
        return err_set(e, ERR_SKIP, "left out: pid %d, or a child of it, did not load libfaketime",
            (int)pids[i]);
    }
    if (count == 0)
        return err_set(e, ERR_SKIP, "no collector was running at that time");
    if (!own_clock_step(clock, r->spec->by_ns, e))
        return false;
    snprintf(r->evidence, sizeof r->evidence, "%zu %s; clock %+.3f s off", count,
        NOUN(count, "collector", "collectors"), (double)clock->offset_ns / 1e9);
    return true;
}

static bool step_clock(struct fault_context *c, struct fault_record *r, struct err *e)
{
    return r->spec->target == TARGET_SERVER ? step_server(c, r, e) : step_collectors(c, r, e);
}

const struct fault_verb fault_clock_verbs[] = {
    {VERB_STEP_CLOCK, .begin = step_clock, .need = NEEDS_CLOCK},
    {0},
};
