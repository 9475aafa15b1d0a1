#include "measure/payload.h"

#include <assert.h>
#include <string.h>

#include <openssl/evp.h>
#include <zlib.h>

// A payload has three layers. The innermost is the counts behind a header (plain). Around it comes
// the compressed form behind a cookie and a length (packed), and around that its base64 (text). All
// numbers are big-endian; the readers compare the cookies byte by byte.
#define PLAIN_COOKIE UINT32_C(0x1c849313)
#define PACKED_COOKIE UINT32_C(0x1c849314)
#define DIGITS 3

// The offsets in the plain header, and the lengths of the plain and the packed header.
enum {
    AT_LENGTH = 4,
    AT_OFFSET = 8,
    AT_DIGITS = 12,
    AT_LOWEST = 16,
    AT_HIGHEST = 24,
    AT_RATIO = 32,
    PLAIN_HEADER = 40,
    PACKED_HEADER = 8,
};

// The longest number takes nine bytes, which bounds the length of every layer. So no input makes us
// ask for more memory than this.
#define NUMBER_MAX 9
#define PLAIN_MAX (PLAIN_HEADER + HISTOGRAM_MAX_LEN * NUMBER_MAX)
#define PACKED_MAX (2 * PLAIN_MAX)
#define TEXT_MAX (2 * PACKED_MAX)

// The bits of 1.0 as an IEEE 754 double. No other ratio of integer to value is supported.
#define RATIO_ONE UINT64_C(0x3ff0000000000000)

static bool fail_no_room(struct err *e)
{
    return err_set(e, ERR_SYSTEM, "no room left for an encoded histogram");
}

static bool refuse_payload(struct err *e, const char *what)
{
    return err_set(e, ERR_USAGE, "not an encoded histogram: %s", what);
}

static void put_be(struct buf *out, uint64_t v, unsigned bytes)
{
    while (bytes-- > 0)
        buf_append_char(out, (char)(unsigned char)(v >> (8 * bytes)));
}

