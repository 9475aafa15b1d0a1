#include "disk/cache.h"

#include "plan/rng.h"

static void free_write(struct cached_write *w)
{
    free(w->before); // one allocation, which also holds `after`
}

void cache_clear(struct cache *c)
{
    for (size_t i = c->first; i < c->count; i++)
        free_write(&c->items[i]);
    c->first = c->count = 0;
    c->bytes = 0;
}

void cache_fini(struct cache *c)
{
    cache_clear(c);
    free(c->items);
    *c = (struct cache){0};
}

// Makes room for one more write.
static void make_write_room(struct cache *c)
{
    // When more than half of the array are evicted writes, move the others to its start.
    if (c->first > c->count / 2) {
        memmove(c->items, c->items + c->first, (c->count - c->first) * sizeof *c->items);
        c->count -= c->first;
        c->first = 0;
    }
    memory_grow(&c->items, c->count, 1, sizeof *c->items);
}

void cache_add(
    struct cache *c, uint64_t offset, uint32_t length, const void *before, const void *after)
{
    assert(offset % CACHE_SECTOR == 0 && length % CACHE_SECTOR == 0 && length > 0);
    unsigned char *bytes = memory_allocate(2 * (size_t)length);

    make_write_room(c);
    // Keep the old bytes here, because a cut could not read them from the image any more: it holds
    // the new bytes from now on, which the machine must read.
    memcpy(bytes, before, length);
    memcpy(bytes + length, after, length);
    c->items[c->count++] = (struct cached_write){offset, length, bytes, bytes + length};
    c->bytes += length;
}

void cache_evict_oldest(struct cache *c)
{
    struct cached_write *oldest = &c->items[c->first++];

    c->bytes -= oldest->length;
    free_write(oldest);
    if (c->first == c->count)
        c->first = c->count = 0;
}

bool cache_undo(const struct cache *c, size_t from, cache_put_fn *put, void *arg)
{
    // Undo the newest first, because a later write may have replaced bytes of an earlier one.
    for (size_t i = c->count; i-- > from;) {
        const struct cached_write *w = &c->items[i];
        if (!put(arg, w->offset, w->before, w->length))
            return false;
    }
    return true;
}

bool cache_take_back(struct cache *c, size_t from, cache_put_fn *put, void *arg)
{
    if (!cache_undo(c, from, put, arg))
        return false;
    while (c->count > from) {
        struct cached_write *w = &c->items[--c->count];
        c->bytes -= w->length;
        free_write(w);
    }
    return true;
}

// --- a power cut ------------------------------------------------------------------

// The part of one write that lies in one sector.
struct version {
    uint64_t sector;
    size_t write; // number of the write; a later write has a greater one
};

static int compare_versions(const void *a, const void *b)
{
    const struct version *x = a, *y = b;

    if (x->sector != y->sector)
        return x->sector < y->sector ? -1 : 1;
    return x->write < y->write ? -1 : x->write > y->write;
}

// Returns all versions, sorted by sector and those of one sector from old to new. The caller frees
// them.
static struct version *list_versions(const struct cache *c, size_t *count)
{
    struct version *all = memory_allocate((size_t)(c->bytes / CACHE_SECTOR) * sizeof *all);

    *count = 0;
    for (size_t i = c->first; i < c->count; i++) {
        const struct cached_write *w = &c->items[i];
        for (uint64_t at = 0; at < w->length; at += CACHE_SECTOR)
            all[(*count)++] = (struct version){(w->offset + at) / CACHE_SECTOR, i};
    }
    qsort(all, *count, sizeof *all, compare_versions);
    return all;
}

// Returns the sector's bytes as this write left them or, if `before`, as the write found them.
static const unsigned char *version_bytes(
    const struct cache *c, const struct version *v, bool before)
{
    const struct cached_write *w = &c->items[v->write];

    return (before ? w->before : w->after) + (v->sector * CACHE_SECTOR - w->offset);
}

bool cache_choose(const struct cache *c, uint64_t seed, cache_put_fn *put, void *arg,
    struct cache_cut *out, struct err *e)
{
    // The share of the sectors that survive a cut. With one share for all cuts, all cuts would be
    // of one kind. So neighbouring seeds have different shares.
    static const double shares[] = {0.5, 0.125, 0.875, 0};
    struct rng rng;
    size_t count;
    bool ok = true;
    struct version *all FREED_BY(memory_free) = list_versions(c, &count);

    rng_init(&rng, seed, 0);
    const double survives = shares[seed % (sizeof shares / sizeof *shares)];
    *out = (struct cache_cut){.writes = c->count - c->first};
    // The versions from `from` to `to` are those of one sector.
    for (size_t from = 0, to; ok && from < count; from = to) {
        for (to = from + 1; to < count && all[to].sector == all[from].sector;)
            to++;
        bool is_lost = rng_uniform(&rng) >= survives; // the sector stays as before the first write
        // Each sector is drawn on its own, so 8 kB pages are torn, and later writes may be there
        // while earlier ones are not. A sector itself is never torn.
        size_t chosen = is_lost ? from : from + (size_t)rng_below(&rng, to - from);
        ok = put(arg, all[from].sector * CACHE_SECTOR, version_bytes(c, &all[chosen], is_lost),
            CACHE_SECTOR);
        out->sectors++;
        out->kept += !is_lost && chosen == to - 1; // only a sector with its last write counts
    }
    return ok || err_sys(e, ERR_SYSTEM, "cannot write the disk's image");
}
