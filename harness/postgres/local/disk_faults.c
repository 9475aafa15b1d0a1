// The faults of a disk that has power: it is slow, fails or is full.
#include "postgres/local/disk.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#include "os/paths.h"

static const char ballast[] = "ballast";

// Places in the answer of mailproof-disk, which counts writes, flushes, delayed and failed flushes.
enum { COUNT_DELAYED = 2, COUNT_FAILED = 3, COUNTS };

bool disk_slow_down(struct disk *d, int64_t flush_ns, int64_t *delayed, struct err *e)
{
    int64_t counts[COUNTS];

    if (!drive_command(&d->drive, counts, COUNTS, e, "flush-takes %lld", (long long)flush_ns))
        return false;
    *delayed = counts[COUNT_DELAYED];
    return true;
}

bool disk_fail_flush(struct disk *d, int n, int64_t *failed, struct err *e)
{
    int64_t counts[COUNTS];

    if (!drive_command(&d->drive, counts, COUNTS, e, "fail-flush %d", n))
        return false;
    *failed = counts[COUNT_FAILED];
    return true;
}

bool disk_count_failed(struct disk *d, int64_t *failed, struct err *e)
{
    int64_t counts[COUNTS];

    if (!drive_command(&d->drive, counts, COUNTS, e, "counts"))
        return false;
    *failed = counts[COUNT_FAILED];
    return true;
}

// Fills the disk with pieces that get smaller and smaller, because the last free blocks are
// scattered.
bool disk_fill(struct disk *d, int64_t *bytes, struct err *e)
{
    char path[PATH_MAX];

    if (!path_join(path, d->mount, ballast, e))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    *bytes = 0;
    for (int64_t piece = INT64_C(64) << 20; fd >= 0 && piece >= 4096; piece /= 4) {
        while (fallocate(fd, 0, *bytes, piece) == 0)
            *bytes += piece;
    }
    bool ok = fd >= 0 && errno == ENOSPC;
    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot fill %s", d->mount);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool disk_empty(struct disk *d, struct err *e)
{
    char path[PATH_MAX];

    if (!path_join(path, d->mount, ballast, e))
        return false;
    return unlink(path) == 0 || err_sys(e, ERR_SYSTEM, "cannot remove %s", path);
}

bool disk_is_read_only(const struct disk *d)
{
    struct statvfs st;

    return statvfs(d->mount, &st) != 0 || (st.f_flag & ST_RDONLY) != 0;
}
