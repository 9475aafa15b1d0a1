// The volatile cache of a disk: the writes that the disk has taken and not yet flushed, in the
// order in which they came. Pure: it knows neither FUSE nor a file.
//
// For each write, the cache keeps the old and the new bytes, so that a power cut can choose for
// every sector which of its versions is on the platter.
#pragma once

#include "base/base.h"

#define CACHE_SECTOR UINT64_C(512) // bytes; a disk writes a sector as a whole or not at all

struct cached_write {
    uint64_t offset; // bytes, whole sectors
    uint32_t length; // bytes, whole sectors
    unsigned char *before;
    unsigned char *after;
};

struct cache {
    struct cached_write *items; // owned; the used items are those from `first` to below `count`
    size_t first, count;
    uint64_t bytes; // sum of the items' lengths
};

// Frees everything. A zeroed struct is an empty cache.
void cache_fini(struct cache *c);

// Adds a write with copies of the bytes before and after it.
void cache_add(
    struct cache *c, uint64_t offset, uint32_t length, const void *before, const void *after);

// Empties the cache. Call this when all its writes have reached the platter.
void cache_clear(struct cache *c);

// Removes the oldest write, which counts as having reached the platter. There must be one.
void cache_evict_oldest(struct cache *c);

// Receives one run of bytes and its place; false ends the walk.
typedef bool cache_put_fn(void *arg, uint64_t offset, const void *data, uint32_t length);

// Puts back the bytes that the writes from items[from] on have replaced. Undoes the newest first.
// `from` is not less than `first`.
MUST_USE bool cache_undo(const struct cache *c, size_t from, cache_put_fn *put, void *arg);

// Undoes the same writes as cache_undo, and removes them from the cache.
MUST_USE bool cache_take_back(struct cache *c, size_t from, cache_put_fn *put, void *arg);

// The part of the cache that survived a power cut.
struct cache_cut {
    uint64_t writes;  // number of writes that were not flushed
    uint64_t sectors; // number of sectors that these writes touched
    uint64_t kept;    // number of these sectors that hold the newest version
};

// Cuts the power: chooses for every sector one of the versions that it had since the last flush,
// and puts it. A disk is free to write its cache in any order, so each sector is drawn on its own.
// The seed first decides how likely a sector is to survive (0, 1/8, 1/2 or 7/8), then draws each
// sector. If a sector was written several times, a version in the middle may survive. The same
// cache and seed give the same choice. Fills in *out.
MUST_USE bool cache_choose(const struct cache *c, uint64_t seed, cache_put_fn *put, void *arg,
    struct cache_cut *out, struct err *e);
