#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <zlib.h>

#include "base/clock.h"
#include "measure/hlog.h"
#include "measure/payload.h"

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void init(struct histogram *h)
{
    struct err e = {0};

    assert_true(histogram_init(h, 0, &e));
}

// Makes a random histogram: dense or sparse, small or wide, with counts of one to nine bytes.
static void fill(struct histogram *h, uint64_t seed)
{
    uint64_t random = seed * 0x9e3779b97f4a7c15u + 1;
    int values = (int)(next(&random) % 2000);
    unsigned width = (unsigned)(next(&random) % 63);

    init(h);
    for (int i = 0; i < values; i++)
        assert_true(histogram_record(h, (int64_t)(next(&random) >> 1 >> width)));
    for (int i = 0; i < 5 && values > 0; i++) {
        size_t index = next(&random) % (histogram_index(h->max) + 1);
        int64_t more = (int64_t)(next(&random) >> (3 + next(&random) % 61));
        if (h->counts[index] > 0 && h->total < INT64_MAX / 2) {
            h->counts[index] += more;
            h->total += more;
        }
    }
}

static void encode(struct buf *out, const struct histogram *h)
{
    struct err e = {0};

    buf_init(out, 1 << 21);
    assert_true(payload_encode(out, h, &e));
    assert_non_null(buf_str(out));
}

static void check_round_trip(const struct histogram *h)
{
    struct histogram back;
    struct buf text, again;
    struct err e = {0};

    encode(&text, h);
    if (!payload_decode(&back, text.data, text.len, &e))
        fail_msg("%s", e.text);
    assert_int_equal(back.total, h->total);
    assert_int_equal(back.count_len, h->count_len);
    assert_memory_equal(back.counts, h->counts, h->count_len * sizeof *h->counts);
    assert_int_equal(histogram_index(back.min), histogram_index(h->min));
    assert_int_equal(histogram_index(back.max), histogram_index(h->max));
    encode(&again, &back);
    assert_string_equal(again.data, text.data);
    buf_fini(&again);
    buf_fini(&text);
    histogram_fini(&back);
}

static void random_histograms_survive(void **state)
{
    (void)state;

    for (uint64_t seed = 0; seed < 300; seed++) {
        struct histogram h;
        fill(&h, seed);
        check_round_trip(&h);
        histogram_fini(&h);
    }
}

static void the_extremes_survive(void **state)
{
    (void)state;
    struct histogram h;

    init(&h);
    check_round_trip(&h);
    assert_true(histogram_record(&h, 0));
    check_round_trip(&h);
    assert_true(histogram_record(&h, INT64_MAX));
    check_round_trip(&h);
    h.counts[0] = INT64_MAX - 1; // nine bytes, all bits in use
    h.total = INT64_MAX;
    check_round_trip(&h);
    histogram_fini(&h);
}

static void small_payloads_begin_as_the_readers_expect(void **state)
{
    (void)state;
    struct histogram h;
    struct buf text;

    fill(&h, 3);
    encode(&text, &h);
    assert_int_equal(strncmp(text.data, "HISTFAAA", 8), 0);
    buf_fini(&text);
    histogram_fini(&h);
}

static void refuse_because(const char *text, size_t len, const char *reason)
{
    struct histogram h;
    struct err e = {0};

    assert_false(payload_decode(&h, text, len, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, reason));
    assert_null(h.counts);
}

static void refuse(const char *text, size_t len)
{
    refuse_because(text, len, "not an encoded histogram: ");
}

// zlib's checksum or a length notices each byte that is changed, added or removed.
static void damage_is_refused(void **state)
{
    (void)state;
    struct histogram h;
    struct buf text;

    fill(&h, 5);
    encode(&text, &h);
    for (size_t len = 0; len < text.len; len++)
        refuse(text.data, len);
    for (size_t i = 0; i < text.len; i++) {
        char was = text.data[i];
        // Leaves out the last letter before padding: some of its bits are unused.
        if (i + 3 < text.len) {
            text.data[i] = was == 'A' ? 'B' : 'A';
            refuse(text.data, text.len);
        }
        const char odd[] = {'\0', '\n', ' ', '-', '\x80'};
        for (size_t k = 0; k < sizeof odd; k++) {
            text.data[i] = odd[k];
            refuse(text.data, text.len);
        }
        text.data[i] = was;
    }
    assert_true(buf_append_str(&text, "AAAA"));
    refuse(text.data, text.len);
    buf_fini(&text);
    histogram_fini(&h);
}

