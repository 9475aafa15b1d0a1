// load_bench CONNECTIONS max|RATE SECONDS: measures the generator alone, against the server that
// the environment names. Prints one line of name=value for ci/bench.
#include "load/load.h"
#include "measure/histogram.h"

struct figures {
    size_t committed;
    int64_t first_ns, last_ns; // when the first and the last insert were sent
    int64_t ended_ns;          // when the last answer came
    struct histogram lag;
};

// Fills in the figures from the records. Fails when fewer than two inserts were committed.
static bool count(struct figures *f, const struct plan *plan, const struct load_result *result,
    int64_t start_ns, struct err *e)
{
    *f = (struct figures){.first_ns = CLOCK_NEVER};
    histogram_init(&f->lag, NS_PER_S);
    for (size_t i = 0; i < plan->txn_count; i++) {
        const struct txn_record *r = &result->records[i];
        if (r->outcome != TXN_COMMITTED)
            continue;
        f->committed++;
        f->first_ns = clock_min(f->first_ns, r->sent_ns);
        f->last_ns = r->sent_ns > f->last_ns ? r->sent_ns : f->last_ns;
        f->ended_ns = r->ended_ns > f->ended_ns ? r->ended_ns : f->ended_ns;
        histogram_record(&f->lag, r->sent_ns - start_ns - plan->txns[i].at_ns);
    }
    return f->committed > 1 || err_set(e, ERR_SQL, "nothing committed: %s", result->refusal);
}

static bool run(const struct scenario *s, struct err *e)
{
    struct plan plan;
    struct load_progress progress = {0};
    struct load_result result = {0};
    struct figures f = {0};

    if (!plan_make(&plan, s, e))
        return false;
    struct load_config config = {.conninfo = "",
        .plan = &plan,
        .scenario = s,
        .start_ns = clock_now_ns() + NS_PER_S,
        .deadline_ns = CLOCK_NEVER,
        .end = plan.txn_count};
    bool ok =
        load_run(&config, &progress, &result, e) && count(&f, &plan, &result, config.start_ns, e);
    if (ok) {
        double sent_s = (double)(f.last_ns - f.first_ns) / 1e9;
        printf("tps=%.1f sent_per_s=%.3f cpu_us=%.2f lag_p99_ms=%.3f lag_max_ms=%.3f\n",
            (double)f.committed / ((double)(f.ended_ns - config.start_ns) / 1e9),
            (double)(f.committed - 1) / sent_s, result.cpu_s * 1e6 / (double)f.committed,
            (double)histogram_percentile(&f.lag, 99) / 1e6, (double)f.lag.max / 1e6);
    }
    histogram_fini(&f.lag);
    load_result_fini(&result);
    plan_fini(&plan);
    return ok;
}

int main(int argc, char **argv)
{
    struct err e = {0};

    if (argc != 4) {
        fprintf(stderr, "usage: load_bench CONNECTIONS max|RATE SECONDS\n");
        return 64;
    }
    bool closed = strcmp(argv[2], "max") == 0;
    double rate = closed ? 0 : strtod(argv[2], NULL);
    struct load_phase phase = {.name = "bench",
        .for_ns = (int64_t)(strtod(argv[3], NULL) * 1e9),
        .rate_from = rate,
        .rate_to = rate,
        .closed = closed,
        .arrivals = ARRIVALS_CONSTANT,
        .connections = atoi(argv[1]),
        .rows_from = 1,
        .rows_to = 1};
    struct scenario scenario = {.name = "bench", .seed = 1, .load = &phase, .load_count = 1};
    if (run(&scenario, &e))
        return 0;
    fprintf(stderr, "load_bench: %s\n", e.text);
    return 70;
}
