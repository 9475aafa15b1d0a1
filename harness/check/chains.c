// Finds since when full lines have followed each other: the subject works as fast as it can.
#include "check/inside.h"

#include <stdlib.h>

#include "check/lookup.h"

// Returns the longest gap between full lines of a collector that works as fast as it can.
static int64_t chain_ns(const struct check *c)
{
    const struct scenario_collector *s = &c->l->scenario->collector;
    int64_t line_ns = s->capacity > 0 ? (int64_t)((double)s->batch_limit / s->capacity * 1e9) : 0;

    return line_ns > c->r->slack_ns ? line_ns : c->r->slack_ns;
}

// A fault or a stall between two full lines does not end their chain.
static bool follows(
    const struct check *c, const struct line_record *before, const struct line_record *line)
{
    int64_t apart_ns = chain_ns(c), gap_ns = line->read_ns - before->read_ns;

    if (!check_is_full(c->l, before))
        return false;
    return gap_ns <= apart_ns ||
           outages_free(&c->outages, -1, before->read_ns, line->read_ns).ns -
                   stall_list_ns(&c->stalls, before->read_ns, line->read_ns) <=
               apart_ns;
}

bool check_chains(struct check *c, struct err *e)
{
    const struct subject_log *log = c->l->log;

    c->busy_since = calloc(log->line_count + 1, sizeof *c->busy_since);
    if (!c->busy_since)
        return err_set(e, ERR_INTERNAL, "out of memory for the chains of lines");
    for (uint32_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        bool chained = i > 0 && follows(c, line - 1, line);
        c->busy_since[i] = chained ? c->busy_since[i - 1] : line->read_ns;
    }
    return true;
}