// The wrappings are well formed and their content is not. Made with Python's zlib and base64.
static void contradictory_content_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *fault, *reason, *text;
    } cases[] = {
        {"the outer cookie of V1", "another cookie",
            "HISTBAAAAB54nJNpmSzMwMDAyAABzFAaymf/b/8BwmICAEb6A4M="},
        {"an outer length that is too long", "another length",
            "HISTFAAAAGR4nJNpmSzMwMDAyAABzFAaymf/b/8BwmICAEb6A4M="},
        {"something behind the compressed part", "damaged compression",
            "HISTFAAAACJ4nJNpmSzMwMDAyAABzFAaymf/b/8BwmICAEb6A4Ntb3Jl"},
        {"the inner cookie of V1", "another cookie inside",
            "HISTFAAAAB54nJNpmczMwMDAyAABzFAaymf/b/8BwmICAESaA3M="},
        {"an inner length that is too long", "another length inside",
            "HISTFAAAAB94nJNpmSzMwMDAxAABzFCaEUKx/7f/AGExAQBHHAOE"},
        {"a negative inner length", "another length inside",
            "HISTFAAAAB14nJNpmSz8HwgYIIAZSjNCKPb/9h8gLCYA1EoHfg=="},
        {"a shifted index", "another layout",
            "HISTFAAAAB54nJNpmSzMwMDACMXMDBDACKHY/9t/gLCYAEcYA4Q="},
        {"two digits", "another layout", "HISTFAAAAB14nJNpmSzMwMDAyAABTFAaymf/b/8BKgEARuADgg=="},
        {"another unit", "another layout", "HISTFAAAAB94nJNpmSzMwMDAyAABzFDqBYRm/2//AcJiAgBXcQRt"},
        {"a negative range", "another layout",
            "HISTFAAAAB54nJNpmSzMwMDAyAABzFCa8T8U2H+ACDABAKhLCnU="},
        {"another ratio", "another layout", "HISTFAAAAB14nJNpmSzMwMDAyAABzFAaymf/7wAVYAIAP4MClA=="},
        {"a number without an end", "a number without an end",
            "HISTFAAAAB54nJNpmSzMwMDAyAABzFAaymf/b/8BwmoCAEd6BAM="},
        {"zeros beyond the range", "more counts than its range has room for",
            "HISTFAAAACB4nJNpmSzMwMDAxAABzFCaEUKx/7f/AGE1KwAAS8IEJQ=="},
        {"the most zeros there are", "more counts than its range has room for",
            "HISTFAAAACB4nJNpmSzMwMDAyQABzFCaEUKx/7f/AGH9hwEAkSMMgA=="},
        {"a count beyond the range", "more counts than its range has room for",
            "HISTFAAAACB4nJNpmSzMwMDAzAABMJoRQrH/t/8AYf2XZwIAUX8Eow=="},
        {"a total beyond 64 bits", "more values than can be counted",
            "HISTFAAAACJ4nJNpmSzMwMDAxQABzFCaEUKx/7f/AGH9+w8FTACdxgyC"},
        {"nothing inside", "another cookie inside", "HISTFAAAAAh4nAMAAAAAAQ=="},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_because(cases[i].text, strlen(cases[i].text), cases[i].reason);
}

// Compresses and encodes counts as a writer does, even counts that no writer makes.
static size_t wrap(char *text, const unsigned char *plain, size_t plain_len)
{
    unsigned char packed[2048] = {0x1c, 0x84, 0x93, 0x14};
    uLongf len = sizeof packed - 8;

    assert_int_equal(compress(packed + 8, &len, plain, plain_len), Z_OK);
    packed[6] = (unsigned char)(len >> 8);
    packed[7] = (unsigned char)len;
    return (size_t)EVP_EncodeBlock((unsigned char *)text, packed, (int)len + 8);
}

// A kilobyte expands to a megabyte: decoding stops at the size of the longest histogram.
static void compression_bombs_are_refused(void **state)
{
    (void)state;
    char text[4096];
    size_t megabyte = 1 << 20;
    unsigned char *zeros = calloc(1, megabyte);

    assert_non_null(zeros);
    refuse_because(text, wrap(text, zeros, megabyte), "damaged compression");
    free(zeros);
}

