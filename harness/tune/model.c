#include "tune/model.h"

#include <stdlib.h>

#include "base/clock.h"
#include "plan/rng.h"

struct arrivals {
    const struct model *model;
    struct rng rng;
    size_t phase;
    double left_ns; // of this phase
    double now_ns;
};

double model_rate(const struct model *m)
{
    double tokens = 0, seconds = 0;

    for (size_t i = 0; i < m->phase_count; i++) {
        double for_s = (double)m->phases[i].for_ns / NS_PER_S;
        tokens += m->phases[i].rate_per_s * for_s;
        seconds += for_s;
    }
    return seconds > 0 ? tokens / seconds : 0;
}

double model_tokens_per_batch(const struct model_result *r)
{
    return r->batches > 0 ? (double)r->tokens / (double)r->batches : 0;
}

// Random arrivals at rate 1, stretched by the rate of the phase they fall in.
static int64_t next_arrival(struct arrivals *a)
{
    double amount = rng_exponential(&a->rng);

    for (;;) {
        const struct model_phase *p = &a->model->phases[a->phase];
        double per_ns = p->rate_per_s / NS_PER_S;
        if (amount < per_ns * a->left_ns) {
            a->left_ns -= amount / per_ns;
            a->now_ns += amount / per_ns;
            return (int64_t)a->now_ns;
        }
        amount -= per_ns * a->left_ns;
        a->now_ns += a->left_ns;
        a->phase = (a->phase + 1) % a->model->phase_count;
        a->left_ns = (double)a->model->phases[a->phase].for_ns;
    }
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct window {
    int64_t *waiting; // when each arrived
    int count;
    int64_t next_ns; // the first arrival that is not in the window
    int64_t free_ns; // when the last batch was written
    double sender_free_ns;
};

// Lets tokens in until the window fires; when it does.
static int64_t fill(struct window *w, const struct model *m, struct arrivals *a)
{
    int64_t due_ns = w->next_ns + m->timeout_ns;

    w->count = 0;
    while (w->count < m->limit && w->next_ns <= later(due_ns, w->free_ns)) {
        w->waiting[w->count++] = w->next_ns;
        w->next_ns = next_arrival(a);
    }
    int64_t last_ns = w->waiting[w->count - 1];
    int64_t fire_ns = w->count == m->limit && last_ns < due_ns ? last_ns : due_ns;
    return later(fire_ns, w->free_ns);
}

static bool deliver(struct window *w, const struct model *m, struct model_result *r)
{
    for (int i = 0; i < w->count; i++) {
        double sent_ns = (double)w->free_ns;
        if (m->budget_per_s > 0) {
            if (w->sender_free_ns > sent_ns)
                sent_ns = w->sender_free_ns;
            w->sender_free_ns = sent_ns + NS_PER_S / m->budget_per_s;
        }
        if (!histogram_record(&r->latency, w->free_ns - w->waiting[i]) ||
            !histogram_record(&r->sent, (int64_t)sent_ns - w->waiting[i]))
            return false;
    }
    r->tokens += (uint64_t)w->count;
    r->batches++;
    return true;
}

static bool simulate(struct model_result *r, const struct model *m, struct window *w)
{
    struct arrivals a = {.model = m, .left_ns = (double)m->phases[0].for_ns};
    bool ok = true;

    rng_init(&a.rng, m->seed, 0);
    w->next_ns = next_arrival(&a);
    while (ok && w->next_ns < m->period_ns) {
        w->free_ns = fill(w, m, &a) + m->query_ns;
        ok = deliver(w, m, r);
    }
    r->end_ns = w->free_ns;
    return ok;
}

bool model_run(struct model_result *r, const struct model *m, struct err *e)
{
    double tokens = model_rate(m) * (double)m->period_ns / NS_PER_S;
    struct window w = {0};

    *r = (struct model_result){0};
    if (!(tokens >= 1))
        return err_set(e, ERR_USAGE, "the model has nothing to do: no token arrives in its period");
    if (tokens > MODEL_TOKENS_MAX)
        return err_set(e, ERR_USAGE,
            "the model takes up to %.0f tokens, not %.0f: shorten --period", MODEL_TOKENS_MAX,
            tokens);
    w.waiting = calloc((size_t)m->limit, sizeof *w.waiting);
    bool ok = w.waiting && histogram_init(&r->latency, m->timeout_ns, e) &&
              histogram_init(&r->sent, m->timeout_ns, e) && simulate(r, m, &w);
    free(w.waiting);
    return ok || err_set(e, ERR_INTERNAL, "out of memory");
}

void model_result_fini(struct model_result *r)
{
    histogram_fini(&r->latency);
    histogram_fini(&r->sent);
    *r = (struct model_result){0};
}
