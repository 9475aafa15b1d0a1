#include <math.h>

#include "base/unit.h"
#include "tune/export.h"
#include "tune/measured.h"
#include "tune/pair_figures.h"
#include "tune/model.h"
#include "tune/tune.h"

#define HOUR (3600 * NS_PER_S)

static void assert_within(double got, double want, double share)
{
    if (fabs(got - want) > share * want)
        print_error("got %g instead of %g\n", got, want);
    assert_true(fabs(got - want) <= share * want);
}

static struct load_phase poisson(int64_t for_ns, double rate)
{
    return (struct load_phase){.for_ns = for_ns,
        .arrivals = ARRIVALS_POISSON,
        .rate_from = rate,
        .rate_to = rate,
        .rows_from = 1,
        .rows_to = 1};
}

static struct queries one_time(int64_t query_ns)
{
    struct queries q = {0};

    queries_add(&q.reads, 1, query_ns);
    queries_ready(&q);
    return q;
}

static struct model_result simulate(
    double rate, int limit, int64_t timeout_ns, int64_t query_ns, double budget, int64_t period_ns)
{
    const struct load_phase phase = poisson(NS_PER_S, rate);
    struct queries queries = one_time(query_ns);
    const struct model m = {.phases = &phase,
        .phase_count = 1,
        .limit = limit,
        .timeout_ns = timeout_ns,
        .queries = &queries,
        .budget_per_s = budget,
        .period_ns = period_ns,
        .seed = 1};
    struct model_result r;
    struct err e;

    assert_true(model_run(&r, &m, &e));
    queries_fini(&queries);
    return r;
}

// The example of TUNING.md: at 0.38 e-mails a second, a batch of ten takes 26 seconds.
static void published_example(void **state)
{
    struct model_result r = simulate(0.38, 10, 24 * HOUR, 0, 0, 720 * HOUR);
    assert_within((double)r.end_ns / NS_PER_S / (double)r.batches, 26.3, 0.01);
    assert_within(model_tokens_per_batch(&r), 10, 1e-3);
    // The i-th of ten tokens waits for 10 - i more to come: 4.5 gaps between tokens on average.
    assert_within(histogram_mean(&r.latency) / NS_PER_S, 4.5 / 0.38, 0.01);
    model_result_fini(&r);
}

// Without a limit, the line holds the first token and those that come within the timeout.
static void timeout_alone(void **state)
{
    const double rate = 200, timeout_s = 0.1, more = rate * timeout_s;

    struct model_result r = simulate(rate, 10000, 100 * NS_PER_MS, 0, 0, HOUR);
    assert_within(model_tokens_per_batch(&r), 1 + more, 0.01);
    assert_within(histogram_mean(&r.latency) / NS_PER_S,
        (timeout_s + more * timeout_s / 2) / (1 + more), 0.01);
    model_result_fini(&r);
}

// With a limit and a timeout, a batch is the first token and those that come within the timeout,
// but at most the limit of 10. How many come has a Poisson distribution with the mean `more`, of
// which all numbers from 9 on count as 9.
static void limit_and_timeout(void **state)
{
    const double more = 200 * 0.05;
    double expected = 0, chance = exp(-more), below = 0;

    for (int k = 0; k < 9; k++) {
        expected += k * chance;
        below += chance;
        chance *= more / (k + 1);
    }
    expected += 9 * (1 - below);
    struct model_result r = simulate(200, 10, 50 * NS_PER_MS, 0, 0, HOUR);
    assert_within(model_tokens_per_batch(&r), 1 + expected, 0.01);
    model_result_fini(&r);
}

// Lines of one token, each with the same fixed query time, form the queue M/D/1. Its mean time in
// the system is known: the service time, and the wait by Pollaczek and Khinchine.
static void one_by_one_is_a_queue(void **state)
{
    const double rate = 80, query_s = 0.01, load = rate * query_s;

    struct model_result r = simulate(rate, 1, 0, 10 * NS_PER_MS, 0, 10 * HOUR);
    assert_within(
        histogram_mean(&r.latency) / NS_PER_S, query_s + load * query_s / (2 * (1 - load)), 0.02);
    model_result_fini(&r);
}

// A budget below the arrivals lets the queue grow; one above it does not.
static void budgets_hold_back(void **state)
{
    struct model_result r = simulate(1, 10, NS_PER_S, 0, 0.5, HOUR);
    assert_true(histogram_percentile(&r.sent, 99) > HOUR / 2);
    model_result_fini(&r);
    r = simulate(1, 1, 0, 0, 2, 10 * HOUR);
    // This is M/D/1 again: each e-mail takes half a second, but the first leaves at once.
    assert_within(histogram_mean(&r.sent) / NS_PER_S, 0.25, 0.03);
    model_result_fini(&r);
}

