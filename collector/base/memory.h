// Memory that cannot fail, for the harness. When the system has no more, the program ends at once,
// with a line on standard error and exit code 70; what it had started is cleared up as after any
// crash. So no caller looks for NULL. An array whose size a scenario chooses, such as the ledger of
// a million tokens, is allocated by calloc instead: a failure is then an error that names the
// amount (err_memory_for). The collector allocates little, and gives back what it has claimed
// before it ends, so it treats the failure as an error, too.
#pragma once

#include <stddef.h>

#include "base/err.h"

// Returns `size` bytes whose content is undefined; free() them.
void *memory_allocate(size_t size) __attribute__((returns_nonnull, malloc));

// Returns `count` zeroed items of `size` bytes; free() them.
void *memory_zeroed(size_t count, size_t size) __attribute__((returns_nonnull, malloc));

// Returns a copy of `text`; free() it. NULL for NULL.
char *memory_copy(const char *text);

// Returns the formatted text; free() it.
char *memory_format(const char *fmt, ...) __attribute__((returns_nonnull)) PRINTF_LIKE(1, 2);

// Makes room for `more` items after the `count` items of an array. `items` is the address of the
// owner's pointer, which may change; `size` is the size of one item. The number of allocated items
// is not stored: it is a power of two that follows from the count. So an array must start as NULL,
// and only this function may allocate it.
void memory_grow(void *items, size_t count, size_t more, size_t size);

// Appends a copy of `text`, which the owner of the array frees.
void memory_add_text(char ***texts, size_t *count, const char *text);

// Frees the texts of an array that ends with NULL, and the array. Accepts NULL.
void memory_free_texts(char **texts);

// For FREED_BY: frees the bytes to which a pointer leads; `pointer` is the pointer's address.
void memory_free(void *pointer);
