// A shard is the part of some numbered work that one machine does: shard 3 of 16 has each number
// that leaves 2 when it is divided by 16. So every machine knows its part without asking another.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define SHARDS_MAX 1000

// Shard `number`, counted from 1, of `of` shards. A zeroed shard is the whole work.
struct shard {
    int number, of;
};

// Reads I/N, such as 3/16.
MUST_USE bool shard_parse(struct shard *s, const char *text, struct err *e);

// True when the shard has the item of this number.
bool shard_has(const struct shard *s, uint64_t number);
