// A stream of numbers in as few bytes as they need, compressed by zlib, and one
// description of it for both directions: the same pack_… call writes its value
// or, when the stream is being read, fills it in.
//
// The first failure stays: a run of calls is checked once at its end. What is
// read after a failure is 0.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pack;

MUST_USE struct pack *pack_write(const char *path, struct err *e);
MUST_USE struct pack *pack_read(const char *path, struct err *e);

// When reading: whether a file of this size can hold so many items at all. A
// damaged count must not make us ask for more memory than the machine has.
bool pack_can_hold(const struct pack *p, size_t count);

bool pack_reading(const struct pack *p);
bool pack_ok(const struct pack *p);

// Closes the stream; false when anything has failed, with the reason. NULL: true.
MUST_USE bool pack_close(struct pack *p, struct err *e);

// Seven bits per byte; a value above `most` is a failure.
void pack_number(struct pack *p, uint64_t *value, uint64_t most);

// For fields of other widths.
#define PACK_FIELD(p, field, most)                                                                 \
    do {                                                                                           \
        uint64_t number_ = (uint64_t)(field);                                                      \
        pack_number(p, &number_, most);                                                            \
        (field) = (__typeof__(field))number_;                                                      \
    } while (0)

// Either sign; small ones are short.
void pack_signed(struct pack *p, int64_t *value);

// A time close to the last one; 0 and CLOCK_NEVER are kept as they are.
void pack_time(struct pack *p, int64_t *ns);

// A string that fits into `size` bytes with its NUL.
void pack_text(struct pack *p, char *text, size_t size);

// Says why the content cannot be right; the stream fails.
void pack_fail(struct pack *p, const char *why);

// A time of something that has happened, or is planned to; 0 if it has not. Only
// the end of a process may be never, with which nobody reckons.
void pack_moment(struct pack *p, int64_t *ns);

// The array for items that are going to be read; what is written stands in its
// own, which for no items may be NULL. A NULL for reading is a failure.
void *pack_room(struct pack *p, void *items, size_t count, size_t size);

// A count, and its array; NULL with 0 items after a failure.
void *pack_array(struct pack *p, size_t *count, uint64_t most, void *items, size_t size);
