#include "base/unit.h"
#include "report/slopes.h"

#define SECONDS 600

// Memory grows by 2 KiB a second, WAL by 100 bytes for each of ten commits a second.
static struct observed made_up(void)
{
    struct observed o = {.samples = calloc(SECONDS, sizeof *o.samples), .count = SECONDS};

    assert_non_null(o.samples);
    for (int i = 0; i < SECONDS; i++) {
        struct sample *s = &o.samples[i];
        s->at_ns = i * NS_PER_S;
        s->up = i != 300; // away for a moment
        s->collector_rss_kb = 9000 + 2 * i + i % 3;
        s->commits = 10 * i;
        s->wal_bytes = 1000 * i;
        s->server_fds = 50 + i % 2;
    }
    return o;
}

static char *latencies(void)
{
    const size_t size = (size_t)SECONDS * 40;
    char *csv = malloc(size);

    assert_non_null(csv);
    size_t len = (size_t)snprintf(csv, size, "second,latency_p50_ms,latency_p99_ms\n");
    for (int i = 0; i < SECONDS; i++)
        len += i % 7 ? (size_t)snprintf(csv + len, size - len, "%d,20,%d\n", i, 100 + i / 6)
                     : (size_t)snprintf(csv + len, size - len, "%d,,\n", i);
    return csv;
}

static void slopes_are_per_hour(void **state)
{
    struct observed o = made_up();
    char *csv = latencies();
    struct slopes s;
    struct buf text;
    struct err e;

    assert_true(slopes_take(&s, &o, csv, &e));
    const struct slope *memory = &s.rows[SLOPE_COLLECTOR_MEMORY], *wal = &s.rows[SLOPE_WAL];
    assert_true(memory->low > 0.95 * 7200 && memory->high < 1.05 * 7200);
    assert_true(wal->level > 99.99 && wal->level < 100.01 && wal->low <= 0 && wal->high >= 0);
    assert_true(s.rows[SLOPE_SERVER_DESCRIPTORS].low <= 0);
    // What nobody could see is not steady. A queue may be empty, and a table without dead tuples.
    assert_false(s.measured[SLOPE_SHARED_MEMORY] || s.measured[SLOPE_COLLECTOR_DESCRIPTORS]);
    assert_true(s.measured[SLOPE_NOTIFY_QUEUE] && s.measured[SLOPE_DEAD_TUPLES]);
    assert_true(s.rows[SLOPE_LATENCY_P50].low <= 0 && s.rows[SLOPE_LATENCY_P50].high >= 0);
    assert_true(s.rows[SLOPE_LATENCY_P99].low > 500 && s.rows[SLOPE_LATENCY_P99].high < 700);
    buf_init(&text, 1 << 16);
    assert_true(slopes_print(&s, &text));
    assert_non_null(strstr(text.data, "| collector, resident memory |"));
    assert_non_null(strstr(text.data, "grows"));
    buf_fini(&text);
    free(csv);
    free(o.samples);
}

static void segments_of_a_soak_give_a_point_each(void **state)
{
    enum { SEGMENTS = 40 };
    struct observed o = made_up();
    char *csv = latencies();
    static struct slopes_segment segments[SEGMENTS];
    struct slopes s;
    struct err e;

    // The harness's memory grows by 10 KiB from one segment to the next. There are 15 an hour.
    for (int i = 0; i < SEGMENTS; i++) {
        o.start_wall_ns = i * (240 * NS_PER_S);
        for (int k = 0; k < SECONDS; k++)
            o.samples[k].harness_kb = 50000 + 10 * i + k % 3;
        slopes_segment(&segments[i], &o, csv);
    }
    assert_true(slopes_of_soak(&s, segments, SEGMENTS, &e));
    const struct slope *harness = &s.rows[SLOPE_HARNESS_MEMORY];
    assert_true(s.points == 36 && harness->low > 149 && harness->high < 151);
    assert_true(s.rows[SLOPE_WAL].level > 99.99 && s.rows[SLOPE_WAL].level < 100.01);
    assert_true(s.rows[SLOPE_LATENCY_P50].low <= 0 && s.rows[SLOPE_LATENCY_P50].high >= 0);
    assert_false(s.measured[SLOPE_NOTIFY_QUEUE] && s.rows[SLOPE_NOTIFY_QUEUE].low > 0);
    assert_false(slopes_of_soak(&s, segments, 8, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    free(csv);
    free(o.samples);
}

static void a_short_run_has_no_slopes(void **state)
{
    struct observed o = made_up();
    char csv[] = "second\n";
    struct slopes s;
    struct err e;

    o.count = 10;
    assert_false(slopes_take(&s, &o, csv, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    free(o.samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_per_hour),
        cmocka_unit_test(segments_of_a_soak_give_a_point_each),
        cmocka_unit_test(a_short_run_has_no_slopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
