#include "disk/device.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "disk/write_log.h"
#include "disk/replay.h"

// The size of the cache. A real disk's cache is limited, too: it writes to the platter what does
// not fit any more.
#define CACHE_MAX (UINT64_C(64) << 20)

bool device_open(struct device *d, const char *dir, struct err *e)
{
    struct stat st;

    d->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    d->image = d->dir >= 0 ? openat(d->dir, DEVICE_IMAGE, O_RDWR | O_CLOEXEC) : -1;
    if (d->image < 0 || fstat(d->image, &st) != 0) {
        err_sys(e, ERR_SYSTEM, "cannot open %s/" DEVICE_IMAGE, dir);
        device_close(d);
        return false;
    }
    d->size = (uint64_t)st.st_size;
    return true;
}

void device_close(struct device *d)
{
    if (d->record)
        fclose(d->record);
    replay_free(d->replay);
    cache_fini(&d->cache);
    if (d->image >= 0)
        close(d->image);
    if (d->dir >= 0)
        close(d->dir);
    *d = (struct device)DEVICE_INIT;
}

bool device_read(struct device *d, uint64_t offset, void *data, size_t length)
{
    size_t done = 0;

    if (offset > d->size || length > d->size - offset)
        return false;
    while (done < length) {
        ssize_t got = pread(d->image, (char *)data + done, length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool device_put(void *file, uint64_t offset, const void *data, uint32_t length)
{
    size_t done = 0;

    // The bytes may take several calls.
    while (done < length) {
        ssize_t got = pwrite(
            *(const int *)file, (const char *)data + done, length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

// Adds a write or a flush to the recording, if there is one.
static bool record_entry(struct device *d, enum logged_kind kind, int64_t at_ns, uint64_t offset,
    const void *data, uint32_t length, struct err *e)
{
    struct logged_entry entry = {kind, length, offset, at_ns};

    return !d->record || write_log_append(d->record, &entry, data, e);
}

// Counts the sectors of a write that contain the word for which the armed cut waits.
static uint64_t count_word_sectors(const struct device *d, const void *data, size_t length)
{
    uint64_t count = 0;

    for (size_t at = 0; d->word[0] && at < length; at += CACHE_SECTOR)
        count += memmem((const char *)data + at, CACHE_SECTOR, d->word, strlen(d->word)) != NULL;
    return count;
}

// Remembers the bytes that the write replaces, then writes.
static bool take_write(struct device *d, uint64_t offset, const void *data, uint32_t length)
{
    unsigned char *before FREED_BY(memory_free) = memory_allocate(length);
    struct err unsaid; // not shown: the machine only learns that its write failed
    bool ok = device_read(d, offset, before, length);

    // In a replay, the write goes into the list of the trial (a server's run on one state) and not
    // into the cache, because all writes of a trial are undone before the next state.
    if (ok && d->replay) {
        ok = replay_remember(d->replay, offset, length, before, data);
    } else if (ok) {
        cache_add(&d->cache, offset, length, before, data);
        // Count the sectors even if the image cannot be written: the cache has the write now, and
        // evict_oldest will subtract them.
        d->word_sectors += count_word_sectors(d, data, length);
    }
    return ok && device_put(&d->image, offset, data, length) &&
           record_entry(d, LOGGED_WRITE, clock_now_ns(), offset, data, length, &unsaid);
}

// True when the write's last bytes are this canary; false if there is no canary ("").
static bool is_canary(const char *canary, const void *data, size_t length)
{
    return canary[0] && length >= DEVICE_CANARY_BYTES &&
           memcmp((const char *)data + length - DEVICE_CANARY_BYTES, canary, DEVICE_CANARY_BYTES) ==
               0;
}

// Evicts the writes for which the cache has no room. They are on the platter now, so an armed cut
// does not count them any more.
static void evict_oldest(struct device *d)
{
    while (d->cache.bytes > CACHE_MAX) {
        const struct cached_write *oldest = &d->cache.items[d->cache.first];
        d->word_sectors -= count_word_sectors(d, oldest->after, oldest->length);
        if (is_canary(d->canary_in_cache, oldest->after, oldest->length))
            d->canary_in_cache[0] = '\0';
        cache_evict_oldest(&d->cache);
    }
}

enum device_answer device_write(struct device *d, uint64_t offset, const void *data, size_t length)
{
    if (d->power == POWER_DARK) // cut: no answer
        return DEVICE_HELD;
    if (d->power == POWER_OFF) // the machine is gone: nobody needs the request, so end it
        return DEVICE_DONE;
    if (offset % CACHE_SECTOR || length % CACHE_SECTOR || length == 0 || length > UINT32_MAX ||
        !take_write(d, offset, data, (uint32_t)length))
        return DEVICE_FAILED;
    d->counts.writes++;
    if (is_canary(d->canary, data, length)) {
        memcpy(d->canary_in_cache, d->canary, sizeof d->canary_in_cache);
        d->canary[0] = '\0'; // a later write with the same end is no canary
    }
    evict_oldest(d);
    // The armed cut comes with the first write after which the cache holds all that it waits for.
    if (d->canary_in_cache[0] && d->word_sectors >= d->least)
        d->power = POWER_DARK;
    return DEVICE_DONE;
}

// Forgets the canary and the sectors that a cut waits for, because they are not in the cache any
// more.
static void forget_armed(struct device *d)
{
    d->canary_in_cache[0] = '\0';
    d->word_sectors = 0;
}

enum device_answer device_flush(struct device *d, int64_t now_ns, int64_t *due_ns)
{
    if (d->power == POWER_DARK) // cut: no answer
        return DEVICE_HELD;
    if (d->power == POWER_OFF) // the machine is gone: nobody needs the request, so end it
        return DEVICE_DONE;
    d->counts.flushes++;
    // A failed flush leaves its writes in the cache, so a later cut may lose them.
    if (d->fail_in > 0 && --d->fail_in == 0) {
        d->counts.failed++;
        return DEVICE_FAILED;
    }
    *due_ns = now_ns + d->flush_takes_ns;
    // A lying disk answers in time and keeps everything in the cache.
    if (d->flushing == FLUSHING_HONEST) {
        struct err unsaid; // not shown: the machine only learns that its flush failed
        device_empty_cache(d);
        if (!record_entry(d, LOGGED_FLUSH, *due_ns, 0, NULL, 0, &unsaid))
            return DEVICE_FAILED;
        if (d->replay)
            replay_flush(d->replay);
    }
    if (d->flush_takes_ns == 0)
        return DEVICE_DONE;
    d->counts.delayed++;
    return DEVICE_LATER;
}

void device_empty_cache(struct device *d)
{
    cache_clear(&d->cache);
    forget_armed(d);
}

void device_arm(
    struct device *d, const char *canary, uint64_t seed, uint64_t least, const char *word)
{
    forget_armed(d);
    d->least = least;
    snprintf(d->word, sizeof d->word, "%s", word);
    snprintf(d->canary, sizeof d->canary, "%s", canary);
    d->seed = seed;
    // Sectors that are in the cache already count, too.
    for (size_t i = d->cache.first; i < d->cache.count; i++)
        d->word_sectors += count_word_sectors(d, d->cache.items[i].after, d->cache.items[i].length);
}

bool device_power_on(struct device *d, struct cache_cut *left, struct err *e)
{
    *left = (struct cache_cut){0};
    if (d->power == POWER_ON)
        return true;
    if (!cache_choose(&d->cache, d->seed, device_put, &d->image, left, e))
        return false;
    device_empty_cache(d);
    d->power = POWER_ON;
    return true;
}

// --- recording --------------------------------------------------------------------

// Copies the parts of the image that are not holes.
static bool copy_image(int from, int to, uint64_t size)
{
    off_t at = 0, end;

    if (ftruncate(to, (off_t)size) != 0)
        return false;
    while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
        // There is a hole behind the last data, too. So this fails only when the image cannot be
        // read.
        if ((end = lseek(from, at, SEEK_HOLE)) < 0)
            return false;
        for (off_t out = at; at < end;) {
            ssize_t got = copy_file_range(from, &at, to, &out, (size_t)(end - at), 0);
            if (got <= 0)
                return false;
        }
    }
    return errno == ENXIO; // there is no data any more after `at`
}

// Copies the image and undoes the cache's writes in the copy, as if a cut had lost them all.
static bool make_base(struct device *d, struct err *e)
{
    int fd = openat(d->dir, DEVICE_BASE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && copy_image(d->image, fd, d->size) &&
              cache_undo(&d->cache, d->cache.first, device_put, &fd);

    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot copy the disk's image");
    if (fd >= 0)
        close(fd);
    return ok;
}

// Begins the record with the cache's writes, which the base lacks.
static bool record_cache(struct device *d, struct err *e)
{
    for (size_t i = d->cache.first; i < d->cache.count; i++) {
        const struct cached_write *w = &d->cache.items[i];
        if (!record_entry(d, LOGGED_WRITE, clock_now_ns(), w->offset, w->after, w->length, e))
            return false;
    }
    return true;
}

bool device_record(struct device *d, struct err *e)
{
    // Closing the old record writes the rest of its buffer, so close it before the file is emptied.
    if (d->record)
        fclose(d->record);
    int fd = openat(d->dir, DEVICE_RECORD, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    d->record = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!d->record) {
        err_sys(e, ERR_SYSTEM, "cannot make the disk's record");
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (make_base(d, e) && record_cache(d, e))
        return true;
    fclose(d->record);
    d->record = NULL;
    return false;
}

bool device_end_record(struct device *d, struct err *e)
{
    if (!d->record)
        return err_set(e, ERR_USAGE, "there is no recording");
    // A replay has a state for each flush. This one makes a state of the writes after the last real
    // flush.
    bool ok = record_entry(d, LOGGED_FLUSH, clock_now_ns(), 0, NULL, 0, e);
    // Only the first error is reported; after it, closing often fails for the same reason.
    if (fclose(d->record) != 0 && ok)
        ok = err_sys(e, ERR_SYSTEM, "cannot write the disk's record");
    d->record = NULL;
    return ok;
}
