#include "tune/recording.h"

#include <stdlib.h>

#include "base/clock.h"
#include "check/stages.h"

static int by_arrival(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool take_arrivals(struct recording *r, const struct ledger *l, struct err *e)
{
    r->length_ns = l->load_end_ns - l->start_ns;
    r->arrivals_ns = calloc(l->plan->token_count + 1, sizeof *r->arrivals_ns);
    if (!r->arrivals_ns)
        return err_memory(e);
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        const struct txn_record *txn = ledger_txn(l, token);
        if (l->tokens[token].deliveries > 0 && txn->outcome == TXN_COMMITTED)
            r->arrivals_ns[r->count++] = txn->ended_ns - l->start_ns;
    }
    qsort(r->arrivals_ns, r->count, sizeof *r->arrivals_ns, by_arrival);
    return true;
}

static bool record_queries(struct recording *r, const struct ledger *l, struct err *e)
{
    int64_t before_ns = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        enum fired_by why;
        int64_t fire_ns = stages_fire_ns(l, line, &why);
        if (line->state != LINE_WHOLE || fire_ns == CLOCK_NEVER)
            continue;
        // A batch that fired while the line before it was on its way had to wait for that line. Its
        // time counts from there, and is a turn.
        if (fire_ns > before_ns)
            ok = queries_add(&r->queries.reads, line->tokens,
                line->read_ns > fire_ns ? line->read_ns - fire_ns : 0, e);
        else
            ok = queries_add(&r->queries.turns, line->tokens, line->read_ns - before_ns, e);
        before_ns = line->read_ns;
    }
    return ok;
}

bool recording_take(struct recording *r, const struct ledger *l, struct err *e)
{
    *r = (struct recording){0};
    if (l->scenario->collector.instances != 1 || l->plan->fault_count > 0 || !l->log)
        return true;
    return take_arrivals(r, l, e) && record_queries(r, l, e);
}

void recording_fini(struct recording *r)
{
    free(r->arrivals_ns);
    queries_fini(&r->queries);
    *r = (struct recording){0};
}