// Random counts behind a good header: an accepted one is a histogram that survives a round trip.
static void random_counts_are_sound_or_refused(void **state)
{
    (void)state;
    unsigned char plain[40 + 99] = {0x1c, 0x84, 0x93, 0x13, [15] = 3, [23] = 1, [32] = 0x3f, 0xf0};
    uint64_t random = 13;
    int accepted = 0;

    for (int round = 0; round < 5000; round++) {
        size_t len = next(&random) % 100;
        struct histogram h;
        struct err e = {0};
        char text[4096];
        plain[7] = (unsigned char)len;
        plain[24 + next(&random) % 8] = (unsigned char)(next(&random) & 0x7f); // the range
        for (size_t i = 0; i < len; i++) // mostly short numbers, now and then a long one
            plain[40 + i] = (unsigned char)(next(&random) >> (next(&random) % 4 ? 59 : 56));
        if (payload_decode(&h, text, wrap(text, plain, 40 + len), &e)) {
            check_round_trip(&h);
            accepted++;
        } else {
            assert_int_equal(e.kind, ERR_USAGE);
        }
        histogram_fini(&h);
    }
    assert_in_range(accepted, 100, 4900);
}

static void noise_is_refused(void **state)
{
    (void)state;
    uint64_t random = 11;
    size_t huge = (size_t)8 << 20;
    char *text = malloc(huge);

    assert_non_null(text);
    for (size_t len = 0; len < 300; len++) {
        for (size_t i = 0; i < len; i++)
            text[i] = (char)(unsigned char)next(&random);
        refuse(text, len);
    }
    memset(text, 'A', huge);
    refuse(text, huge);
    free(text);
}

static void log_lines(void **state)
{
    (void)state;
    struct histogram h;
    struct buf out;
    struct err e = {0};

    buf_init(&out, 1 << 20);
    init(&h);
    assert_true(histogram_record(&h, 12345000));
    assert_true(hlog_write_header(&out, "made by\na test", INT64_C(1770000000) * NS_PER_S, &e));
    assert_string_equal(buf_str(&out),
        "#[made by?a test]\n"
        "#[Histogram log format version 1.3]\n"
        "#[StartTime: 1770000000.000 (seconds since epoch), 2026-02-02T02:40:00Z]\n"
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_"
        "Histogram\"\n");
    buf_clear(&out);
    struct hlog_interval interval = {
        .tag = "e2e", .from_ns = 0, .length_ns = NS_PER_S, .histogram = &h};
    assert_true(hlog_write_interval(&out, &interval, &e));
    assert_int_equal(strncmp(buf_str(&out), "Tag=e2e,0.000,1.000,12.345,HISTFAAA", 35), 0);
    assert_int_equal(out.data[out.len - 1], '\n');
    buf_clear(&out);
    interval.tag = NULL;
    interval.from_ns = 1500 * NS_PER_MS;
    assert_true(hlog_write_interval(&out, &interval, &e));
    assert_int_equal(strncmp(buf_str(&out), "1.500,1.000,12.345,HISTFAAA", 27), 0);
    buf_fini(&out);
    histogram_fini(&h);
}

static void long_comments_are_cut(void **state)
{
    (void)state;
    char comment[500];
    struct buf out;
    struct err e = {0};

    memset(comment, 'x', sizeof comment - 1);
    comment[sizeof comment - 1] = '\0';
    buf_init(&out, 4096);
    assert_true(hlog_write_header(&out, comment, 0, &e));
    assert_int_equal(strcspn(buf_str(&out), "\n"), 126);
    buf_fini(&out);
}

static void bad_tags_and_full_buffers_leave_no_trace(void **state)
{
    (void)state;
    const char *tags[] = {"", "a,b", "a b", "a\nb", "\xc3\xa9"};
    struct hlog_interval interval = {.length_ns = NS_PER_S};
    struct histogram h;
    struct buf out;
    struct err e = {0};

    init(&h);
    interval.histogram = &h;
    buf_init(&out, 30);
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        interval.tag = tags[i];
        assert_false(hlog_write_interval(&out, &interval, &e));
        assert_int_equal(e.kind, ERR_USAGE);
    }
    interval.tag = "good";
    assert_false(hlog_write_interval(&out, &interval, &e));
    assert_int_equal(e.kind, ERR_SYSTEM);
    assert_int_equal(out.len, 0);
    assert_false(hlog_write_header(&out, "", 0, &e));
    buf_fini(&out);
    histogram_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_histograms_survive),
        cmocka_unit_test(the_extremes_survive),
        cmocka_unit_test(small_payloads_begin_as_the_readers_expect),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(contradictory_content_is_refused),
        cmocka_unit_test(compression_bombs_are_refused),
        cmocka_unit_test(random_counts_are_sound_or_refused),
        cmocka_unit_test(noise_is_refused),
        cmocka_unit_test(log_lines),
        cmocka_unit_test(long_comments_are_cut),
        cmocka_unit_test(bad_tags_and_full_buffers_leave_no_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
