#include "postgres/local/canary.h"

#include <fcntl.h>

#include "os/paths.h"

#define SECTOR 512

static const char flushed[] = "canary.flushed";
static const char unflushed[] = "canary.unflushed";

// Aligned, because O_DIRECT needs memory that is aligned like the disk's blocks.
struct content {
    _Alignas(4096) unsigned char bytes[CANARY_BYTES];
};

// Fills the sectors so that each differs from all others and, because c->turn and c->marks count
// the writes, from the same sector in every other write. If a mark was drawn, it goes to the end,
// where the disk looks for it.
static void fill_canary(struct content *content, const struct canary *c)
{
    for (unsigned at = 0; at < CANARY_BYTES; at += SECTOR) {
        memset(content->bytes + at, (int)('A' + c->turn % 26), SECTOR);
        snprintf((char *)content->bytes + at, SECTOR, "turn %u mark %u sector %u", c->turn,
            c->marks, at / SECTOR);
    }
    if (c->mark[0])
        memcpy(content->bytes + CANARY_BYTES - CANARY_MARK, c->mark, CANARY_MARK);
}

static int open_canary(const char *dir, const char *name, int flags, struct err *e)
{
    char path[PATH_MAX];

    if (!path_join(path, dir, name, e))
        return -1;
    int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        err_sys(e, ERR_SYSTEM, "cannot open %s", path);
    return fd;
}

// Writes the content into a canary's file, and flushes it if asked. `flags` are further ones of
// open(2).
static bool write_canary_file(const char *dir, const char *name, int flags, bool flush,
    const struct content *content, struct err *e)
{
    int fd = open_canary(dir, name, O_WRONLY | flags, e);

    if (fd < 0)
        return false;
    bool ok =
        pwrite(fd, content->bytes, CANARY_BYTES, 0) == CANARY_BYTES && (!flush || fsync(fd) == 0);
    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot write %s", name);
    close(fd);
    return ok;
}

bool canary_make(struct canary *c, const char *dir, struct err *e)
{
    struct content content;

    *c = (struct canary){0};
    fill_canary(&content, c);
    return write_canary_file(dir, flushed, O_CREAT, true, &content, e) &&
           write_canary_file(dir, unflushed, O_CREAT, true, &content, e);
}

bool canary_write_flushed(struct canary *c, const char *dir, struct err *e)
{
    struct content content;

    c->turn++;
    c->marks = 0;
    c->mark[0] = '\0';
    fill_canary(&content, c);
    // A direct write bypasses the kernel's page cache and reaches the disk at once. So only the
    // flush decides whether a cut can take it.
    return write_canary_file(dir, flushed, O_DIRECT, true, &content, e);
}

void canary_draw_mark(struct canary *c)
{
    c->marks++;
    snprintf(c->mark, sizeof c->mark, "%016llx%08x%08x", (unsigned long long)clock_now_ns(),
        (unsigned)getpid(), c->turn);
}

bool canary_write_unflushed(struct canary *c, const char *dir, struct err *e)
{
    struct content content;

    fill_canary(&content, c);
    return write_canary_file(dir, unflushed, O_DIRECT, false, &content, e);
}

// Counts the sectors of one file that differ from `want`. False when the file cannot be read.
static bool count_gone_sectors(
    const char *dir, const char *name, const struct content *want, int *gone, struct err *e)
{
    struct content got;
    int fd = open_canary(dir, name, O_RDONLY, e);

    *gone = 0;
    if (fd < 0)
        return false;
    bool ok = pread(fd, got.bytes, CANARY_BYTES, 0) == CANARY_BYTES;
    close(fd);
    for (int at = 0; ok && at < CANARY_BYTES; at += SECTOR)
        *gone += memcmp(got.bytes + at, want->bytes + at, SECTOR) != 0;
    return ok || err_sys(e, ERR_SYSTEM, "cannot read %s", name);
}

bool canary_count_gone(
    const struct canary *c, const char *dir, int *flushed_gone, int *unflushed_gone, struct err *e)
{
    struct content want;
    struct canary plain = {.turn = c->turn}; // as the flushed file was written: without a mark

    fill_canary(&want, &plain);
    if (!count_gone_sectors(dir, flushed, &want, flushed_gone, e))
        return false;
    fill_canary(&want, c);
    return count_gone_sectors(dir, unflushed, &want, unflushed_gone, e);
}
