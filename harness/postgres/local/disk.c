#include "postgres/local/disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "os/paths.h"
#include "os/process.h"

#define TOOL_WORDS 7
#define MOUNTED "loop,nosuid,nodev" // nosuid and nodev, because the server's user may write there
// The size of the image. The image is sparse, so only written blocks take room.
#define DISK_BYTES (INT64_C(2) << 30)

static const int64_t unmount_limit_ns = 10 * NS_PER_S;
static const useconds_t poll_us = 5000;
static const int dirty_sectors = 128; // number of unflushed sectors of changed pages for which a
                                      // cut waits
static const int64_t dirty_limit_ns = 5 * NS_PER_S; // how long it waits for them

// How to make, mount and repair each file system. No writes but the server's may reach the disk, so
// the kernel must not fill inode tables in the background, and nothing is discarded.
static const struct disk_filesystem {
    const char *type;
    const char *make[TOOL_WORDS + 1]; // command; the image's name follows
    const char *options;              // options of the mount
    const char *unasked; // options for DISK_UNASKED: without barriers, the file system asks for no
                         // flush; NULL: the file system cannot do that
    const char *repair[TOOL_WORDS + 1]; // command; the device's name follows
} filesystems[] = {
    [FILES_EXT4] = {"ext4",
        {"mkfs.ext4", "-q", "-F", "-m", "0", "-E",
            "lazy_itable_init=1,lazy_journal_init=1,nodiscard"},
        MOUNTED ",noinit_itable,barrier", MOUNTED ",noinit_itable,nobarrier", {"e2fsck", "-fy"}},
    [FILES_WRITEBACK] = {"ext4",
        {"mkfs.ext4", "-q", "-F", "-m", "0", "-E",
            "lazy_itable_init=1,lazy_journal_init=1,nodiscard"},
        MOUNTED ",noinit_itable,barrier,data=writeback",
        MOUNTED ",noinit_itable,nobarrier,data=writeback", {"e2fsck", "-fy"}},
    [FILES_XFS] = {"xfs", {"mkfs.xfs", "-q", "-f", "-K"}, MOUNTED, NULL, {"xfs_repair", "-L"}},
};

// Gives this process a mount namespace of its own. So nobody else sees its mounts, and the kernel
// removes them when the process and its children are gone.
static bool enter_namespace(struct err *e)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return err_sys(e, ERR_SKIP, "storage: crashable needs a mount namespace");
    return true;
}

static bool make_file(const char *path, int64_t bytes, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && ftruncate(fd, bytes) == 0;

    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot make %s", path);
    if (fd >= 0)
        close(fd);
    return ok;
}

// Runs the command to its end, with the path as its last argument.
static bool run_tool(const char *const command[], const char *path, struct err *e)
{
    const char *argv[TOOL_WORDS + 2] = {NULL};
    char text[300];
    size_t count = 0;

    for (; count < TOOL_WORDS && command[count]; count++)
        argv[count] = command[count];
    argv[count] = path;
    return process_run(argv, (uid_t)-1, 0, text, sizeof text, e);
}

// Makes the image with a file system on it, and the empty file over which the image is served.
static bool make_image(const struct disk *d, struct err *e)
{
    if (!make_file(d->image, DISK_BYTES, e) || !make_file(d->device, 0, e))
        return false;
    if (run_tool(d->files->make, d->image, e))
        return true;
    e->kind = ERR_SKIP;
    return err_prefix(e, "storage: crashable needs a file system of its own");
}

// Mounts the file system as the wanted manner needs it: with DISK_UNASKED it asks for no flush.
static bool mount_filesystem(struct disk *d, struct err *e)
{
    char text[300];
    const char *options = d->manner == DISK_UNASKED ? d->files->unasked : d->files->options;
    const char *argv[] = {"mount", "-t", d->files->type, "-o", options, d->device, d->mount, NULL};

    d->mounted = process_run(argv, (uid_t)-1, 0, text, sizeof text, e);
    return d->mounted;
}

// Starts mailproof-disk, and lets it serve the image as d->device.
static bool serve_disk(struct disk *d, const char *dir, struct err *e)
{
    // The program must start before the namespace is made, so that it does not keep the namespace
    // alive.
    return drive_start(&d->drive, dir, e) && enter_namespace(e) &&
           drive_mount(&d->drive, d->device, e);
}

