#include "postgres/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/paths.h"
#include "os/process.h"

// linux/fs.h has it since 6.17 only; ext4 and xfs have answered it for longer.
#define FS_SHUTDOWN _IOR('X', 125, uint32_t)
#define FS_SHUTDOWN_NO_LOG_FLUSH 2u

#define DISK_BYTES (INT64_C(2) << 30) // sparse: takes what is written

static const int64_t unmount_limit_ns = 10 * NS_PER_S;
static const int64_t poll_ns = 5 * NS_PER_MS;

static bool enter_namespace(struct err *e)
{
    if (geteuid() != 0)
        return err_set(e, ERR_SKIP, "storage: crashable needs root, for a disk of its own");
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return err_sys(e, ERR_SKIP, "storage: crashable needs a mount namespace");
    return true;
}

static bool make_image(const struct disk *d, struct err *e)
{
    char text[300];
    const char *argv[] = {"mkfs.ext4", "-q", "-F", "-m", "0", "-E",
        "lazy_itable_init=1,lazy_journal_init=1,nodiscard", d->image, NULL};
    int fd = open(d->image, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && ftruncate(fd, DISK_BYTES) == 0;

    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot make %s", d->image);
    if (fd >= 0)
        close(fd);
    if (!ok || process_run(argv, (uid_t)-1, 0, text, sizeof text, e))
        return ok;
    e->kind = ERR_SKIP;
    return err_prefix(e, "storage: crashable needs a file system of its own");
}

bool disk_mount(struct disk *d, struct err *e)
{
    char text[300];
    const char *argv[] = {"mount", "-t", "ext4", "-o", "loop", d->image, d->mount, NULL};

    if (d->mounted)
        return true;
    d->mounted = process_run(argv, (uid_t)-1, 0, text, sizeof text, e);
    return d->mounted;
}

bool disk_make(struct disk *d, const char *dir, uid_t uid, gid_t gid, struct err *e)
{
    d->mounted = false;
    if (!path_join(d->image, dir, "disk.img", e) || !path_join(d->mount, dir, "disk", e) ||
        !enter_namespace(e) || !make_image(d, e))
        return false;
    if (mkdir(d->mount, 0700) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make %s", d->mount);
    if (!disk_mount(d, e)) {
        e->kind = ERR_SKIP;
        return err_prefix(e, "storage: crashable needs a loop device");
    }
    return chown(d->mount, uid, gid) == 0 ||
           err_sys(e, ERR_SYSTEM, "cannot give %s to the server's user", d->mount);
}

bool disk_cut_power(struct disk *d, struct err *e)
{
    uint32_t how = FS_SHUTDOWN_NO_LOG_FLUSH;
    int fd = open(d->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && ioctl(fd, FS_SHUTDOWN, &how) == 0;

    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot cut the power of %s", d->mount);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool disk_unmount(struct disk *d, struct err *e)
{
    int64_t deadline = clock_now_ns() + unmount_limit_ns;

    if (!d->mounted)
        return true;
    while (umount2(d->mount, 0) != 0) {
        if (errno != EBUSY || clock_now_ns() > deadline)
            return err_sys(e, ERR_SYSTEM, "cannot unmount %s", d->mount);
        struct timespec step = {.tv_nsec = poll_ns};
        nanosleep(&step, NULL);
    }
    d->mounted = false;
    return true;
}

bool disk_flush(const struct disk *d, struct err *e)
{
    int fd = open(d->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && syncfs(fd) == 0;

    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot flush %s", d->mount);
    if (fd >= 0)
        close(fd);
    return ok;
}
