#include "tune/model.h"

#include "plan/arrivals.h"
#include "plan/rng.h"

enum { STREAM_ARRIVALS, STREAM_ROWS, STREAM_QUERIES }; // numbers of the streams of random numbers

// The arrivals of the load, whose phases are repeated.
struct arrivals_cycle {
    const struct model *model;
    struct arrivals_source source;
    struct rng rows;
    size_t phase;
    int64_t phase_start_ns;
    int64_t at_ns;   // time of the latest transaction
    int tokens_left; // number of its tokens that next_arrival has not yet returned
};

double model_rate(const struct model *m)
{
    double tokens = 0, seconds = 0;

    for (size_t i = 0; i < m->phase_count; i++) {
        const struct load_phase *p = &m->phases[i];
        double for_s = (double)p->for_ns / NS_PER_S;
        double rows = (p->rows_from + p->rows_to) / 2.0;
        // A rate counts tokens. A trace has no rate: it has a transaction for each of its lines.
        tokens += p->arrivals == ARRIVALS_TRACE ? (double)p->trace_count * rows
                                                : (p->rate_from + p->rate_to) / 2 * for_s;
        seconds += for_s;
    }
    return seconds > 0 ? tokens / seconds : 0;
}

double model_tokens_per_batch(const struct model_result *r)
{
    return r->batches > 0 ? (double)r->tokens / (double)r->batches : 0;
}

static void next_phase(struct arrivals_cycle *a)
{
    a->phase_start_ns += a->model->phases[a->phase].for_ns;
    // After the last phase comes the first one again, so that a model may last longer than the
    // scenario. The random numbers go on where the phase before ended.
    a->phase = (a->phase + 1) % a->model->phase_count;
    arrivals_init(&a->source, &a->model->phases[a->phase], a->source.rng);
}

// Returns when the next token arrives; CLOCK_NEVER when no more tokens arrive.
static int64_t next_arrival(struct arrivals_cycle *a)
{
    int64_t at_ns;

    if (a->tokens_left > 0) {
        a->tokens_left--;
        return a->at_ns;
    }
    while (!arrivals_next(&a->source, &at_ns)) {
        next_phase(a);
        if (a->model->ends && a->phase_start_ns >= a->model->period_ns)
            return CLOCK_NEVER;
    }
    const struct load_phase *p = &a->model->phases[a->phase];
    a->at_ns = a->phase_start_ns + at_ns;
    // All tokens of a transaction arrive at the same time, when it commits. This call returns the
    // first of them, hence - 1.
    a->tokens_left = p->rows_from - 1;
    if (p->rows_to > p->rows_from)
        a->tokens_left +=
            (int)rng_below(&a->rows, (uint64_t)p->rows_to - (uint64_t)p->rows_from + 1);
    return a->at_ns;
}

struct window {
    int64_t *waiting; // owned; when each waiting token arrived
    int count;
    int64_t next_ns;       // when the first token arrives that is not in the window yet
    int64_t written_ns;    // when the last batch was written
    double sender_free_ns; // when the sender has sent all mails so far
};

// Takes the tokens that arrive up to until_ns into the window, as long as there is room.
static void admit_arrivals(
    struct window *w, const struct model *m, struct arrivals_cycle *a, int64_t until_ns)
{
    while (w->count < m->limit && w->next_ns <= until_ns && w->next_ns != CLOCK_NEVER) {
        w->waiting[w->count++] = w->next_ns;
        w->next_ns = next_arrival(a);
    }
}

// Simulates one batch: fills the window, and decides when its line is written. A batch that fired
// after the previous line was written takes the time of a read. Any other takes the time of a turn,
// which includes moving the cursor past the previous line (queries.h).
static void simulate_batch(
    struct window *w, const struct model *m, struct arrivals_cycle *a, struct rng *rng)
{
    // The next token to arrive opens the window.
    int64_t due_ns = w->next_ns + m->timeout_ns;

    w->count = 0;
    admit_arrivals(w, m, a, due_ns);
    int64_t fire_ns = w->count == m->limit ? w->waiting[w->count - 1] : due_ns;
    // Both times are drawn although only one is used, so that later batches get the same random
    // numbers in either case.
    int64_t read_ns = queries_draw(&m->queries->reads, (uint32_t)w->count, rng);
    int64_t turn_ns = queries_draw(&m->queries->turns, (uint32_t)w->count, rng);
    w->written_ns = w->written_ns < fire_ns ? fire_ns + read_ns : w->written_ns + turn_ns;
    // The query that reads the batch sees all that is committed before the query runs.
    admit_arrivals(w, m, a, w->written_ns);
}

// Adds the tokens of the written batch, and their latencies, to the result.
static void count_batch(struct window *w, const struct model *m, struct model_result *r)
{
    for (int i = 0; i < w->count; i++) {
        double sent_ns = (double)w->written_ns;
        // The sender sends one mail after another, and each takes as long as the budget says.
        if (m->budget_per_s > 0) {
            if (w->sender_free_ns > sent_ns)
                sent_ns = w->sender_free_ns;
            w->sender_free_ns = sent_ns + NS_PER_S / m->budget_per_s;
        }
        histogram_record(&r->latency, w->written_ns - w->waiting[i]);
        histogram_record(&r->sent, (int64_t)sent_ns - w->waiting[i]);
    }
    r->tokens += (uint64_t)w->count;
    r->batches++;
}

// Simulates one batch after the other until the period is over.
static void simulate_batches(struct model_result *r, const struct model *m, struct window *w)
{
    struct arrivals_cycle a = {.model = m};
    struct rng arrivals, queries;

    // Arrivals, rows and queries have separate streams of random numbers, so every pair gets the
    // same arrivals, however many queries it makes.
    rng_init(&arrivals, m->seed, STREAM_ARRIVALS);
    rng_init(&a.rows, m->seed, STREAM_ROWS);
    rng_init(&queries, m->seed, STREAM_QUERIES);
    arrivals_init(&a.source, &m->phases[0], arrivals);
    w->written_ns = -1; // no line is written yet, so the first one takes a read
    w->next_ns = next_arrival(&a);
    while (w->next_ns < m->period_ns) {
        simulate_batch(w, m, &a, &queries);
        count_batch(w, m, r);
    }
    r->end_ns = w->written_ns;
}

bool model_run(struct model_result *r, const struct model *m, struct err *e)
{
    double tokens = model_rate(m) * (double)m->period_ns / NS_PER_S;
    struct window w = {0};

    *r = (struct model_result){0};
    // A single token may come to a little less than 1 in floating point.
    if (!(tokens > 1 - 1e-9))
        return err_set(e, ERR_USAGE, "the model has nothing to do: no token arrives in its period");
    if (tokens > MODEL_TOKENS_MAX)
        return err_set(e, ERR_USAGE,
            "the model takes up to %.0f tokens, not %.0f: shorten --period", MODEL_TOKENS_MAX,
            tokens);
    // The timeout is a guess at the highest latency. The histograms grow if it is too low.
    histogram_init(&r->latency, m->timeout_ns);
    histogram_init(&r->sent, m->timeout_ns);
    w.waiting = memory_zeroed((size_t)m->limit, sizeof *w.waiting);
    simulate_batches(r, m, &w);
    free(w.waiting);
    return true;
}

void model_result_fini(struct model_result *r)
{
    histogram_fini(&r->latency);
    histogram_fini(&r->sent);
    *r = (struct model_result){0};
}
