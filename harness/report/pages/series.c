#include "report/pages/series.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "check/stages.h"
#include "measure/histogram.h"

#define POINTS 250

static const int64_t step_min_ns = 100 * NS_PER_MS;
static const int64_t highest_ns = 60 * NS_PER_S;

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
        // Nobody asked for it: the phase had ended.
        if (l->txns[i].outcome == TXN_NOT_NEEDED)
            continue;
        point_at(s, l, l->start_ns + txn->at_ns)->offered += txn->rows;
        if (l->txns[i].outcome == TXN_COMMITTED)
            point_at(s, l, l->txns[i].ended_ns)->achieved += txn->rows;
    }
}

// The sums over the lines of the present point.
struct gathering {
    struct histogram from_intended, from_commit;
    double stage_ns[SERIES_STAGES];
};

static double series_ms(const struct histogram *h, double percentile)
{
    return h->total ? (double)histogram_percentile(h, percentile) / 1e6 : NAN;
}

static void close_point(struct series_point *p, struct gathering *g)
{
    int64_t measured = g->from_intended.total;

    p->p50_ms = series_ms(&g->from_intended, 50);
    p->p99_ms = series_ms(&g->from_intended, 99);
    p->max_ms = measured ? (double)g->from_intended.max / 1e6 : NAN;
    p->commit_p50_ms = series_ms(&g->from_commit, 50);
    p->commit_p99_ms = series_ms(&g->from_commit, 99);
    for (int i = 0; i < SERIES_STAGES; i++) {
        p->stage_ms[i] = measured ? g->stage_ns[i] / (double)measured / 1e6 : NAN;
        g->stage_ns[i] = 0;
    }
    histogram_clear(&g->from_intended);
    histogram_clear(&g->from_commit);
}

static void add_series_token(
    struct gathering *g, const struct ledger *l, uint32_t token, int64_t read_ns, int64_t fire_ns)
{
    const struct txn_record *txn = ledger_txn(l, token);

    if (txn->outcome == TXN_COMMITTED)
        histogram_record(&g->from_commit, read_ns > txn->ended_ns ? read_ns - txn->ended_ns : 0);
    if (!stages_measurable(l, token))
        return;
    struct stage_times t = stages_of(l, token, fire_ns);
    histogram_record(&g->from_intended, read_ns - ledger_intended_ns(l, token));
    g->stage_ns[STAGE_LAG] += (double)t.lag_ns;
    g->stage_ns[STAGE_INSERT] += (double)t.insert_ns;
    g->stage_ns[STAGE_WAIT] += (double)t.wait_ns;
    g->stage_ns[STAGE_DEQUEUE] += (double)t.dequeue_ns;
}

// Counts the deliveries. The lines are in the order in which they were read, so one set of sums
// serves all points.
static void count_deliveries(struct series *s, const struct ledger *l, struct gathering *g)
{
    struct series_point *current = s->points;
    enum fired_by ignored;

    for (uint32_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        struct series_point *p = point_at(s, l, line->read_ns);
        if (p != current)
            close_point(current, g);
        current = p;
        int64_t fire_ns = stages_fire_ns(l, line, &ignored);
        for (uint32_t k = 0; k < line->tokens; k++) {
            uint32_t token = l->log->deliveries[line->first_delivery + k].token;
            if (token >= l->plan->token_count || l->tokens[token].deliveries == 0 ||
                l->tokens[token].first_line != i)
                continue;
            p->delivered++;
            add_series_token(g, l, token, line->read_ns, fire_ns);
        }
    }
    close_point(current, g);
}

static void sum_backlog(struct series *s)
{
    int64_t backlog = 0;

    for (size_t i = 0; i < s->count; i++) {
        backlog += (int64_t)s->points[i].achieved - (int64_t)s->points[i].delivered;
        // A token may be read before the answer to its COMMIT has come.
        s->points[i].backlog = backlog > 0 ? backlog : 0;
    }
}

bool series_make(struct series *s, const struct ledger *l, struct err *e)
{
    int64_t length_ns = l->drain_end_ns - l->start_ns;
    struct gathering g = {0};

    // If the collector never started, the run ends before its load begins.
    if (length_ns < 0)
        length_ns = 0;
    *s = (struct series){.step_ns = length_ns / POINTS};
    // Below that most points of a short run would have no token.
    if (s->step_ns < step_min_ns)
        s->step_ns = step_min_ns;
    s->count = (size_t)(length_ns / s->step_ns) + 1;
    s->points = calloc(s->count, sizeof *s->points);
    if (!s->points || !histogram_init(&g.from_intended, highest_ns, e) ||
        !histogram_init(&g.from_commit, highest_ns, e)) {
        series_fini(s);
        histogram_fini(&g.from_intended);
        return err_memory(e);
    }
    for (size_t i = 0; i < s->count; i++) {
        struct series_point *p = &s->points[i];
        p->at_ns = (int64_t)i * s->step_ns;
        close_point(p, &g); // a point without any line: all its figures are NAN
    }
    count_commits(s, l);
    count_deliveries(s, l, &g);
    sum_backlog(s);
    histogram_fini(&g.from_intended);
    histogram_fini(&g.from_commit);
    return true;
}

void series_fini(struct series *s)
{
    free(s->points);
    *s = (struct series){0};
}