// A load that goes on and off brings as many tokens, but in bursts that fill batches.
static void phases_repeat(void **state)
{
    const struct load_phase phases[] = {poisson(NS_PER_S, 100), poisson(9 * NS_PER_S, 0)};
    struct queries queries = one_time(0);
    struct model m = {.phases = phases,
        .phase_count = 2,
        .limit = 10,
        .timeout_ns = 100 * NS_PER_MS,
        .queries = &queries,
        .period_ns = HOUR,
        .seed = 1};
    struct model_result r;
    struct err e;

    assert_true(model_run(&r, &m, &e));
    assert_within((double)r.tokens, 36000, 0.02);
    assert_true(model_tokens_per_batch(&r) > 8);
    model_result_fini(&r);
    m.phase_count = 1;
    m.period_ns = 1;
    assert_false(model_run(&r, &m, &e));
    m.period_ns = 1000000 * HOUR;
    assert_false(model_run(&r, &m, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    queries_fini(&queries);
}

static struct tune_pair pair(int limit, double p99, double tokens)
{
    struct tune_pair p = {.limit = limit, .timeout_ns = NS_PER_S, .tokens_per_batch = tokens};

    p.values[METRIC_LATENCY_P99] = p99;
    return p;
}

static void recommends(void **state)
{
    struct expectation objective = {.metric = (char[]){"latency.p99"}, .value = 100};
    struct tune_pair pairs[] = {pair(1, 10, 1), pair(10, 50, 8), pair(20, 60, 7), pair(50, 200, 9)};
    struct tune t = {.pairs = pairs, .count = 4};

    strcpy(objective.comparison, "<");
    tune_judge(&t);
    assert_true(pairs[0].on_front && pairs[1].on_front && !pairs[2].on_front && pairs[3].on_front);
    assert_ptr_equal(tune_recommend(&t), &pairs[1]);
    t.objective = &objective;
    objective.value = 500;
    tune_judge(&t);
    assert_ptr_equal(tune_recommend(&t), &pairs[3]);
    objective.value = 20;
    tune_judge(&t);
    assert_ptr_equal(tune_recommend(&t), &pairs[0]);
    pairs[0].broken = true;
    tune_judge(&t);
    assert_null(tune_recommend(&t));
}

// The objective of 2 h is far above the latency of 50 ms, and leaves room for a timeout of nearly
// 2 h. But a scenario takes at most 1 h.
static void a_suggested_timeout_is_at_most_an_hour(void **state)
{
    struct expectation objective = {.metric = (char[]){"latency.p99"},
        .comparison = "<",
        .value = 7.2e6,
        .want = (char[]){"< 2h"}};
    struct tune_pair pairs[] = {pair(10, 50, 8)};
    struct tune t = {.pairs = pairs, .count = 1, .objective = &objective};
    struct buf text;

    buf_init(&text, 1000);
    tune_judge(&t);
    assert_true(tune_print_recommendation(&t, &text));
    assert_non_null(strstr(buf_str(&text), "By these figures a timeout of 3600s keeps it, too"));
    pairs[0].timeout_ns = HOUR;
    buf_clear(&text);
    assert_true(tune_print_recommendation(&t, &text));
    assert_null(strstr(buf_str(&text), "By these figures"));
    buf_fini(&text);
}

static void nothing_to_recommend(void **state)
{
    struct expectation objective = {.metric = (char[]){"latency.p99"},
        .comparison = "<",
        .value = 5,
        .want = (char[]){"< 5ms"}};
    struct tune_pair pairs[] = {pair(1, 10, 1), pair(10, 50, 8), pair(20, NAN, NAN)};
    struct tune t = {.pairs = pairs, .count = 3, .objective = &objective};
    struct buf text;

    buf_init(&text, 1000);
    pairs[0].broken = true;
    tune_judge(&t);
    assert_true(tune_has_result(&t) && !tune_all_broken(&t));
    assert_true(tune_print_recommendation(&t, &text));
    assert_string_equal(buf_str(&text),
        "No pair keeps latency.p99 < 5ms without breaking an invariant, of 2 that gave "
        "a result; 1 gave none.\n");
    pairs[1].broken = true;
    tune_judge(&t);
    assert_true(tune_has_result(&t) && tune_all_broken(&t));
    buf_clear(&text);
    assert_true(tune_print_recommendation(&t, &text));
    assert_string_equal(buf_str(&text),
        "No pair can be recommended: each breaks an invariant or came to no result.\n");
    assert_string_equal(tune_remark(&t, &pairs[2]), "not run"); // as when a shard is missing
    t.interrupted = true;
    pairs[1].runs = 1;
    buf_clear(&text);
    assert_true(tune_print_recommendation(&t, &text));
    assert_non_null(strstr(buf_str(&text), "Interrupted, with runs of 1 of the 3 pairs. No pair "));
    pairs[2].runs = pairs[2].inconclusive = 1;
    assert_string_equal(tune_remark(&t, &pairs[2]), "inconclusive");
    buf_fini(&text);
}

// A pair that broke an invariant may send fewer lines than the recommended one.
static void a_broken_pair_is_not_denied(void **state)
{
    struct tune_pair pairs[] = {pair(1, 10, 1), pair(10, 50, 8), pair(50, 60, 40)};
    struct tune t = {.pairs = pairs, .count = 3};
    struct buf text;

    buf_init(&text, 1000);
    pairs[2].broken = true;
    for (int i = 0; i < 3; i++)
        pairs[i].runs = 3;
    tune_judge(&t);
    assert_ptr_equal(tune_recommend(&t), &pairs[1]);
    assert_true(tune_print_recommendation(&t, &text));
    assert_non_null(strstr(buf_str(&text), "No sound pair that was run sends fewer lines."));
    buf_clear(&text);
    pairs[0].inconclusive = pairs[2].inconclusive = 2; // one run of each was conclusive
    tune_judge(&t);
    assert_true(tune_print_recommendation(&t, &text));
    assert_non_null(strstr(buf_str(&text), "No other pair gave a result."));
    buf_fini(&text);
}

// With an objective of 60 ms, the three pairs that meet it are run. With 20 ms, the one that meets
// it is run, and then the one with the least p99 of the others.
static void the_model_leaves_out_what_comes_later(void **state)
{
    struct expectation objective = {.metric = (char[]){"latency.p99"},
        .comparison = "<",
        .value = 60,
        .want = (char[]){"< 60ms"}};
    struct tune_pair pairs[] = {
        pair(1, 10, 1), pair(10, 50, 8), pair(20, 65, 12), pair(50, 400, 40), pair(5, 30, 4)};
    struct tune t = {.pairs = pairs, .count = 5, .objective = &objective};
    struct buf text;

    tune_judge(&t);
    tune_leave_out(&t, 3);
    assert_true(pairs[3].left_out && pairs[2].left_out);
    assert_true(!pairs[0].left_out && !pairs[1].left_out && !pairs[4].left_out);
    assert_string_equal(tune_remark(&t, &pairs[3]), "left out by the model");
    buf_init(&text, 1000);
    assert_true(tune_print_recommendation(&t, &text));
    assert_non_null(strstr(buf_str(&text), "2 of 5 pairs come later in the model"));
    buf_fini(&text);
    objective.value = 20;
    tune_judge(&t);
    tune_leave_out(&t, 2);
    assert_true(!pairs[0].left_out && !pairs[4].left_out && pairs[1].left_out);
    tune_leave_out(&t, 9);
    for (int i = 0; i < 5; i++)
        assert_false(pairs[i].left_out);
}

static bool drawn(const struct tune *t, const char *text)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    scatter_print(t, &out);
    bool found = out.len > 0 && strstr(buf_str(&out), text);
    buf_fini(&out);
    return found;
}

// The picture has an interval only for a pair with three runs or more.
static void the_picture_shows_what_is_known(void **state)
{
    struct expectation objective = {.metric = (char[]){"latency.p99"},
        .comparison = "<",
        .value = 100,
        .want = (char[]){"< 100ms"}};
    struct tune_pair pairs[] = {pair(1, 10, 1), pair(10, 50, 8), pair(50, 200, 9)};
    struct tune t = {.pairs = pairs, .count = 3, .objective = &objective};

    tune_judge(&t);
    assert_true(drawn(&t, ">take 10, 1s</text>"));
    assert_true(drawn(&t, ">latency.p99 &lt; 100ms</text>"));
    assert_true(drawn(&t, "<circle class=\"misses\""));
    assert_false(drawn(&t, "exceeds the budget"));
    pairs[1].judged = (struct precision){.median = 50, .low = 40, .high = 60, .count = 2};
    assert_false(drawn(&t, "class=\"interval\""));
    pairs[1].judged.count = 3;
    assert_true(drawn(&t, "class=\"interval\""));
    t.over_budget = true;
    assert_true(drawn(&t, "exceeds the budget"));
    t.count = 1;
    assert_false(drawn(&t, "<svg"));
}

// Returns the number behind `name` in the tag.
static double number_in(const char *tag, const char *name)
{
    const char *at = strstr(tag, name);

    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

// Checks that no label that stands before a point, and grows to its left, covers the dot.
static void assert_labels_off(const char *picture, double x, double y, double r)
{
    for (const char *p = picture; (p = strstr(p, "<text class=\"name\"")) != NULL; p++) {
        double end = number_in(p, " x=\""), bottom = number_in(p, " y=\"") + 3;
        double begin = end - 7 * (double)strcspn(strchr(p, '>') + 1, "<");
        if (strncmp(strstr(p, "anchor="), "anchor=\"end\"", 12) == 0 && begin < x + r - 0.1 &&
            end > x - r + 0.1 && bottom - 14 < y + r - 0.1 && bottom > y - r + 0.1)
            fail_msg("a label at %g %g covers the dot at %g %g", end, bottom, x, y);
    }
}

// The recommended pair has a larger dot than the others. Here it stands left of another pair.
static void labels_stay_off_the_large_dot(void **state)
{
    struct expectation objective = {.metric = (char[]){"latency.p99"},
        .comparison = "<",
        .value = 51,
        .want = (char[]){"< 51ms"}};
    struct tune_pair pairs[] = {
        pair(1, 10, 1), pair(10, 50, 8), pair(11, 52, 8.4), pair(50, 400, 30)};
    struct tune t = {.pairs = pairs, .count = 4, .objective = &objective};

    for (int step = 0; step < 300; step++) {
        struct buf out;
        pairs[2].tokens_per_batch = 8 + 0.01 * step;
        pairs[2].values[METRIC_LATENCY_P99] = 51 + 0.05 * step;
        tune_judge(&t);
        buf_init(&out, 1 << 20);
        scatter_print(&t, &out);
        const char *dot = strstr(buf_str(&out), "<circle class=\"pick\"");
        assert_non_null(dot);
        assert_labels_off(buf_str(&out), number_in(dot, " cx=\""), number_in(dot, " cy=\""),
            number_in(dot, " r=\""));
        buf_fini(&out);
    }
}

static void costs_of_a_run(void **state)
{
    json_t *result = json_pack("{s:{s:i}, s:{s:f}, s:{s:f}, s:{s:f}}", "tokens", "delivered", 500,
        "cpu_s", "collector_backends", 0.25, "collector", "cpu_s", 0.05, "server",
        "wal_bytes_per_token", 1200.0);
    json_t *nothing = json_pack("{s:{s:i}}", "tokens", "delivered", 0);

    struct tune_cost c = cost_of(result, true);
    assert_within(c.wal_bytes, 1200, 1e-9);
    assert_within(c.backend_cpu_ms, 500, 1e-9);
    assert_within(c.collector_cpu_ms, 100, 1e-9);
    assert_true(isnan(c.round_trips));
    // A remote server's process ids belong to other processes on this machine.
    assert_true(isnan(cost_of(result, false).backend_cpu_ms));
    c = cost_of(nothing, true);
    assert_true(isnan(c.wal_bytes) && isnan(c.collector_cpu_ms));
    json_decref(result);
    json_decref(nothing);
}

// A heat of 1 (full red) needs a figure at least twice as bad as the best one. So a p99 of 110
// beside the best of 100 stays pale.
static void heat(void **state)
{
    struct tune_pair pairs[] = {pair(1, 100, 1), pair(10, 110, 10), pair(50, NAN, 100)};
    const struct tune t = {.pairs = pairs, .count = 3};
    const struct figure_axes axes = figure_axes(&t);

    assert_true(figure_heat(&t, &pairs[0], FIGURE_P99) < 1e-9);
    assert_within(figure_heat(&t, &pairs[1], FIGURE_P99), log2(1.1), 1e-6);
    assert_true(isnan(figure_heat(&t, &pairs[2], FIGURE_P99)));
    // Larger batches are better.
    assert_within(figure_heat(&t, &pairs[0], FIGURE_TOKENS), 1, 1e-6);
    assert_within(figure_heat(&t, &pairs[1], FIGURE_TOKENS), 0.5, 1e-6);
    assert_true(figure_heat(&t, &pairs[2], FIGURE_TOKENS) < 1e-9);
    assert_int_equal(axes.rows, 3);
    assert_int_equal(axes.columns, 1);
    assert_int_equal(axes.limits[2], 50);
    assert_ptr_equal(figure_pair_at(&t, 10, NS_PER_S), &pairs[1]);
    assert_null(figure_pair_at(&t, 10, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_example),
        cmocka_unit_test(timeout_alone),
        cmocka_unit_test(limit_and_timeout),
        cmocka_unit_test(one_by_one_is_a_queue),
        cmocka_unit_test(budgets_hold_back),
        cmocka_unit_test(phases_repeat),
        cmocka_unit_test(recommends),
        cmocka_unit_test(a_suggested_timeout_is_at_most_an_hour),
        cmocka_unit_test(a_broken_pair_is_not_denied),
        cmocka_unit_test(nothing_to_recommend),
        cmocka_unit_test(the_model_leaves_out_what_comes_later),
        cmocka_unit_test(the_picture_shows_what_is_known),
        cmocka_unit_test(labels_stay_off_the_large_dot),
        cmocka_unit_test(costs_of_a_run),
        cmocka_unit_test(heat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
