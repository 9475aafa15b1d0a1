// Encoded histograms. A histogram is the same after encoding and decoding. Any text is either
// refused or decodes to a histogram for which this holds, too. A line of a log has exactly its
// fields. The input's first byte chooses what is tested.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <zlib.h>

#include "base/clock.h"
#include "fuzz/fuzz.h"
#include "measure/hlog.h"
#include "measure/payload.h"

enum { TEXT, PLAIN, VALUES, LINE, MODES };

#define ENCODED_MAX ((size_t)4 << 20)

static void encode(struct buf *out, const struct histogram *h)
{
    struct err e = {0};

    buf_init(out, ENCODED_MAX);
    FUZZ_MUST(payload_encode(out, h, &e));
}

static void check_same(const struct histogram *a, const struct histogram *b)
{
    FUZZ_MUST(a->total == b->total && a->count_len == b->count_len);
    FUZZ_MUST(memcmp(a->counts, b->counts, a->count_len * sizeof *a->counts) == 0);
    FUZZ_MUST(histogram_index(a->min) == histogram_index(b->min));
    FUZZ_MUST(histogram_index(a->max) == histogram_index(b->max));
    FUZZ_MUST(histogram_index(histogram_percentile(a, 99.9)) ==
              histogram_index(histogram_percentile(b, 99.9)));
}

static void check_round_trip(const struct histogram *h)
{
    struct histogram back;
    struct buf text, again;
    struct err e = {0};

    encode(&text, h);
    FUZZ_MUST(payload_decode(&back, text.data, text.len, &e));
    check_same(h, &back);
    encode(&again, &back);
    FUZZ_MUST(text.len == again.len && memcmp(text.data, again.data, text.len) == 0);
    buf_fini(&again);
    buf_fini(&text);
    histogram_fini(&back);
}

static void check_sound(const struct histogram *h)
{
    int64_t total = 0;

    for (size_t i = 0; i < h->count_len; i++) {
        FUZZ_MUST(h->counts[i] >= 0);
        FUZZ_MUST(!__builtin_add_overflow(total, h->counts[i], &total));
    }
    FUZZ_MUST(total == h->total && h->min <= h->max);
    FUZZ_MUST(total == 0 || histogram_percentile(h, 50) >= h->min);
    FUZZ_MUST(histogram_stddev(h) >= 0);
}

static void decode(const char *text, size_t len)
{
    struct histogram h;
    struct err e = {0};

    if (!payload_decode(&h, text, len, &e)) {
        FUZZ_MUST(e.text[0] && !h.counts);
        return;
    }
    fuzz_accept();
    check_sound(&h);
    check_round_trip(&h);
    histogram_fini(&h);
}

static void put_number(unsigned char *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> (24 - 8 * i));
}

// Compresses and encodes the input itself. A random change of a compressed text could never be
// read.
static void decode_plain(const struct fuzz_bytes *in)
{
    uLongf len = compressBound((uLong)in->left);
    unsigned char *packed = malloc(8 + len);
    char *text = malloc((8 + len + 2) / 3 * 4 + 1);

    FUZZ_MUST(packed && text);
    FUZZ_MUST(compress(packed + 8, &len, in->at, (uLong)in->left) == Z_OK);
    put_number(packed, 0x1c849314);
    put_number(packed + 4, (uint32_t)len);
    int text_len = EVP_EncodeBlock((unsigned char *)text, packed, (int)len + 8);
    decode(text, (size_t)text_len);
    free(text);
    free(packed);
}

// Raises a count to values that no run is long enough for, up to the largest possible total.
static void raise_a_count(struct histogram *h, struct fuzz_bytes *in)
{
    size_t index = histogram_index(h->max);
    int64_t more = (int64_t)(fuzz_number(in, 8) >> 1);

    if (h->total == 0 || more > INT64_MAX - h->total)
        return;
    h->counts[index] += more;
    h->total += more;
}

// Records values of any size in one histogram and in two that are then merged.
static void record_values(struct fuzz_bytes *in)
{
    struct histogram all, halves[2];
    struct err e = {0};
    int64_t most = 0;

    FUZZ_MUST(histogram_init(&all, (int64_t)fuzz_number(in, 3), &e));
    struct fuzz_bytes count = {in->at, in->left};
    FUZZ_MUST(histogram_init(&halves[0], 0, &e) && histogram_init(&halves[1], 0, &e));
    for (size_t i = 0; in->left > 0; i++) {
        unsigned bytes = fuzz_byte(in) % 9;
        int64_t value = (int64_t)fuzz_number(in, bytes);
        most = value > most ? value : most;
        FUZZ_MUST(histogram_record(&all, value) && histogram_record(&halves[i % 2], value));
        size_t index = histogram_index(value);
        FUZZ_MUST(histogram_lowest_at(index) <= (value > 0 ? value : 0));
        FUZZ_MUST(histogram_highest_at(index) >= value);
        // With three significant digits, a bucket is never wider than a thousandth of its values.
        FUZZ_MUST(histogram_highest_at(index) - histogram_lowest_at(index) <=
                  histogram_lowest_at(index) / 1000);
    }
    FUZZ_MUST(histogram_merge(&halves[0], &halves[1]));
    FUZZ_MUST(all.total == halves[0].total && all.max == most && halves[0].max == most);
    FUZZ_MUST(all.min == halves[0].min);
    FUZZ_MUST(histogram_percentile(&all, 75) == histogram_percentile(&halves[0], 75));
    fuzz_accept();
    raise_a_count(&all, &count);
    check_sound(&all);
    check_round_trip(&all);
    histogram_fini(&all);
    histogram_fini(&halves[0]);
    histogram_fini(&halves[1]);
}

