#include "base/unit.h"
#include "metrics/meters.h"

static const struct policy leased = {.name = "leased", .answers = true};
static const struct policy cursor = {.name = "cursor"};

static const char *render(const struct meters *m, const struct policy *mode, struct buf *out)
{
    buf_clear(out);
    assert_true(meters_render(m, "a \"queue\"\n\\", mode, out));
    return buf_str(out);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static void counters_begin_at_0_and_gauges_unknown(void **state)
{
    struct meters m;
    struct buf out;

    meters_init(&m);
    buf_init(&out, 65536);
    const char *text = render(&m, &cursor, &out);
    assert_non_null(strstr(text, "\nmailroom_batches_total{reason=\"full\"} 0\n"));
    assert_null(strstr(text, "mailroom_connected"));
    assert_null(strstr(text, "nan"));
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    m.of[METER_CONNECTED] = 1;
    meters_add(&m, METER_BATCHES_FULL, 3);
    text = render(&m, &cursor, &out);
    assert_non_null(strstr(text, "\nmailroom_connected 1\n"));
    assert_non_null(strstr(text, "\nmailroom_batches_total{reason=\"full\"} 3\n"));
    buf_fini(&out);
}

static void each_family_has_one_head(void **state)
{
    struct meters m;
    struct buf out;

    meters_init(&m);
    for (int i = 0; i < METERS; i++)
        m.of[i] = i;
    buf_init(&out, 65536);
    const struct policy *both[] = {&leased, &cursor};
    for (int i = 0; i < 2; i++) {
        const char *text = render(&m, both[i], &out);
        assert_int_equal(count(text, "# TYPE "), count(text, "# HELP "));
        for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
            char head[100];
            snprintf(head, sizeof head, "%.*s", (int)strcspn(at + 7, " ") + 8, at);
            assert_int_equal(count(text, head), 1);
        }
    }
    buf_fini(&out);
}

static void a_mode_shows_what_it_has(void **state)
{
    struct meters m;
    struct buf out;

    meters_init(&m);
    buf_init(&out, 65536);
    const char *text = render(&m, &leased, &out);
    assert_non_null(strstr(text, "mailroom_retries_total 0"));
    assert_null(strstr(text, "outcome=\"written\""));
    assert_non_null(strstr(text, "mailroom_batches_total{reason=\"start\"} 0"));
    assert_non_null(strstr(text, "queue=\"a \\\"queue\\\"\\n\\\\\""));
    assert_non_null(strstr(text, "outcome=\"expired\""));
    text = render(&m, &cursor, &out);
    assert_null(strstr(text, "mailroom_retries"));
    assert_non_null(strstr(text, "outcome=\"written\""));
    buf_fini(&out);
}

static void a_forgotten_meter_is_left_out(void **state)
{
    struct meters m;
    struct buf out;

    meters_init(&m);
    buf_init(&out, 65536);
    m.of[METER_BACKLOG_SCHEDULED] = 5;
    assert_non_null(strstr(render(&m, &cursor, &out), "mailroom_backlog{state=\"scheduled\"} 5"));
    meters_forget(&m, METER_BACKLOG_SCHEDULED, METER_BUDGET_TODAY);
    assert_null(strstr(render(&m, &cursor, &out), "mailroom_backlog"));
    buf_fini(&out);
}

static void waiting_times_go_into_buckets(void **state)
{
    struct meters m;
    struct buf out;

    meters_init(&m);
    buf_init(&out, 65536);
    meters_waited(&m, 0.3);
    meters_waited(&m, 0.301);
    meters_waited(&m, 0.001);
    meters_waited(&m, 301);
    const char *text = render(&m, &cursor, &out);
    assert_non_null(strstr(text, "\nmailroom_wait_seconds_bucket{le=\"0.005\"} 1\n"));
    assert_non_null(strstr(text, "\nmailroom_wait_seconds_bucket{le=\"0.2\"} 1\n"));
    assert_non_null(strstr(text, "\nmailroom_wait_seconds_bucket{le=\"0.3\"} 2\n"));
    assert_non_null(strstr(text, "\nmailroom_wait_seconds_bucket{le=\"300.0\"} 3\n"));
    assert_non_null(strstr(text, "\nmailroom_wait_seconds_bucket{le=\"+Inf\"} 4\n"));
    assert_non_null(strstr(text, "\nmailroom_wait_seconds_count 4\n"));
    assert_non_null(strstr(text, "\nmailroom_wait_seconds_sum 301.602\n"));
    buf_fini(&out);
}

// METRICS_MD has the table that the test prints when it fails.
static void the_page_has_the_table(void **state)
{
    char *table = NULL, *text = calloc(1, 1 << 20);
    size_t len;
    FILE *out = open_memstream(&table, &len), *in = fopen(METRICS_MD, "r");

    assert_non_null(out);
    assert_non_null(in);
    assert_non_null(text);
    meters_markdown(out);
    fclose(out);
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    if (!strstr(text, table))
        print_error("not in %s:\n%s", METRICS_MD, table);
    assert_non_null(strstr(text, table));
    free(table);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_begin_at_0_and_gauges_unknown),
        cmocka_unit_test(each_family_has_one_head),
        cmocka_unit_test(a_mode_shows_what_it_has),
        cmocka_unit_test(a_forgotten_meter_is_left_out),
        cmocka_unit_test(waiting_times_go_into_buckets),
        cmocka_unit_test(the_page_has_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
