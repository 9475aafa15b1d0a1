// A growable byte buffer with a ceiling.
//
// The owner calls buf_init and buf_fini; buf_fini accepts a zeroed struct.
// When the ceiling or memory is reached an append returns false and changes nothing, and so does
// each one after it until buf_clear. So the appends need not be checked one by one: the result of
// the last one, `failed` or buf_str tells at the end whether the content is whole, and what is
// there has no hole. For the same reason they are not MUST_USE.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct buf {
    char *data; // NULL while nothing was appended; not NUL-terminated
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
};

void buf_init(struct buf *b, size_t max);
void buf_fini(struct buf *b);

// Forgets the content, keeps the memory.
void buf_clear(struct buf *b);

// Makes room for `more` further bytes and returns where they go; NULL past the ceiling, and after
// any failure. The caller adds to len what it has written.
char *buf_reserve(struct buf *b, size_t more);

bool buf_append(struct buf *b, const void *data, size_t len);
bool buf_append_str(struct buf *b, const char *s);
bool buf_append_char(struct buf *b, char c);
bool buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

// Drops the first n bytes (n <= len).
void buf_consume(struct buf *b, size_t n);

// Returns the content with a NUL behind it, which is not counted. NULL when it is not whole: an
// append has failed, or there is no room for the NUL.
char *buf_str(struct buf *b);
