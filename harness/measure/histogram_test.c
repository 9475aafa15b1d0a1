#include <math.h>

#include "base/unit.h"
#include "measure/hlog.h"
#include "measure/histogram.h"

// Returns repeatable random values of all magnitudes: xorshift makes 64 bits, and a random number
// of them is cut off.
static int64_t any_value(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (int64_t)(*state >> (1 + *state % 63));
}

static void init(struct histogram *h, int64_t highest)
{
    histogram_init(h, highest);
}

static void layout_is_that_of_hdrhistogram(void **state)
{
    const struct {
        int64_t value;
        size_t index;
        int64_t lowest, highest;
    } cases[] = {
        {INT64_MIN, 0, 0, 0},
        {-1, 0, 0, 0},
        {0, 0, 0, 0},
        {1, 1, 1, 1},
        {1023, 1023, 1023, 1023},
        {1024, 1024, 1024, 1024},
        {2047, 2047, 2047, 2047},
        {2048, 2048, 2048, 2049},
        {2049, 2048, 2048, 2049},
        {4095, 3071, 4094, 4095},
        {4096, 3072, 4096, 4099},
        {INT64_MAX, HISTOGRAM_MAX_LEN - 1, INT64_MAX - (INT64_C(1) << 52) + 1, INT64_MAX},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t index = histogram_index(cases[i].value);
        assert_int_equal(index, cases[i].index);
        assert_int_equal(histogram_lowest_at(index), cases[i].lowest);
        assert_int_equal(histogram_highest_at(index), cases[i].highest);
    }
}

// Every bucket starts where the one before ends, and both ends fall into it.
static void buckets_leave_no_gap(void **state)
{
    for (size_t i = 0; i < HISTOGRAM_MAX_LEN; i++) {
        int64_t lowest = histogram_lowest_at(i), highest = histogram_highest_at(i);
        assert_int_equal(histogram_index(lowest), i);
        assert_int_equal(histogram_index(highest), i);
        assert_in_range(histogram_middle_at(i), lowest, highest);
        if (i + 1 < HISTOGRAM_MAX_LEN)
            assert_int_equal(histogram_lowest_at(i + 1), highest + 1);
    }
}

static void buckets_are_exact_to_a_thousandth(void **state)
{
    uint64_t random = 1;

    for (int i = 0; i < 200000; i++) {
        int64_t v = any_value(&random);
        size_t index = histogram_index(v);
        int64_t lowest = histogram_lowest_at(index), highest = histogram_highest_at(index);
        assert_true(lowest <= v && v <= highest);
        assert_true((highest - lowest) <= v / 1000);
    }
}

// Returns what histogram_percentile must return, found in the n sorted values. The percentile is
// given in thousandths of a percent, so that the arithmetic stays in integers.
static int64_t percentile_of_sorted(const int64_t *sorted, int64_t n, int64_t thousandths)
{
    int64_t rank = (thousandths * n + 99999) / 100000;

    if (rank < 1)
        return sorted[0];
    int64_t value = histogram_highest_at(histogram_index(sorted[rank - 1]));
    return value < sorted[n - 1] ? value : sorted[n - 1];
}

static void check_percentiles(int64_t n, uint64_t seed)
{
    const int64_t asked[] = {
        0, 1, 1000, 25000, 50000, 75000, 90000, 95000, 99000, 99900, 99990, 99999, 100000};
    int64_t *values = calloc((size_t)n, sizeof *values);
    struct histogram h;

    assert_non_null(values);
    init(&h, 1000);
    for (int64_t i = 0; i < n; i++) {
        values[i] = any_value(&seed);
        histogram_record(&h, values[i]);
    }
    qsort(values, (size_t)n, sizeof *values, clock_compare);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        assert_int_equal(histogram_percentile(&h, (double)asked[i] / 1000),
            percentile_of_sorted(values, n, asked[i]));
    assert_int_equal(h.min, values[0]);
    assert_int_equal(h.max, values[n - 1]);
    assert_int_equal(h.total, n);
    histogram_fini(&h);
    free(values);
}

static void percentiles_match_sorted_values(void **state)
{
    const int64_t sizes[] = {1, 2, 3, 9, 10, 11, 100, 999, 1000, 1001, 10000, 100000};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t seed = 1; seed <= 5; seed++)
            check_percentiles(sizes[i], seed);
}

static void odd_percentiles_are_clamped(void **state)
{
    struct histogram h;

    init(&h, 0);
    histogram_record(&h, 5000001);
    histogram_record(&h, 9000001);
    assert_int_equal(histogram_percentile(&h, -1), 5000001);
    assert_int_equal(histogram_percentile(&h, NAN), 5000001);
    assert_int_equal(histogram_percentile(&h, 101), 9000001);
    histogram_fini(&h);
}

static void empty_is_all_zeros(void **state)
{
    struct histogram h;

    init(&h, -7);
    assert_int_equal(h.count_len, 2 * HISTOGRAM_OCTAVE);
    for (int p = 0; p <= 100; p += 50)
        assert_int_equal(histogram_percentile(&h, p), 0);
    assert_true(histogram_mean(&h) == 0 && histogram_stddev(&h) == 0);
    histogram_fini(&h);
    histogram_fini(&h);
}

