#include "os/segments.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "os/process.h"

// The beginning of PGShmemHeader in PostgreSQL's storage/pg_shmem.h.
#define HEADER_MAGIC 679834894
struct header {
    int32_t magic;
    pid_t postmaster;
    size_t total_size, free_offset;
    uint32_t control; // handle of the control segment
};

// dsm_control_header and dsm_control_item of PostgreSQL's storage/ipc/dsm.c from version 14 on. The
// segments that a killed server of version 13 had made for parallel queries may stay.
#define CONTROL_MAGIC 0x9a503d32u
#define ITEMS_MAX 100000
struct item {
    uint32_t handle, references;
    size_t first_page, pages;
    void *impl;
    bool pinned;
};
struct control {
    uint32_t magic, used, most;
    struct item items[];
};

static void posix_name(char name[40], uint32_t handle)
{
    snprintf(name, 40, "/PostgreSQL.%u", handle);
}

// Removes one POSIX segment. Returns 0: a visitor returns a size, and here none is wanted.
static size_t unlink_posix(uint32_t handle)
{
    char name[40];

    posix_name(name, handle);
    shm_unlink(name);
    return 0;
}

static size_t measure_posix(uint32_t handle)
{
    char path[60];
    struct stat st;

    snprintf(path, sizeof path, "/dev/shm/PostgreSQL.%u", handle);
    return stat(path, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
}

// Visits the segments that a control segment of `size` bytes lists, and returns the sum of the
// results; 0 when the bytes do not look like a control segment.
static size_t visit_items(const struct control *c, size_t size, size_t (*visit)(uint32_t handle))
{
    size_t sum = 0;

    if (size < sizeof *c || c->magic != CONTROL_MAGIC || c->used > ITEMS_MAX ||
        c->used > (size - sizeof *c) / sizeof *c->items)
        return 0;
    // An odd handle names a part of the main shared memory, and no segment of its own.
    for (uint32_t i = 0; i < c->used; i++) {
        if (c->items[i].references > 0 && c->items[i].handle % 2 == 0)
            sum += visit(c->items[i].handle);
    }
    return sum;
}

// Visits the POSIX segments of a server and returns the sum of the results. `handle` is that of the
// control segment, which comes last, because the others are found through it.
static size_t visit_posix(uint32_t handle, size_t (*visit)(uint32_t handle))
{
    char name[40];
    struct stat st;

    posix_name(name, handle);
    int fd = shm_open(name, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    size_t size = fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
    void *at = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (at == MAP_FAILED)
        return 0;
    size_t sum = visit_items(at, size, visit);
    munmap(at, size);
    return sum + visit(handle);
}

// Reads a segment's header, which names the control segment. True when this postmaster made the
// segment.
static bool read_header(int id, pid_t postmaster, struct header *header)
{
    const void *at = shmat(id, NULL, SHM_RDONLY);

    if (at == (void *)-1)
        return false;
    memcpy(header, at, sizeof *header);
    shmdt(at);
    return header->magic == HEADER_MAGIC && header->postmaster == postmaster;
}

// Removes a System V segment, and the POSIX segments that are found through it.
static void remove_segment(int id, pid_t postmaster)
{
    struct header header;

    if (!read_header(id, postmaster, &header))
        return;
    visit_posix(header.control, unlink_posix);
    shmctl(id, IPC_RMID, NULL);
}

// Returns the id of the i-th of the machine's System V segments if this postmaster made it, else
// -1.
static int segment_of(int i, const struct segments_maker *maker, struct shmid_ds *st)
{
    int id = shmctl(i, SHM_STAT, st);

    return id >= 0 && st->shm_cpid == maker->pid && st->shm_ctime >= maker->since &&
                   st->shm_ctime < maker->until && st->shm_segsz >= sizeof(struct header)
               ? id
               : -1;
}

bool segments_remove(const struct segments_maker *maker)
{
    struct shmid_ds st;
    bool all_detached = true;
    int last = shmctl(0, SHM_INFO, &st); // the last index at which there may be a segment

    for (int i = 0; i <= last; i++) {
        int id = segment_of(i, maker, &st);
        if (id >= 0 && st.shm_nattch == 0)
            remove_segment(id, maker->pid);
        else if (id >= 0)
            all_detached = false;
    }
    return all_detached;
}

// True when the process has the segment attached: a line of /proc/PID/maps then shows the segment's
// id in the place of an inode.
static bool has_attached(pid_t pid, int id)
{
    char path[64], line[512], name[64];
    bool found = false;
    int inode;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = sscanf(line, "%*s %*s %*s %*s %d %63s", &inode, name) == 2 && inode == id &&
                strncmp(name, "/SYSV", 5) == 0;
    if (maps)
        fclose(maps);
    return found;
}

size_t segments_users(const struct segments_maker *maker, pid_t *pids, size_t max)
{
    pid_t *all FREED_BY(memory_free) = NULL;
    size_t all_count = process_all(&all), count = 0;
    struct shmid_ds st;
    int last = shmctl(0, SHM_INFO, &st);

    for (int i = 0; i <= last; i++) {
        int id = segment_of(i, maker, &st);
        // The kernel says only how many processes have attached a segment; which they are stands
        // only in the maps of the processes.
        bool attached = id >= 0 && st.shm_nattch > 0;
        for (size_t j = 0; attached && j < all_count && count < max; j++) {
            if (all[j] > 1 && has_attached(all[j], id))
                pids[count++] = all[j];
        }
    }
    return count;
}

size_t segments_bytes(pid_t postmaster)
{
    const struct segments_maker maker = {.pid = postmaster, .until = INT64_MAX};
    struct shmid_ds st;
    struct header header;
    size_t sum = 0;
    int last = shmctl(0, SHM_INFO, &st);

    for (int i = 0; i <= last; i++) {
        int id = segment_of(i, &maker, &st);
        if (id >= 0 && read_header(id, postmaster, &header))
            sum += st.shm_segsz + visit_posix(header.control, measure_posix);
    }
    return sum;
}
