#include "postgres/local/states.h"

#include "postgres/local/local.h"

// Returns the server's crashable disk; NULL with ERR_USAGE when it has none.
static struct disk *server_disk(struct server *s, struct err *e)
{
    struct local *l = s->provider == &provider_local ? s->state : NULL;

    if (l && l->crashable)
        return &l->disk;
    err_set(e, ERR_USAGE, "only a disk of ours can be recorded (postgres.storage: crashable)");
    return NULL;
}

bool states_record(struct server *s, int64_t flush_ns, struct err *e)
{
    struct disk *disk = server_disk(s, e);
    int64_t delayed;

    return disk && drive_command(&disk->drive, NULL, 0, e, "record") &&
           disk_slow_down(disk, flush_ns, &delayed, e);
}

static bool kill_and_unmount(struct server *s, struct disk *disk, struct err *e)
{
    return s->provider->stop(s, SERVER_STOP_KILL, e) && disk_unmount(disk, e);
}

bool states_begin(struct server *s, uint64_t *count, struct err *e)
{
    struct disk *disk = server_disk(s, e);
    int64_t number, delayed;

    // The recording had slowed the flushes down; from here on they take no longer than they must.
    if (!disk || !disk_slow_down(disk, 0, &delayed, e) ||
        !drive_command(&disk->drive, NULL, 0, e, "end-record") || !kill_and_unmount(s, disk, e) ||
        !drive_command(&disk->drive, &number, 1, e, "replay"))
        return false;
    *count = (uint64_t)number;
    return true;
}

// Kills the server and puts the disk into the n-th state. `again`: into the state of a second cut,
// whose answer has no time.
static bool put_disk(
    struct server *s, bool again, uint64_t n, uint64_t seed, struct state *out, struct err *e)
{
    struct disk *disk = server_disk(s, e);
    int64_t numbers[4] = {0};

    if (!disk || !kill_and_unmount(s, disk, e) ||
        !drive_command(&disk->drive, numbers, again ? 3 : 4, e, "%s %llu %llu",
            again ? "again" : "state", (unsigned long long)n, (unsigned long long)seed))
        return false;
    // A mount writes the superblock, and the recording holds no mount. So only a second cut, after
    // the mount of a state, may tear the superblock.
    disk->superblock_at_risk = again;
    *out = (struct state){
        .writes = numbers[0], .sectors = numbers[1], .kept = numbers[2], .at_ns = numbers[3]};
    return true;
}

bool states_put(struct server *s, uint64_t n, uint64_t seed, struct state *out, struct err *e)
{
    return put_disk(s, false, n, seed, out, e);
}

bool states_count_flushes(struct server *s, uint64_t *flushes, struct err *e)
{
    struct disk *disk = server_disk(s, e);
    int64_t number;

    if (!disk || !drive_command(&disk->drive, &number, 1, e, "trial"))
        return false;
    *flushes = (uint64_t)number;
    return true;
}

bool states_put_again(struct server *s, uint64_t n, uint64_t seed, struct state *out, struct err *e)
{
    return put_disk(s, true, n, seed, out, e);
}

bool states_repaired(struct server *s)
{
    struct err ignored;
    const struct disk *disk = server_disk(s, &ignored);

    return disk && disk->repaired;
}