static uint64_t get_be(const char *at, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | (unsigned char)at[i];
    return v;
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

struct cursor {
    const char *at, *end;
};

static bool get_number(struct cursor *c, int64_t *n)
{
    uint64_t v = 0, byte = 0x80;

    for (int i = 0; i < NUMBER_MAX && byte & 0x80; i++) {
        if (c->at == c->end)
            return false;
        byte = (unsigned char)*c->at++;
        v |= (i < NUMBER_MAX - 1 ? byte & 0x7f : byte) << (7 * i);
    }
    *n = (int64_t)(v & 1 ? ~(v >> 1) : v >> 1);
    return true;
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

static void put_plain(struct buf *out, const struct histogram *h, const struct buf *counts)
{
    put_be(out, PLAIN_COOKIE, 4);
    put_be(out, counts->len, 4);
    put_be(out, 0, 4); // normalizing index offset
    put_be(out, DIGITS, 4);
    put_be(out, 1, 8); // lowest discernible value
    put_be(out, (uint64_t)histogram_highest_at(h->count_len - 1), 8);
    put_be(out, RATIO_ONE, 8);
    buf_append(out, counts->data, counts->len);
}

static bool put_packed(struct buf *out, const struct buf *plain)
{
    uLongf len = compressBound((uLong)plain->len);
    char *room = buf_reserve(out, PACKED_HEADER + len);

    if (!room || plain->failed)
        return false;
    if (compress((Bytef *)room + PACKED_HEADER, &len, (const Bytef *)plain->data,
            (uLong)plain->len) != Z_OK)
        return false;
    put_be(out, PACKED_COOKIE, 4);
    put_be(out, len, 4);
    out->len += len;
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

bool payload_encode(struct buf *out, const struct histogram *h, struct err *e)
{
    struct buf counts, plain, packed;

    assert(h->count_len > 0);
    buf_init(&counts, PLAIN_MAX);
    buf_init(&plain, PLAIN_MAX);
    buf_init(&packed, PACKED_MAX);
    put_counts(&counts, h);
    put_plain(&plain, h, &counts);
    bool done = !counts.failed && put_packed(&packed, &plain) && put_base64(out, &packed);
    buf_fini(&counts);
    buf_fini(&plain);
    buf_fini(&packed);
    return done || fail_no_room(e);
}

// Checks the characters of the text. OpenSSL's decoder takes white space and padding anywhere, and
// does not say how much padding there was, so the check comes first.
static bool is_base64(const char *s, size_t len, size_t *padding)
{
    size_t letters = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

    *padding = strspn(s + letters, "=");
    return len > 0 && len % 4 == 0 && *padding <= 2 && letters + *padding == len;
}

static bool get_packed(struct buf *packed, struct buf *text, struct err *e)
{
    const char *s = buf_str(text);
    size_t padding;

    if (!s)
        return fail_no_room(e);
    if (!is_base64(s, text->len, &padding))
        return refuse_payload(e, "bad base64");
    char *room = buf_reserve(packed, text->len / 4 * 3);
    if (!room)
        return fail_no_room(e);
    // The decoder counts the bytes of the padding as well.
    int len = EVP_DecodeBlock((unsigned char *)room, (const unsigned char *)s, (int)text->len);
    if (len < PACKED_HEADER + (int)padding)
        return refuse_payload(e, "too short");
    packed->len = (size_t)len - padding;
    if (get_be(packed->data, 4) != PACKED_COOKIE)
        return refuse_payload(e, "another cookie");
    if (get_be(packed->data + 4, 4) != packed->len - PACKED_HEADER)
        return refuse_payload(e, "another length");
    return true;
}

static bool get_plain(struct buf *plain, const struct buf *packed, struct err *e)
{
    uLongf len = PLAIN_MAX;
    uLong used = (uLong)(packed->len - PACKED_HEADER);
    Bytef *room = (Bytef *)buf_reserve(plain, len);

    if (!room)
        return fail_no_room(e);
    // Into a buffer of the greatest length that a histogram can have, because the length in the
    // header is not to be trusted.
    int rc = uncompress2(room, &len, (const Bytef *)packed->data + PACKED_HEADER, &used);
    if (rc != Z_OK || used != packed->len - PACKED_HEADER)
        return refuse_payload(e, "damaged compression");
    plain->len = len;
    const char *at = plain->data;
    if (len < PLAIN_HEADER || get_be(at, 4) != PLAIN_COOKIE)
        return refuse_payload(e, "another cookie inside");
    if (get_be(at + AT_LENGTH, 4) != len - PLAIN_HEADER)
        return refuse_payload(e, "another length inside");
    if (get_be(at + AT_OFFSET, 4) != 0 || get_be(at + AT_DIGITS, 4) != DIGITS ||
        get_be(at + AT_LOWEST, 8) != 1 || get_be(at + AT_RATIO, 8) != RATIO_ONE ||
        get_be(at + AT_HIGHEST, 8) > INT64_MAX)
        return refuse_payload(e, "another layout");
    return true;
}

static bool add_bucket(struct histogram *h, size_t index, int64_t count)
{
    if (__builtin_add_overflow(h->total, count, &h->total))
        return false;
    h->counts[index] = count;
    h->sum += (double)count * (double)histogram_middle_at(index);
    if (h->total == count)
        h->min = histogram_lowest_at(index);
    h->max = histogram_highest_at(index);
    return true;
}

static bool get_counts(struct histogram *h, struct cursor c, struct err *e)
{
    size_t index = 0;

    while (c.at < c.end) {
        int64_t n;
        if (!get_number(&c, &n))
            return refuse_payload(e, "a number without an end");
        size_t left = h->count_len - index;
        // The file may come from anywhere. A run of zeros must end within the range.
        if (n < 0 ? n < -(int64_t)left : left == 0)
            return refuse_payload(e, "more counts than its range has room for");
        if (n > 0 && !add_bucket(h, index, n))
            return refuse_payload(e, "more values than can be counted");
        index += n < 0 ? (size_t)-n : 1;
    }
    return true;
}

bool payload_decode(struct histogram *h, const char *text, size_t len, struct err *e)
{
    struct buf copy, packed, plain;

    *h = (struct histogram){0};
    buf_init(&copy, TEXT_MAX);
    buf_init(&packed, TEXT_MAX);
    buf_init(&plain, PLAIN_MAX);
    // Base64, then zlib, then the counts. Each checks what it gets: the file may be anybody's.
    bool done = buf_append(&copy, text, len) || refuse_payload(e, "too long");
    done = done && get_packed(&packed, &copy, e) && get_plain(&plain, &packed, e) &&
           histogram_init(h, (int64_t)get_be(plain.data + AT_HIGHEST, 8), e) &&
           get_counts(h, (struct cursor){plain.data + PLAIN_HEADER, plain.data + plain.len}, e);
    buf_fini(&copy);
    buf_fini(&packed);
    buf_fini(&plain);
    if (!done)
        histogram_fini(h);
    return done;
}
