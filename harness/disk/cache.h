// The volatile cache of a disk: the writes that it has taken and not yet flushed,
// in the order in which they came. Pure: it knows neither FUSE nor a file.
//
// Each write keeps the bytes before and after it, so that a power cut can
// choose for every sector which of its versions is on the platter.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CACHE_SECTOR UINT64_C(512) // what a disk writes whole or not at all

struct cached_write {
    uint64_t offset; // bytes, whole sectors
    uint32_t length; // bytes, whole sectors
    unsigned char *before;
    unsigned char *after;
};

struct cache {
    struct cached_write *items; // from `first` up to `count`
    size_t first, count, capacity;
    uint64_t bytes; // of the disk that the items cover
};

// A zeroed struct is empty. Frees everything.
void cache_fini(struct cache *c);

// Takes copies of both. False when memory is short.
MUST_USE bool cache_add(
    struct cache *c, uint64_t offset, uint32_t length, const void *before, const void *after);

// Call it when everything in the cache has reached the platter.
void cache_clear(struct cache *c);

// Lets the oldest writes reach the platter until no more than `most` bytes are left.
void cache_evict(struct cache *c, uint64_t most);

// Receives one run of bytes and its place; false ends the walk.
typedef bool cache_put_fn(void *arg, uint64_t offset, const void *data, uint32_t length);

// Puts back what was there before the first write, newest write first.
MUST_USE bool cache_undo(const struct cache *c, cache_put_fn *put, void *arg);

// Undoes only the writes from item `from` on, and forgets them.
MUST_USE bool cache_undo_from(struct cache *c, size_t from, cache_put_fn *put, void *arg);

// The part of the cache that a power cut left.
struct cache_cut {
    uint64_t writes;  // that were not flushed
    uint64_t sectors; // that they touched
    uint64_t kept;    // of these, sectors that hold the newest version
};

// A power cut: chooses for every sector one of the versions that it had since the last flush, and
// puts it. The seed draws first how much survives (nothing, an eighth, half, seven eighths), then
// each sector on its own: a disk is free to write its cache in any order. Of several writes to a
// sector, one in the middle may survive. The same cache and seed choose the same.
MUST_USE bool cache_choose(const struct cache *c, uint64_t seed, cache_put_fn *put, void *arg,
    struct cache_cut *out, struct err *e);