static const char *after_comma(const char *at, const char *end)
{
    const char *comma = memchr(at, ',', (size_t)(end - at));

    FUZZ_MUST(comma);
    return comma + 1;
}

static void check_header(const char *comment, int64_t wall_ns)
{
    struct buf out;
    struct err e = {0};
    size_t length = 0;
    int lines = 0;

    buf_init(&out, 4096);
    FUZZ_MUST(hlog_write_header(&out, comment, wall_ns, &e));
    for (size_t i = 0; i < out.len; i++) {
        length = out.data[i] == '\n' ? 0 : length + 1;
        lines += out.data[i] == '\n';
        FUZZ_MUST(length <= 126); // the longest line that the C reader takes
    }
    FUZZ_MUST(lines == 4 && length == 0);
    buf_fini(&out);
}

// Takes tag, times and histogram of a line apart as a reader would.
static void check_line(struct fuzz_bytes *in)
{
    struct fuzz_bytes tag = fuzz_piece(in), comment = fuzz_piece(in);
    char *text = strndup((const char *)tag.at, tag.left);
    char *words = strndup((const char *)comment.at, comment.left);
    struct histogram h, back;
    struct buf out;
    struct err e = {0};

    FUZZ_MUST(text && words && histogram_init(&h, 0, &e));
    // Times are positive, and their sums do not overflow.
    check_header(words, (int64_t)(fuzz_number(in, 8) >> 2));
    struct hlog_interval interval = {.tag = text,
        .from_ns = (int64_t)(fuzz_number(in, 8) >> 2),
        .length_ns = (int64_t)(fuzz_number(in, 8) >> 2),
        .histogram = &h};
    while (in->left > 0)
        FUZZ_MUST(histogram_record(&h, (int64_t)fuzz_number(in, 4)));
    buf_init(&out, ENCODED_MAX);
    if (!hlog_write_interval(&out, &interval, &e)) {
        FUZZ_MUST(out.len == 0 && e.text[0]);
    } else {
        const char *at = out.data, *end = at + out.len - 1;
        fuzz_accept();
        FUZZ_MUST(*end == '\n' && !memchr(at, '\n', (size_t)(end - at)));
        FUZZ_MUST(strncmp(at, "Tag=", 4) == 0 && !strchr(text, ','));
        for (int field = 0; field < 4; field++)
            at = after_comma(at, end);
        FUZZ_MUST(payload_decode(&back, at, (size_t)(end - at), &e));
        check_same(&h, &back);
        histogram_fini(&back);
    }
    buf_fini(&out);
    histogram_fini(&h);
    free(text);
    free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};

    switch (fuzz_byte(&in) % MODES) {
    case TEXT:
        decode((const char *)in.at, in.left);
        break;
    case PLAIN:
        decode_plain(&in);
        break;
    case VALUES:
        record_values(&in);
        break;
    default:
        check_line(&in);
        break;
    }
    return 0;
}

static size_t encoded_seed(uint8_t *data, size_t size, size_t values)
{
    struct histogram h;
    struct buf text;
    struct err e = {0};

    FUZZ_MUST(histogram_init(&h, 0, &e));
    for (size_t i = 0; i < values; i++)
        FUZZ_MUST(histogram_record(&h, (int64_t)(i * i * i * 1000)));
    encode(&text, &h);
    FUZZ_MUST(text.len < size);
    data[0] = TEXT;
    memcpy(data + 1, text.data, text.len);
    size_t len = text.len + 1;
    buf_fini(&text);
    histogram_fini(&h);
    return len;
}

static size_t plain_seed(uint8_t *data, const char *counts, size_t len)
{
    static const char header[] = "\0\0\0\0\0\0\0\3"
                                 "\0\0\0\0\0\0\0\1"
                                 "\0\0\0\0\7\xff\xff\xff"
                                 "\x3f\xf0\0\0\0\0\0\0";

    data[0] = PLAIN;
    put_number(data + 1, 0x1c849313);
    put_number(data + 5, (uint32_t)len);
    memcpy(data + 9, header, sizeof header - 1);
    memcpy(data + 9 + sizeof header - 1, counts, len);
    return 9 + sizeof header - 1 + len;
}

#define PLAIN_SEED(counts) plain_seed(data, counts, sizeof(counts) - 1)

static size_t put_bytes(uint8_t *data, const void *bytes, size_t len)
{
    memcpy(data, bytes, len);
    return len;
}

#define BYTES(text) put_bytes(data, text, sizeof(text))

size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good)
{
    static const size_t values[] = {0, 1, 10, 500};

    *good = true;
    if (index < sizeof values / sizeof *values)
        return encoded_seed(data, size, values[index]);
    switch (index - sizeof values / sizeof *values) {
    case 0:
        return PLAIN_SEED("\2\4\5\2");
    case 1: // the largest possible total, in one count of nine bytes
        return PLAIN_SEED("\xfe\xff\xff\xff\xff\xff\xff\xff\xff");
    case 2:
        return PLAIN_SEED("");
    case 3:
        return BYTES("\2\0\1\0\1\7\2\1\0\4\xff\xff\xff\xff\x8\x7f\xff\xff\xff\xff\xff\xff\xff");
    case 4:
        return BYTES("\3\3e2e\4note\0\0\0\1\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\1\2\3");
    case 5:
        return BYTES("\2\0\0\0\x8\x7f\xff\xff\xff\xff\xff\xff\xff\1\1");
    default:
        return 0;
    }
}
