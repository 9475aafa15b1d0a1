// Until the timeline alone judges, each question about excused time has two answers.
#include "check/inside.h"

struct fault_free check_free(const struct check *c, int instance, int64_t from_ns, int64_t until_ns)
{
    if (!c->in->by_timeline)
        return outages_free(&c->outages, instance, from_ns, until_ns);
    struct free_time free = timeline_free(&c->timeline, instance, from_ns, until_ns);
    return (struct fault_free){.ns = free.ns, .cause = free.cause};
}

int64_t check_due_ns(const struct check *c, int instance, int64_t from_ns, int64_t need_ns)
{
    return c->in->by_timeline ? timeline_due_ns(&c->timeline, instance, from_ns, need_ns)
                              : outages_due_ns(&c->outages, instance, from_ns, need_ns);
}

struct cause check_hit(const struct check *c, int instance, int64_t from_ns, int64_t until_ns)
{
    return c->in->by_timeline ? timeline_cause(&c->timeline, instance, from_ns, until_ns)
                              : outages_hit(&c->outages, instance, from_ns, until_ns);
}

bool check_outage_lasts(const struct check *c, int64_t at_ns)
{
    return c->in->by_timeline ? timeline_lasts(&c->timeline, at_ns)
                              : outages_last(&c->outages, at_ns);
}
