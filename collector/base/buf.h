// A growable byte buffer with a ceiling.
//
// The owner calls buf_init and buf_fini; buf_fini accepts a zeroed struct. A buffer that only one
// block needs is declared so:
//     struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);
// An append that would pass the ceiling, or finds no memory, returns false and adds nothing. So
// does every later append, until buf_clear. The content is therefore always the beginning of what
// was appended, without a gap. A caller need not check each append: at the end, the result of the
// last append, `failed` or buf_str tells whether the content is whole. So appends are not MUST_USE.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct buf {
    char *data; // NULL until room was first needed; not NUL-terminated
    size_t len;
    size_t cap; // bytes that are allocated
    size_t max; // the ceiling: most bytes that `data` may have
    bool failed;
};

#define BUF_INIT(most) ((struct buf){.max = (most)})

void buf_init(struct buf *b, size_t max);
void buf_fini(struct buf *b);

// Forgets the content, keeps the memory.
void buf_clear(struct buf *b);

// Makes room for `more` further bytes and returns where they go. The caller adds to `len` what it
// has written there. NULL: the ceiling or the memory does not allow them, or an earlier append has
// failed.
char *buf_reserve(struct buf *b, size_t more);

bool buf_append(struct buf *b, const void *data, size_t len);
bool buf_append_str(struct buf *b, const char *s);
bool buf_append_char(struct buf *b, char c);
bool buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

// Drops the first n bytes (n <= len).
void buf_consume(struct buf *b, size_t n);

// Returns the content with a NUL after it, which `len` does not count. NULL: the content is not
// whole, because an append has failed, or there is no room for the NUL.
char *buf_str(struct buf *b);
