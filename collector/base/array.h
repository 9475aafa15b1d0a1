// Growing arrays, for owners who keep a pointer and a count and nothing else.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

// Makes room for `more` items behind the `count` that *items holds. `items` is the
// address of the pointer, which may move; `size` is that of one item. False without
// memory: *items is as it was. The number of items that are allocated is not stored: it is a power
// of two that follows from the count. So an array must start as NULL, and nothing else may
// allocate it.
MUST_USE bool array_grow(void *items, size_t count, size_t more, size_t size);

// Appends a copy of `text`, owned by the array.
MUST_USE bool array_add_text(char ***texts, size_t *count, const char *text, struct err *e);
