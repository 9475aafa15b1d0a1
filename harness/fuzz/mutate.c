#include "fuzz/fuzz.h"

#include <ctype.h>

// The input that is being changed.
struct draft {
    struct rng *rng;
    uint8_t *data;
    size_t len, most; // bytes: of the input, and of the room in `data`
};

// Draws a number below n; 0 when n is 0.
static size_t below(struct draft *d, size_t n)
{
    return n > 0 ? (size_t)rng_below(d->rng, n) : 0;
}

// Draws a byte: half of the time one that parsers treat specially, otherwise any.
static uint8_t odd_byte(struct draft *d)
{
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ',', ':', '-', ' ', '"', '0'};

    return below(d, 2) ? edges[below(d, sizeof edges)] : (uint8_t)below(d, 256);
}

// Inserts n bytes at a place, or as many of them as there is room for.
static void insert(struct draft *d, size_t at, const uint8_t *bytes, size_t n)
{
    if (n > d->most - d->len)
        n = d->most - d->len;
    memmove(d->data + at + n, d->data + at, d->len - at);
    memcpy(d->data + at, bytes, n);
    d->len += n;
}

static void insert_byte(struct draft *d)
{
    uint8_t byte = odd_byte(d);

    insert(d, below(d, d->len + 1), &byte, 1);
}

static void change_byte(struct draft *d)
{
    if (d->len > 0)
        d->data[below(d, d->len)] = odd_byte(d);
}

static void flip_bit(struct draft *d)
{
    if (d->len > 0)
        d->data[below(d, d->len)] ^= (uint8_t)(1u << below(d, 8));
}

static void erase(struct draft *d)
{
    size_t at = below(d, d->len), n = below(d, 16) + 1;

    if (n > d->len - at)
        n = d->len - at;
    memmove(d->data + at, d->data + at + n, d->len - at - n);
    d->len -= n;
}

static void cut_off(struct draft *d)
{
    d->len = below(d, d->len + 1);
}

static void copy_from(struct draft *d, const uint8_t *from, size_t from_len)
{
    uint8_t piece[64];
    size_t at = below(d, from_len), n = below(d, sizeof piece) + 1;

    if (n > from_len - at)
        n = from_len - at;
    if (n == 0)
        return;
    memcpy(piece, from + at, n);
    insert(d, below(d, d->len + 1), piece, n);
}

// Changes a number in a text, because most limits are on numbers.
static void change_number(struct draft *d)
{
    static const char *const numbers[] = {
        "0", "-1", "1.5", "255", "65536", "2147483648", "9223372036854775808", "0.0000000001"};
    size_t at = below(d, d->len), end;

    while (at < d->len && !isdigit(d->data[at]))
        at++;
    for (end = at; end < d->len && isdigit(d->data[end]);)
        end++;
    if (at == end)
        return;
    const char *number = numbers[below(d, sizeof numbers / sizeof *numbers)];
    memmove(d->data + at, d->data + end, d->len - end);
    d->len -= end - at;
    insert(d, at, (const uint8_t *)number, strlen(number));
}

size_t mutate(
    struct rng *rng, uint8_t *data, size_t len, size_t most, const uint8_t *other, size_t other_len)
{
    static void (*const changes[])(struct draft *) = {
        insert_byte, change_byte, flip_bit, erase, change_number};
    struct draft d = {.rng = rng, .len = len, .most = most};

    d.data = data;
    for (size_t left = below(&d, 4) + 1; left > 0; left--) {
        // Cuts and copies change much, so they are rarer than the small changes.
        size_t which = below(&d, 32);
        if (which == 0)
            cut_off(&d);
        else if (which < 4)
            copy_from(&d, d.data, d.len);
        else if (which < 8)
            copy_from(&d, other, other_len);
        else
            changes[which % (sizeof changes / sizeof *changes)](&d);
    }
    return d.len;
}
