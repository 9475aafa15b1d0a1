// What explains that a token is delivered again: the server's own losses, planned
// deaths, and sessions whose collector could not come back in time.
#include "check/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static bool loses_data(const struct ledger *l, const struct fault_record *f)
{
    const struct scenario_postgres *postgres = &l->scenario->postgres;
    bool waived = postgres->durability == DURABILITY_WAIVE;

    switch (f->spec->verb->id) {
    case VERB_CRASH_SERVER:
    case VERB_KILL_SERVER:
    case VERB_CUT_POWER:
        return waived;
    case VERB_PROMOTE_STANDBY:
        return waived || postgres->standby == STANDBY_ASYNC;
    default:
        return false;
    }
}

bool check_server_forgot(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns && f->began_ns < until_ns && f->ended_ns > from_ns && loses_data(l, f))
            return true;
    }
    return false;
}

static uint64_t planned_deaths(const struct ledger *l)
{
    uint64_t deaths = 0;

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        deaths += p->asked && p->ended_ns < l->drain_end_ns;
    }
    return deaths;
}

// MAILROOM_GRACE, by the collector's own default and limits.
static int64_t grace_ns(const struct scenario *s)
{
    int64_t grace_ms = 500;

    for (size_t i = 0; i < s->collector.env.count; i++) {
        const struct setting *v = &s->collector.env.items[i];
        long ms = strcmp(v->name, "MAILROOM_GRACE") == 0 ? atol(v->value) : -1;
        if (ms >= 0 && ms <= 86400000)
            grace_ms = ms;
    }
    return grace_ms * NS_PER_MS;
}

static bool ends_sessions(const struct fault_spec *f)
{
    switch (f->verb->id) {
    case VERB_TERMINATE_BACKEND:
        return f->target != TARGET_LOAD;
    case VERB_PARTITION:
    case VERB_HALF_OPEN:
    case VERB_RESET:
    case VERB_CUT_AT:
        return true;
    default:
        return f->verb->stops_server;
    }
}

static bool keeps_away(const struct fault_spec *f)
{
    switch (f->verb->id) {
    case VERB_PAUSE_COLLECTOR:
    case VERB_PARTITION:
    case VERB_HALF_OPEN:
    case VERB_EXHAUST_CONNECTIONS:
        return true;
    default:
        return f->verb->stops_server;
    }
}

// Whether sessions ended while a fault kept collectors away, or so shortly before
// it that they had the grace to come back, and were gone for longer than that.
static bool outlasts_grace(const struct ledger *l, const struct fault_record *away)
{
    int64_t grace = grace_ns(l->scenario);

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns && ends_sessions(f->spec) && f->ended_ns >= away->began_ns - grace &&
            f->began_ns < away->ended_ns - grace)
            return true;
    }
    return false;
}

// Others took over from a collector that came back too late to confirm.
static uint64_t lost_sessions(const struct ledger *l)
{
    uint64_t instances = (uint64_t)l->scenario->collector.instances, lost = 0;

    for (size_t i = 0; instances > 1 && i < l->fault_count; i++) {
        const struct fault_record *away = &l->faults[i];
        bool one = (away->spec->verb->params & PARAM_INSTANCE) && away->spec->instance >= 0;
        if (away->began_ns && keeps_away(away->spec) && outlasts_grace(l, away))
            lost += one ? 1 : instances;
    }
    return lost;
}

uint64_t check_duplicate_bound(const struct ledger *l)
{
    return (planned_deaths(l) + lost_sessions(l)) * (uint64_t)l->scenario->collector.batch_limit;
}
