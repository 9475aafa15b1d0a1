#include "fault/agenda.h"

#include "base/clock.h"

static int64_t end_ns(const struct fault_record *r)
{
    int64_t from_ns = r->began_ns > r->planned_ns ? r->began_ns : r->planned_ns;

    return from_ns + r->spec->for_ns;
}

static bool server_is_away(const struct fault_record *faults, size_t begun)
{
    for (size_t i = 0; i < begun; i++) {
        if (faults[i].spec->verb->stops_server && !faults[i].undone)
            return true;
    }
    return false;
}

struct fault_record *agenda_next_end(struct fault_record *faults, size_t begun, int64_t *at_ns)
{
    bool away = server_is_away(faults, begun);
    struct fault_record *next = NULL;

    *at_ns = CLOCK_NEVER;
    for (size_t i = 0; i < begun; i++) {
        struct fault_record *r = &faults[i];
        if (r->undone || (away && r->hold) || end_ns(r) >= *at_ns)
            continue;
        *at_ns = end_ns(r);
        next = r;
    }
    return next;
}

int64_t agenda_begin_ns(const struct fault_record *faults, size_t begun)
{
    const struct fault_record *next = &faults[begun];
    int64_t at_ns = next->planned_ns;

    for (size_t i = 0; i < begun; i++) {
        const struct fault_record *r = &faults[i];
        if (!r->undone && plan_collide(r->spec, next->spec) && end_ns(r) > at_ns)
            at_ns = end_ns(r);
    }
    return at_ns;
}
