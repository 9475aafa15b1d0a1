// Growing arrays, for owners that keep only a pointer and a count.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

// Makes room for `more` items after the `count` items of the array. `items` is the address of the
// owner's pointer, which may change; `size` is the size of one item. Returns false when there is no
// memory; the array is then as it was. The number of allocated items is not stored: it is a power
// of two that follows from the count. So an array must start as NULL, and only this function may
// allocate it.
MUST_USE bool array_grow(void *items, size_t count, size_t more, size_t size);

// Appends a copy of `text`, which the owner of the array frees. False: there is no memory.
MUST_USE bool array_add_text(char ***texts, size_t *count, const char *text, struct err *e);
