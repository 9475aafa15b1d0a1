#include <openssl/evp.h>
#include <zlib.h>

#include "base/unit.h"
#include "measure/hlog.h"

// Returns the next repeatable random number (xorshift).
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void init(struct histogram *h)
{
    histogram_init(h, 0);
}

// Makes a random histogram: dense or sparse, small or wide, with counts of one to nine bytes.
static void fill(struct histogram *h, uint64_t seed)
{
    uint64_t random = seed * 0x9e3779b97f4a7c15u + 1;
    int values = (int)(next(&random) % 2000);
    unsigned width = (unsigned)(next(&random) % 63);

    init(h);
    for (int i = 0; i < values; i++)
        histogram_record(h, (int64_t)(next(&random) >> 1 >> width));
    for (int i = 0; i < 5 && values > 0; i++) {
        size_t index = next(&random) % (histogram_index(h->max) + 1);
        int64_t more = (int64_t)(next(&random) >> (3 + next(&random) % 61));
        if (h->counts[index] > 0 && h->total < INT64_MAX / 2) {
            h->counts[index] += more;
            h->total += more;
        }
    }
}

// Writes the histogram as one line of a log into `out`, which the caller frees, and returns the
// line's last field, the encoded histogram, without its newline. It points into `out`.
static char *encode(struct buf *out, const struct histogram *h)
{
    struct hlog_interval interval = {.length_ns = NS_PER_S, .histogram = h};
    struct err e = {0};

    buf_init(out, 1 << 21);
    assert_true(hlog_write_interval(out, &interval, &e));
    out->data[out->len - 1] = '\0';
    return strrchr(out->data, ',') + 1;
}

// Returns the big-endian number in these bytes.
static uint64_t number_at(const unsigned char *at, int bytes)
{
    uint64_t v = 0;

    while (bytes-- > 0)
        v = v << 8 | *at++;
    return v;
}

// Reads the next number of the counts, as the format's readers do, and moves *at behind it. It is
// LEB128: seven bits a byte, lowest first, with a high bit where more follows; the ninth byte holds
// eight. The lowest bit of the encoded number is its sign (ZigZag).
static int64_t next_number(const unsigned char **at)
{
    uint64_t v = 0, byte = 0x80;

    for (int i = 0; i < 9 && byte & 0x80; i++) {
        byte = *(*at)++;
        v |= (i < 8 ? byte & 0x7f : byte) << (7 * i);
    }
    return (int64_t)(v & 1 ? ~(v >> 1) : v >> 1);
}

// Checks that the encoded text holds the histogram. In base64: a head of 8 bytes, then data packed
// with zlib. Unpacked: a head of 40 bytes, then the counts.
static void check_text(const struct histogram *h)
{
    static unsigned char packed[1 << 21], plain[1 << 20];
    uLongf len = sizeof plain;
    struct buf text;
    const char *field = encode(&text, h);
    int most = EVP_DecodeBlock(packed, (const unsigned char *)field, (int)strlen(field));
    size_t inside = (size_t)number_at(packed + 4, 4);

    assert_int_equal(strncmp(field, "HISTFAAA", 8), 0);
    assert_in_range(8 + inside, most - 2, most); // EVP_DecodeBlock counts padding as bytes
    assert_int_equal(uncompress(plain, &len, packed + 8, inside), Z_OK);
    assert_int_equal(number_at(plain, 4), 0x1c849313);
    assert_int_equal(number_at(plain + 4, 4), len - 40);
    assert_int_equal(number_at(plain + 12, 4), 3); // significant digits
    assert_int_equal(number_at(plain + 24, 8), histogram_highest_at(h->count_len - 1));
    const unsigned char *at = plain + 40;
    size_t index = 0;
    while (at < plain + len) {
        int64_t n = next_number(&at);
        if (n >= 0)
            assert_int_equal(h->counts[index++], n);
        // A negative number -k stands for k counts of zero.
        for (; n < 0; n++)
            assert_int_equal(h->counts[index++], 0);
    }
    assert_ptr_equal(at, plain + len);
    assert_int_equal(index, histogram_index(h->max) + 1);
    buf_fini(&text);
}

static void random_histograms_are_in_the_text(void **state)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct histogram h;
        fill(&h, seed);
        check_text(&h);
        histogram_fini(&h);
    }
}

static void the_extremes_are_in_the_text(void **state)
{
    struct histogram h;

    init(&h);
    check_text(&h);
    histogram_record(&h, 0);
    check_text(&h);
    histogram_record(&h, INT64_MAX);
    check_text(&h);
    h.counts[0] = INT64_MAX - 1; // needs nine bytes with nearly all bits set
    h.total = INT64_MAX;
    check_text(&h);
    histogram_fini(&h);
}

static void log_lines(void **state)
{
    struct histogram h;
    struct buf out;
    struct err e = {0};

    buf_init(&out, 1 << 20);
    init(&h);
    histogram_record(&h, 12345000);
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
        cmocka_unit_test(random_histograms_are_in_the_text),
        cmocka_unit_test(the_extremes_are_in_the_text),
        cmocka_unit_test(log_lines),
        cmocka_unit_test(long_comments_are_cut),
        cmocka_unit_test(bad_tags_and_full_buffers_leave_no_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
