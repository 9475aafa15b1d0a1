#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_fini(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
}

static bool fail(struct buf *b)
{
    b->failed = true;
    return false;
}

// Allocates at least `need` bytes in all, which the ceiling allows.
static bool grow(struct buf *b, size_t need)
{
    size_t cap = b->cap ? b->cap : 64;

    while (cap < need)
        cap *= 2;
    if (cap > b->max)
        cap = b->max;
    char *data = realloc(b->data, cap);
    if (!data)
        return fail(b);
    b->data = data;
    b->cap = cap;
    return true;
}

char *buf_reserve(struct buf *b, size_t more)
{
    if (b->failed)
        return NULL;
    if (more > b->max || b->len > b->max - more) {
        fail(b);
        return NULL;
    }
    if (b->len + more > b->cap && !grow(b, b->len + more))
        return NULL;
    return b->data + b->len;
}

bool buf_append(struct buf *b, const void *data, size_t len)
{
    if (len == 0)
        return !b->failed;
    char *room = buf_reserve(b, len);
    if (!room)
        return false;
    memcpy(room, data, len);
    b->len += len;
    return true;
}

bool buf_append_str(struct buf *b, const char *s)
{
    return buf_append(b, s, strlen(s));
}

bool buf_append_char(struct buf *b, char c)
{
    return buf_append(b, &c, 1);
}

bool buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int need = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (need < 0)
        return fail(b);
    char *room = buf_reserve(b, (size_t)need + 1);
    if (!room)
        return false;
    va_start(args, fmt);
    vsnprintf(room, (size_t)need + 1, fmt, args);
    va_end(args);
    b->len += (size_t)need;
    return true;
}

void buf_consume(struct buf *b, size_t n)
{
    assert(n <= b->len);
    b->len -= n;
    if (b->len > 0)
        memmove(b->data, b->data + n, b->len);
}

char *buf_str(struct buf *b)
{
    char *end = buf_reserve(b, 1);

    if (!end)
        return NULL;
    *end = '\0';
    return b->data;
}