bool disk_make(struct disk *d, const char *dir, const struct scenario_postgres *want, uint64_t seed,
    struct err *e)
{
    *d = (struct disk){.drive = DRIVE_INIT,
        .manner = want->disk,
        .files = &filesystems[want->files],
        .seed = seed};
    if (geteuid() != 0)
        return err_set(e, ERR_SKIP, "storage: crashable needs root, for a disk of its own");
    if (!path_join(d->image, dir, "disk.img", e) || !path_join(d->device, dir, "disk.dev", e) ||
        !path_join(d->mount, dir, "disk", e) || !make_image(d, e) || !serve_disk(d, dir, e))
        return false;
    if (mkdir(d->mount, 0700) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make %s", d->mount);
    if (!mount_filesystem(d, e)) {
        e->kind = ERR_SKIP;
        return err_prefix(e, "storage: crashable needs a loop device");
    }
    // The root folder of the file system belongs to us and holds the canary. The server gets a
    // folder inside it.
    return canary_make(&d->canary, d->mount, e);
}

static bool flush_disk(const struct disk *d, struct err *e)
{
    int fd = open(d->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && syncfs(fd) == 0;

    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot flush %s", d->mount);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool disk_settle(struct disk *d, struct err *e)
{
    // "settle" empties the disk's cache, also for a file system that asks for no flushes.
    return flush_disk(d, e) && drive_command(&d->drive, NULL, 0, e, "settle") &&
           (d->manner != DISK_LYING || drive_command(&d->drive, NULL, 0, e, "lie")) &&
           canary_write_flushed(&d->canary, d->mount, e);
}

bool disk_dirty_pages(struct disk *d, PGconn *conn, struct err *e)
{
    // Pages are changed so that a cut may tear them. A disk that is not honest loses whole writes
    // that were flushed, so there torn pages would prove nothing.
    if (d->manner == DISK_HONEST)
        return pages_change(&d->pages, conn, e);
    PQfinish(conn);
    return true;
}

// --- the power -----------------------------------------------------------------------

// Writes a new canary. The disk cuts its power as soon as its cache holds that canary and at least
// `least` unflushed sectors of the changed pages.
static bool write_canary(struct disk *d, int least, struct err *e)
{
    // The disk chooses by seed % 4 how likely a sector is to survive, so successive cuts differ.
    const unsigned long long seed = (unsigned long long)d->seed * 4 + d->cuts;
    char word[PAGES_WORD];

    canary_draw_mark(&d->canary);
    pages_word(&d->pages, word);
    return drive_command(
               &d->drive, NULL, 0, e, "arm %llu %d %s %s", seed, least, word, d->canary.mark) &&
           canary_write_unflushed(&d->canary, d->mount, e);
}

// Asks the disk whether its power is cut, and stores that in d->power. *canary becomes false when a
// flush has taken the canary out of the disk's cache.
static bool ask_power(struct disk *d, bool *canary, struct err *e)
{
    enum { HOLDS_CANARY = 4, IS_DARK, COUNTS };
    int64_t counts[COUNTS];

    if (!drive_command(&d->drive, counts, COUNTS, e, "counts"))
        return false;
    *canary = counts[HOLDS_CANARY];
    if (counts[IS_DARK])
        d->power = DISK_DARK;
    return true;
}

// While the server writes changed pages, keeps an unflushed canary in the disk's cache: writes a
// new one each time that a flush has taken the last one out. The disk then cuts its power in the
// midst of writing (write_canary).
bool disk_cut_power(struct disk *d, struct err *e)
{
    const int64_t deadline = clock_now_ns() + dirty_limit_ns;
    bool canary = false;

    d->evidence[0] = '\0';
    while (d->power == DISK_ON && clock_now_ns() < deadline && pages_write(&d->pages)) {
        if ((!canary && !write_canary(d, dirty_sectors, e)) || !ask_power(d, &canary, e))
            return false;
    }
    // If the server has not written enough pages, cuts the power without waiting for them. Such a
    // cut tears no page, and its evidence says so.
    if (d->power == DISK_ON && (!write_canary(d, 0, e) || !ask_power(d, &canary, e)))
        return false;
    d->cut_ns = clock_now_ns();
    d->cuts++;
    return d->power == DISK_DARK || err_set(e, ERR_SYSTEM, "the disk did not take the canary");
}

bool disk_off(struct disk *d, struct err *e)
{
    if (!drive_command(&d->drive, NULL, 0, e, "off"))
        return false;
    d->power = DISK_OFF;
    return true;
}

bool disk_unmount(struct disk *d, struct err *e)
{
    int64_t deadline = clock_now_ns() + unmount_limit_ns;

    if (!d->mounted)
        return true;
    while (umount2(d->mount, 0) != 0) {
        if (errno != EBUSY || clock_now_ns() > deadline)
            return err_sys(e, ERR_SYSTEM, "cannot unmount %s", d->mount);
        // Not interrupt_sleep_until: the disk must be unmounted after an interrupt, too.
        usleep(poll_us);
    }
    d->mounted = false;
    return true;
}

// Repairs the file system, as an operator does with one that cannot be mounted. An exit of the tool
// with an error (ERR_SYSTEM) is no failure: the next mount shows whether the repair succeeded.
static bool repair_filesystem(const struct disk *d, struct err *e)
{
    struct err repaired; // e2fsck exits with 1 when it has repaired something

    if (run_tool(d->files->repair, d->device, &repaired))
        return true;
    return repaired.kind == ERR_SYSTEM || err_set(e, repaired.kind, "%s", repaired.text);
}

// Fills in the evidence of a cut. Fails when the cut took nothing, or when an honest disk has lost
// flushed sectors. `left` is the disk's answer to `on`: unflushed writes, their sectors, and how
// many of these sectors were kept.
static bool prove_cut(struct disk *d, const int64_t left[3], struct err *e)
{
    const int all = CANARY_BYTES / 512;
    int flushed, unflushed, torn;
    struct err unread;

    // If the file system cannot be read, both files of the canary count as lost.
    if (!canary_count_gone(&d->canary, d->mount, &flushed, &unflushed, &unread))
        flushed = unflushed = all;
    // Torn pages are not part of the proof, so it does not matter when their file is gone.
    if (!pages_count_torn(&d->pages, &torn, &unread))
        torn = 0;
    snprintf(d->evidence, sizeof d->evidence,
        "%d pages torn; %lld of %lld unflushed sectors kept; gone of the canary: %d of %d "
        "unflushed, %d flushed%s",
        torn, (long long)left[2], (long long)left[1], unflushed, all, flushed,
        d->repaired ? "; file system repaired" : "");
    if (unflushed == 0)
        return err_set(
            e, ERR_SYSTEM, "the cut took nothing: the unflushed sectors are still there");
    if (flushed > 0 && d->manner == DISK_HONEST)
        return err_set(e, ERR_SYSTEM, "%d flushed sectors are gone after the cut", flushed);
    return true;
}

bool disk_mount(struct disk *d, struct err *e)
{
    int64_t left[3];
    bool cut = d->power == DISK_OFF;

    if (d->mounted)
        return true;
    if (cut && !drive_command(&d->drive, left, 3, e, "on"))
        return false;
    d->power = DISK_ON;
    d->repaired = false;
    if (!mount_filesystem(d, e)) {
        // After a cut of an honest disk the file system must mount. It may be repaired only if the
        // disk is not honest, or if the cut may have hit the mount itself.
        bool may_repair = d->superblock_at_risk || (cut && d->manner != DISK_HONEST);
        if (!may_repair || !repair_filesystem(d, e) || !mount_filesystem(d, e))
            return false;
        d->repaired = true;
    }
    return !cut || (prove_cut(d, left, e) && canary_write_flushed(&d->canary, d->mount, e));
}

void disk_remove(struct disk *d)
{
    struct err ignored;

    pages_fini(&d->pages);
    if (d->power == DISK_DARK && !disk_off(d, &ignored)) {
        // The disk's program is gone, and so are the requests that waited.
    }
    if (!disk_unmount(d, &ignored)) {
        // The mount disappears when we end, because we are the last process of its namespace.
    }
    // This fails if the device is not mounted.
    if (d->drive.pid)
        umount2(d->device, MNT_DETACH);
    drive_end(&d->drive);
}

void disk_keep(struct disk *d)
{
    if (d->drive.control >= 0)
        close(d->drive.control);
    d->drive = (struct drive)DRIVE_INIT;
    d->mounted = false;
}