static void grows_without_losing_counts(void **state)
{
    struct histogram h;

    init(&h, 100);
    histogram_record(&h, -3);
    histogram_record(&h, 2000);
    histogram_record(&h, INT64_MAX);
    assert_int_equal(h.count_len, HISTOGRAM_MAX_LEN);
    assert_int_equal(h.counts[0], 1);
    assert_int_equal(h.counts[2000], 1);
    assert_int_equal(h.counts[HISTOGRAM_MAX_LEN - 1], 1);
    assert_int_equal(h.min, 0);
    assert_int_equal(h.max, INT64_MAX);
    histogram_clear(&h);
    assert_int_equal(h.count_len, HISTOGRAM_MAX_LEN);
    assert_int_equal(h.total, 0);
    assert_int_equal(histogram_percentile(&h, 50), 0);
    histogram_fini(&h);
}

static void merging_equals_recording_together(void **state)
{
    struct histogram parts[3], sum, all;
    uint64_t random = 7;

    init(&sum, 0);
    init(&all, 0);
    for (int p = 0; p < 3; p++) {
        init(&parts[p], 1000000);
        for (int i = 0; i < 1000 * p; i++) { // the first part stays empty
            int64_t v = any_value(&random) % 1000000000;
            histogram_record(&parts[p], v);
            histogram_record(&all, v);
        }
    }
    for (int p = 0; p < 3; p++)
        histogram_merge(&sum, &parts[p]);
    assert_int_equal(sum.total, all.total);
    assert_int_equal(sum.min, all.min);
    assert_int_equal(sum.max, all.max);
    assert_true(fabs(histogram_mean(&sum) - histogram_mean(&all)) < 1e-3);
    assert_true(histogram_stddev(&sum) == histogram_stddev(&all));
    size_t used = histogram_index(all.max) + 1;
    assert_memory_equal(sum.counts, all.counts, used * sizeof *sum.counts);
    for (int p = 0; p < 3; p++)
        histogram_fini(&parts[p]);
    histogram_fini(&sum);
    histogram_fini(&all);
}

static void mean_and_deviation(void **state)
{
    const int64_t values[] = {2, 4, 4, 4, 5, 5, 7, 9}; // a textbook's example: mean 5, deviation 2
    struct histogram h;

    init(&h, 0);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        histogram_record(&h, values[i]);
    assert_true(histogram_mean(&h) == 5);
    assert_true(histogram_stddev(&h) == 2);
    histogram_clear(&h);
    for (int i = 0; i < 3; i++)
        histogram_record(&h, 123456789);
    assert_true(histogram_mean(&h) == 123456789);
    assert_true(histogram_stddev(&h) == 0);
    histogram_fini(&h);
}

static void distribution_file(void **state)
{
    const char want[] = "       Value     Percentile TotalCount 1/(1-Percentile)\n"
                        "\n"
                        "       1.000 0.000000000000          1           1.00\n"
                        "       1.000 0.100000000000          1           1.11\n"
                        "       1.000 0.200000000000          1           1.25\n"
                        "       1.000 0.300000000000          1           1.43\n"
                        "       2.000 0.400000000000          2           1.67\n"
                        "       2.000 0.500000000000          2           2.00\n"
                        "       2.000 0.550000000000          2           2.22\n"
                        "       2.000 0.600000000000          2           2.50\n"
                        "       2.000 0.650000000000          2           2.86\n"
                        "       6.000 0.700000000000          3           3.33\n"
                        "       6.000 1.000000000000          3\n"
                        "#[Mean    =        3.000, StdDeviation   =        2.160]\n"
                        "#[Max     =        6.000, Total count    =            3]\n"
                        "#[Buckets =            1, SubBuckets     =         2048]\n";
    struct histogram h;
    struct buf out;

    buf_init(&out, 4096);
    init(&h, 0);
    for (int64_t v = 100; v <= 600; v += v < 200 ? 100 : 400)
        histogram_record(&h, v);
    assert_true(hgrm_write(&out, &h, 100));
    assert_string_equal(buf_str(&out), want);
    buf_fini(&out);
    buf_init(&out, 100);
    assert_false(hgrm_write(&out, &h, 100));
    buf_fini(&out);
    histogram_fini(&h);
}

static void distribution_of_no_values_and_of_very_many(void **state)
{
    struct histogram h;
    struct buf out;

    buf_init(&out, 1 << 20);
    init(&h, 10);
    assert_true(hgrm_write(&out, &h, 1));
    assert_null(strstr(buf_str(&out), "1.000000000000"));
    histogram_record(&h, 1);
    histogram_record(&h, 2);
    // So many values are 1 that the percentiles of the last rows round to 100.
    h.counts[1] = INT64_C(1) << 62;
    h.total = h.counts[1] + 1;
    assert_true(hgrm_write(&out, &h, 1));
    buf_fini(&out);
    histogram_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_is_that_of_hdrhistogram),
        cmocka_unit_test(buckets_leave_no_gap),
        cmocka_unit_test(buckets_are_exact_to_a_thousandth),
        cmocka_unit_test(percentiles_match_sorted_values),
        cmocka_unit_test(odd_percentiles_are_clamped),
        cmocka_unit_test(empty_is_all_zeros),
        cmocka_unit_test(grows_without_losing_counts),
        cmocka_unit_test(merging_equals_recording_together),
        cmocka_unit_test(mean_and_deviation),
        cmocka_unit_test(distribution_file),
        cmocka_unit_test(distribution_of_no_values_and_of_very_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
