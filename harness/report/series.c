#include "report/series.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "measure/histogram.h"

#define POINTS 250

static const int64_t step_min_ns = 100 * NS_PER_MS;

static struct series_point *point_at(struct series *s, const struct ledger *l, int64_t ns)
{
    int64_t since_ns = ns - l->start_ns;
    size_t i = since_ns <= 0 ? 0 : (size_t)(since_ns / s->step_ns);

    return &s->points[i < s->count ? i : s->count - 1];
}

static void count_commits(struct series *s, const struct ledger *l)
{
    for (size_t i = 0; i < l->plan->txn_count; i++) {
        const struct plan_txn *txn = &l->plan->txns[i];
        if (l->txns[i].outcome == TXN_NOT_NEEDED)
            continue;
        point_at(s, l, l->start_ns + txn->at_ns)->offered += txn->rows;
        if (l->txns[i].outcome == TXN_COMMITTED)
            point_at(s, l, l->txns[i].ended_ns)->achieved += txn->rows;
    }
}

static void close_point(struct series_point *p, struct histogram *h)
{
    if (h->total == 0)
        return;
    p->p50_ms = (double)histogram_percentile(h, 50) / 1e6;
    p->p99_ms = (double)histogram_percentile(h, 99) / 1e6;
    p->max_ms = (double)h->max / 1e6;
    histogram_clear(h);
}

// Lines are in the order of their reading, so one histogram serves all points.
static void count_deliveries(struct series *s, const struct ledger *l, struct histogram *h)
{
    struct series_point *current = s->points;

    for (uint32_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        struct series_point *p = point_at(s, l, line->read_ns);
        if (p != current)
            close_point(current, h);
        current = p;
        for (uint32_t k = 0; k < line->tokens; k++) {
            uint32_t token = l->log->deliveries[line->first_delivery + k].token;
            if (token >= l->plan->token_count || l->tokens[token].deliveries == 0 ||
                l->tokens[token].first_line != i)
                continue;
            p->delivered++;
            histogram_record(h, line->read_ns - ledger_intended_ns(l, token));
        }
    }
    close_point(current, h);
}

static void sum_backlog(struct series *s)
{
    int64_t backlog = 0;

    for (size_t i = 0; i < s->count; i++) {
        backlog += (int64_t)s->points[i].achieved - (int64_t)s->points[i].delivered;
        s->points[i].backlog = backlog > 0 ? backlog : 0;
    }
}

bool series_make(struct series *s, const struct ledger *l, struct err *e)
{
    int64_t length_ns = l->drain_end_ns - l->start_ns;
    struct histogram h = {0};

    // A collector that never came up ends the run before its load began.
    if (length_ns < 0)
        length_ns = 0;
    *s = (struct series){.step_ns = length_ns / POINTS};
    if (s->step_ns < step_min_ns)
        s->step_ns = step_min_ns;
    s->count = (size_t)(length_ns / s->step_ns) + 1;
    s->points = calloc(s->count, sizeof *s->points);
    if (!s->points || !histogram_init(&h, 60 * NS_PER_S, e)) {
        series_fini(s);
        return err_set(e, ERR_INTERNAL, "out of memory for the report");
    }
    for (size_t i = 0; i < s->count; i++) {
        struct series_point *p = &s->points[i];
        p->at_ns = (int64_t)i * s->step_ns;
        p->p50_ms = p->p99_ms = p->max_ms = NAN;
    }
    count_commits(s, l);
    count_deliveries(s, l, &h);
    sum_backlog(s);
    histogram_fini(&h);
    return true;
}

void series_fini(struct series *s)
{
    free(s->points);
    *s = (struct series){0};
}
