#include "measure/hlog.h"

#include <ctype.h>
#include <time.h>

#include <openssl/evp.h>
#include <zlib.h>

// The C reader keeps a header line in 128 bytes, two of them for the newline and the NUL.
#define HEADER_LINE_MAX 126

// A histogram is written as one word of text, which is made in three steps. Plain: a header and the
// counts. Packed: a cookie, a length, and the plain form compressed. Text: base64 of the packed
// form. A cookie is the fixed number that begins a form, by which readers know its version.
#define PLAIN_COOKIE UINT32_C(0x1c849313)
#define PACKED_COOKIE UINT32_C(0x1c849314)
#define DIGITS 3 // significant digits of a value

// The longest number takes nine bytes, which bounds the length after every step.
#define NUMBER_MAX 9
#define PLAIN_HEADER 40
#define PACKED_HEADER 8
#define PLAIN_MAX (PLAIN_HEADER + HISTOGRAM_MAX_LEN * NUMBER_MAX)
#define PACKED_MAX (2 * PLAIN_MAX)

// The bits of 1.0 as an IEEE 754 double: readers multiply the values by it.
#define RATIO_ONE UINT64_C(0x3ff0000000000000)

static bool fail_full(struct err *e)
{
    return err_set(e, ERR_SYSTEM, "no room left for the histogram log");
}

static void put_comment_line(struct buf *out, const char *comment)
{
    size_t room = HEADER_LINE_MAX - strlen("#[]");

    buf_append_str(out, "#[");
    for (size_t i = 0; i < room && comment[i] != '\0'; i++)
        buf_append_char(out, iscntrl((unsigned char)comment[i]) ? '?' : comment[i]);
    buf_append_str(out, "]\n");
}

bool hlog_write_header(struct buf *out, const char *comment, int64_t start_wall_ns, struct err *e)
{
    time_t seconds = (time_t)(start_wall_ns / NS_PER_S);
    struct tm utc = {0};
    char date[40];

    gmtime_r(&seconds, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    put_comment_line(out, comment);
    buf_append_str(out, "#[Histogram log format version 1.3]\n");
    buf_printf(
        out, "#[StartTime: %.3f (seconds since epoch), %s]\n", (double)start_wall_ns / 1e9, date);
    buf_append_str(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
                        "\"Interval_Compressed_Histogram\"\n");
    return !out->failed || fail_full(e);
}

static bool check_tag(const char *tag, struct err *e)
{
    bool good = *tag != '\0';

    for (const char *c = tag; *c != '\0'; c++)
        good = good && *c != ',' && isgraph((unsigned char)*c);
    return good || err_set(e, ERR_USAGE, "\"%s\" cannot be a histogram log's tag", tag);
}

static void put_big_endian(struct buf *out, uint64_t v, unsigned bytes)
{
    while (bytes-- > 0)
        buf_append_char(out, (char)(unsigned char)(v >> (8 * bytes)));
}

// ZigZag puts the sign into the lowest bit, so that small numbers of either sign stay short. Each
// byte then holds seven bits, the lowest first; its top bit says that another byte follows. The
// ninth byte needs no such bit and holds eight.
static void put_zigzag(struct buf *out, int64_t n)
{
    uint64_t v = n < 0 ? ~((uint64_t)n << 1) : (uint64_t)n << 1;

    for (int i = 0; i < NUMBER_MAX - 1 && v > 0x7f; i++, v >>= 7)
        buf_append_char(out, (char)(unsigned char)(v | 0x80));
    buf_append_char(out, (char)(unsigned char)v);
}

// Appends the counts. A negative number stands for that many zeros in a row. A single zero is
// written as itself, as the Java writer does.
static void put_counts(struct buf *out, const struct histogram *h)
{
    size_t len = histogram_index(h->max) + 1;

    for (size_t i = 0; i < len;) {
        size_t zeros = 0;
        while (i + zeros < len && h->counts[i + zeros] == 0)
            zeros++;
        put_zigzag(out, zeros > 1 ? -(int64_t)zeros : h->counts[i]);
        i += zeros > 1 ? zeros : 1;
    }
}

// Appends the plain form of a histogram: a header and the counts, which put_counts has made.
static void put_plain(struct buf *out, const struct histogram *h, const struct buf *counts)
{
    put_big_endian(out, PLAIN_COOKIE, 4);
    put_big_endian(out, counts->len, 4);
    put_big_endian(out, 0, 4); // normalizing index offset
    put_big_endian(out, DIGITS, 4);
    put_big_endian(out, 1, 8); // lowest discernible value
    put_big_endian(out, (uint64_t)histogram_highest_at(h->count_len - 1), 8); // highest value
    put_big_endian(out, RATIO_ONE, 8);
    buf_append(out, counts->data, counts->len);
}

// Appends the cookie, the length and the compressed form of `plain`. False without room or memory.
static bool put_packed(struct buf *out, const struct buf *plain)
{
    uLongf len = compressBound((uLong)plain->len);
    char *room = buf_reserve(out, PACKED_HEADER + len);

    if (!room || plain->failed)
        return false;
    if (compress((Bytef *)room + PACKED_HEADER, &len, (const Bytef *)plain->data,
            (uLong)plain->len) != Z_OK)
        return false;
    put_big_endian(out, PACKED_COOKIE, 4);
    put_big_endian(out, len, 4);
    out->len += len; // the compressed bytes are there already
    return true;
}

static bool put_base64(struct buf *out, const struct buf *packed)
{
    size_t len = (packed->len + 2) / 3 * 4;
    char *room = buf_reserve(out, len + 1); // OpenSSL adds a NUL

    if (!room)
        return false;
    EVP_EncodeBlock((unsigned char *)room, (const unsigned char *)packed->data, (int)packed->len);
    out->len += len;
    return true;
}

// Appends the histogram in HdrHistogram's V2 encoding, compressed with zlib, as base64. Returns
// false without room or memory.
static bool encode_histogram(struct buf *out, const struct histogram *h)
{
    struct buf counts FREED_BY(buf_fini) = BUF_INIT(PLAIN_MAX);
    struct buf plain FREED_BY(buf_fini) = BUF_INIT(PLAIN_MAX);
    struct buf packed FREED_BY(buf_fini) = BUF_INIT(PACKED_MAX);

    assert(h->count_len > 0);
    put_counts(&counts, h);
    put_plain(&plain, h, &counts);
    return !counts.failed && put_packed(&packed, &plain) && put_base64(out, &packed);
}

bool hlog_write_interval(struct buf *out, const struct hlog_interval *interval, struct err *e)
{
    size_t before = out->len;

    if (interval->tag && !check_tag(interval->tag, e))
        return false;
    if (interval->tag)
        buf_printf(out, "Tag=%s,", interval->tag);
    buf_printf(out, "%.3f,%.3f,%.3f,", (double)interval->from_ns / 1e9,
        (double)interval->length_ns / 1e9, (double)interval->histogram->max / 1e6);
    if (encode_histogram(out, interval->histogram) && buf_append_char(out, '\n') && !out->failed)
        return true;
    // Half a line would make the whole file unreadable.
    out->len = before;
    return fail_full(e);
}
