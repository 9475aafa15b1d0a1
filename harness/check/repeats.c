// What explains that a token is delivered again: the server's own losses, and the
// deaths that were planned.
#include "check/check.h"

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

uint64_t check_duplicate_bound(const struct ledger *l)
{
    return planned_deaths(l) * (uint64_t)l->scenario->collector.batch_limit;
}
