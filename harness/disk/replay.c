#include "disk/replay.h"

#include <fcntl.h>

#include "disk/write_log.h"

// The most bytes that a trial may write to the disk. Recovery and a checkpoint write a few
// megabytes.
#define TRIAL_MAX (UINT64_C(512) << 20)

struct replay {
    FILE *record;
    uint64_t flushed;   // number of the flush whose state the disk is in; 0: none yet
    struct cache trial; // the writes to undo before the next state: first those that made the
                        // state, then the server's
    size_t chosen;      // how many of these writes made the state
    size_t *flushes;    // owned; for each flush of the trial: how many writes of `trial` came
                        // before it
    size_t flush_count;
    unsigned char *data; // owned; the bytes of the entry that was read last
    size_t size;
};

// Reads the record to its end and counts its flushes. r->data is the buffer for the entries.
static bool count_flushes(FILE *f, struct replay *r, uint64_t *flushes, struct err *e)
{
    struct logged_entry entry;
    bool end;

    for (*flushes = 0; write_log_next(f, &entry, &r->data, &r->size, &end, e);) {
        if (end)
            return true;
        *flushes += entry.kind == LOGGED_FLUSH;
    }
    return false;
}

static FILE *open_disk_record(struct device *d, struct err *e)
{
    int fd = openat(d->dir, DEVICE_RECORD, O_RDONLY | O_CLOEXEC);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (!f) {
        err_sys(e, ERR_SYSTEM, "cannot open the disk's record");
        if (fd >= 0)
            close(fd);
    }
    return f;
}

// Makes the recorded base the image itself, which saves making a copy.
static bool take_base(struct device *d, struct err *e)
{
    int base = openat(d->dir, DEVICE_BASE, O_RDWR | O_CLOEXEC);

    if (base < 0 || renameat(d->dir, DEVICE_BASE, d->dir, DEVICE_IMAGE) != 0) {
        err_sys(e, ERR_SYSTEM, "cannot go back to the recorded disk");
        if (base >= 0)
            close(base);
        return false;
    }
    close(d->image);
    d->image = base;
    return true;
}

bool replay_begin(struct device *d, uint64_t *flushes, struct err *e)
{
    struct replay *r = memory_zeroed(1, sizeof *r);

    r->record = open_disk_record(d, e);
    if (!r->record || !count_flushes(r->record, r, flushes, e) || !take_base(d, e)) {
        replay_free(r);
        return false;
    }
    rewind(r->record);
    device_empty_cache(d);
    replay_free(d->replay);
    d->replay = r;
    d->power = POWER_ON;
    return true;
}

void replay_free(struct replay *r)
{
    if (!r)
        return;
    if (r->record)
        fclose(r->record);
    cache_fini(&r->trial);
    free(r->flushes);
    free(r->data);
    free(r);
}

bool replay_remember(
    struct replay *r, uint64_t offset, uint32_t length, const void *before, const void *after)
{
    if (r->trial.bytes + length > TRIAL_MAX)
        return false;
    cache_add(&r->trial, offset, length, before, after);
    return true;
}

void replay_flush(struct replay *r)
{
    // How many of the trial's writes came before its last flush; if this is its first flush, how
    // many made the state.
    const size_t last = r->flush_count ? r->flushes[r->flush_count - 1] : r->chosen;

    // A flush with nothing to flush leaves the same state as the one before it.
    if (r->trial.count == last)
        return;
    memory_grow(&r->flushes, r->flush_count, 1, sizeof *r->flushes);
    r->flushes[r->flush_count++] = r->trial.count;
}

// Undoes the trial's writes in the image, from number `from` on; 0: all of them.
static bool undo_trial(struct device *d, size_t from, struct err *e)
{
    return cache_take_back(&d->replay->trial, from, device_put, &d->image) ||
           err_sys(e, ERR_SYSTEM, "cannot write the disk's image");
}

// Puts a chosen sector onto the image, as a write of the trial, so that it is undone before the
// next state.
static bool put_for_trial(void *device, uint64_t offset, const void *data, uint32_t length)
{
    struct device *d = device;
    unsigned char before[CACHE_SECTOR];

    return length == sizeof before && device_read(d, offset, before, length) &&
           replay_remember(d->replay, offset, length, before, data) &&
           device_put(&d->image, offset, data, length);
}

// Reads the recorded writes up to the next flush, puts them onto the image, and adds them to the
// cache together with the bytes that they replaced. Sets *at_ns to the time of the flush.
static bool read_interval(struct device *d, struct cache *cache, int64_t *at_ns, struct err *e)
{
    struct replay *r = d->replay;
    struct logged_entry entry;
    bool end;

    for (;;) {
        if (!write_log_next(r->record, &entry, &r->data, &r->size, &end, e))
            return false;
        if (end)
            return err_set(e, ERR_SYSTEM, "the disk's record has no such flush");
        if (entry.kind == LOGGED_FLUSH)
            break;
        unsigned char *before FREED_BY(memory_free) = memory_allocate(entry.length);
        bool ok = device_read(d, entry.offset, before, entry.length);
        if (ok)
            cache_add(cache, entry.offset, entry.length, before, r->data);
        if (!ok || !device_put(&d->image, entry.offset, r->data, entry.length))
            return err_sys(e, ERR_SYSTEM, "cannot write the disk's image");
    }
    *at_ns = entry.at_ns;
    return true;
}

// Puts onto the image what a power cut might have left of the unflushed writes; the seed chooses.
// The trial's list keeps these sectors as the last of the writes that made the state, so they are
// undone before the next state.
static bool put_choice(struct device *d, const struct cache *unflushed, uint64_t seed,
    struct cache_cut *left, struct err *e)
{
    struct replay *r = d->replay;

    r->flush_count = 0; // a new trial begins
    if (!cache_choose(unflushed, seed, put_for_trial, d, left, e))
        return false;
    r->chosen = r->trial.count;
    return true;
}

bool replay_state(struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left,
    int64_t *at_ns, struct err *e)
{
    struct replay *r = d->replay;
    struct cache cache = {0};
    bool ok = undo_trial(d, 0, e);

    if (ok && n <= r->flushed)
        return err_set(e, ERR_USAGE, "the states of a replay only go forward");
    while (ok && r->flushed < n) {
        cache_clear(&cache);
        ok = read_interval(d, &cache, at_ns, e);
        r->flushed++;
    }
    // The image now has all writes before the n-th flush, because the next state needs them.
    // put_choice takes back those that the cut loses; before the next state that is undone.
    ok = ok && put_choice(d, &cache, seed, left, e);
    cache_fini(&cache);
    return ok;
}

uint64_t replay_trial_flushes(const struct replay *r)
{
    return r->flush_count;
}

bool replay_again(
    struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left, struct err *e)
{
    struct replay *r = d->replay;
    struct cache unflushed = {0};

    if (n == 0 || n > r->flush_count)
        return err_set(e, ERR_USAGE, "the trial has not flushed that often");
    // Writes before flush n - 1 are on the platter, and those after flush n never came. Only the
    // writes between these two flushes are in doubt.
    const size_t from = n > 1 ? r->flushes[n - 2] : r->chosen, to = r->flushes[n - 1];
    for (size_t i = from; i < to; i++) {
        const struct cached_write *w = &r->trial.items[i];
        cache_add(&unflushed, w->offset, w->length, w->before, w->after);
    }
    bool ok = undo_trial(d, from, e) && put_choice(d, &unflushed, seed, left, e);
    cache_fini(&unflushed);
    return ok;
}
