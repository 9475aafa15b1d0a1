#include "postgres/durability.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "os/paths.h"
#include "postgres/sql.h"

#define PROBES 64
#define BLOCK 8192
#define MOUNTS_MAX (1u << 20)

// Measures the cost of a flush: the median of many. False with errno when writing or flushing
// fails.
static bool time_flushes(int fd, int64_t *median_ns)
{
    char block[BLOCK];
    int64_t took[PROBES];

    memset(block, 'x', sizeof block);
    for (int i = 0; i < PROBES; i++) {
        int64_t start = clock_now_ns();
        // Writes the same block each time, because a file that grows would also flush its metadata.
        if (pwrite(fd, block, sizeof block, 0) != BLOCK || fdatasync(fd) != 0)
            return false;
        took[i] = clock_now_ns() - start;
    }
    // Takes the median, because a few flushes may have to wait for other programs' writes.
    qsort(took, PROBES, sizeof *took, clock_compare);
    *median_ns = took[PROBES / 2];
    return true;
}

// True when an overlay's options contain "volatile" as an option of its own. The paths of its
// layers may contain the word, too. `mount` is the part of a line of mountinfo that has the file
// system's type, its source and its options. Destroys the text.
static bool has_volatile(char *mount)
{
    char *options = NULL;

    for (int field = 0; field < 3; field++)
        options = strsep(&mount, " \n");
    for (char *option; (option = strsep(&options, ",")) != NULL;) {
        if (strcmp(option, "volatile") == 0)
            return true;
    }
    return false;
}

void durability_find_mount(
    FILE *mounts, const char *key, char *filesystem, size_t size, bool *is_volatile)
{
    char *line FREED_BY(memory_free) = NULL, device[32], place[PATH_MAX];
    size_t capacity = 0;

    snprintf(filesystem, size, "unknown");
    *is_volatile = false;
    // A line has id, parent, device number, root, mount point, options, " - ", type, source and
    // options. A later mount hides an earlier one in the same place, so the last line that fits
    // counts.
    while (getline(&line, &capacity, mounts) > 0) {
        char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %31s %*s %4095s", device, place) != 2 ||
            (strcmp(key, device) != 0 && strcmp(key, place) != 0))
            continue;
        snprintf(filesystem, size, "%.*s", (int)strcspn(rest + 3, " "), rest + 3);
        *is_volatile = has_volatile(rest + 3);
    }
}

// Finds the file system on this machine that holds `dir`.
static void find_mount_of(const char *dir, struct durability_proof *proof, bool *is_volatile)
{
    char device[32] = "none";
    struct stat st;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");

    if (stat(dir, &st) == 0)
        snprintf(device, sizeof device, "%u:%u", major(st.st_dev), minor(st.st_dev));
    if (mounts) {
        durability_find_mount(
            mounts, device, proof->filesystem, sizeof proof->filesystem, is_volatile);
        fclose(mounts);
    }
}

// Fails with ERR_SKIP when the file system or the cost of a flush shows that flushes in `dir` do
// not reach a device.
static bool reaches_device(
    const char *dir, const struct durability_proof *proof, bool is_volatile, struct err *e)
{
    if (strcmp(proof->filesystem, "tmpfs") == 0 || strcmp(proof->filesystem, "ramfs") == 0)
        return err_set(e, ERR_SKIP, "%s lies on %s, in memory", dir, proof->filesystem);
    if (is_volatile)
        return err_set(
            e, ERR_SKIP, "%s lies on a volatile %s, which never flushes", dir, proof->filesystem);
    if (proof->fsync_ns < DURABILITY_FSYNC_MIN_NS)
        return err_set(e, ERR_SKIP, "a flush in %s takes %.1f µs, so it reaches no device", dir,
            (double)proof->fsync_ns / 1e3);
    return true;
}

// Fills in the file system's name and the cost of one flush in `dir`, a folder on this machine.
// ERR_SKIP when flushes there do not reach a device.
static bool probe_here(const char *dir, struct durability_proof *proof, struct err *e)
{
    char path[PATH_MAX];
    bool is_volatile = false;

    snprintf(proof->filesystem, sizeof proof->filesystem, "unknown");
    find_mount_of(dir, proof, &is_volatile);
    if (!path_join(path, dir, "fsync-probe", e))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, ERR_SYSTEM, "cannot write %s", path);
    bool ok = time_flushes(fd, &proof->fsync_ns) || err_sys(e, ERR_SYSTEM, "cannot flush %s", path);
    close(fd);
    unlink(path);
    return ok && reaches_device(dir, proof, is_volatile, e);
}

// --- a server whose disk is not visible from here -------------------------------------

bool durability_read_dd(const char *text, int blocks, int64_t *flush_ns)
{
    const char *copied = strstr(text, "copied, ");
    double seconds;

    // Both GNU's dd and busybox's report in this form.
    if (!copied || sscanf(copied, "copied, %lf s", &seconds) != 1)
        return false;
    *flush_ns = (int64_t)(seconds * 1e9 / blocks);
    return true;
}

// Finds the file system that is mounted at `dir` on the server's machine.
static bool find_mount_there(const struct server *s, const char *dir,
    struct durability_proof *proof, bool *is_volatile, struct err *e)
{
    static const char *const argv[] = {"cat", "/proc/self/mountinfo", NULL};
    char *text FREED_BY(memory_free) = memory_allocate(MOUNTS_MAX);
    FILE *mounts = NULL;

    bool ok = s->provider->exec(s, argv, text, MOUNTS_MAX, e) &&
              ((mounts = fmemopen(text, strlen(text), "r")) ||
                  err_sys(e, ERR_SYSTEM, "cannot read /proc/self/mountinfo there"));
    if (ok)
        durability_find_mount(
            mounts, dir, proof->filesystem, sizeof proof->filesystem, is_volatile);
    if (mounts)
        fclose(mounts);
    return ok;
}

// Measures the cost of a flush in `dir` on the server's machine, by dd.
static bool time_flushes_there(
    const struct server *s, const char *dir, struct durability_proof *proof, struct err *e)
{
    char of[PATH_MAX + 20], count[24], text[600], ignored_text[200];
    struct err ignored;

    snprintf(of, sizeof of, "of=%s/fsync-probe", dir);
    snprintf(count, sizeof count, "count=%d", PROBES);
    const char *const dd[] = {
        "env", "LC_ALL=C", "dd", "if=/dev/zero", of, "bs=8k", count, "oflag=dsync", NULL};
    const char *const rm[] = {"rm", "-f", of + strlen("of="), NULL};
    bool ok = s->provider->exec(s, dd, text, sizeof text, e) &&
              (durability_read_dd(text, PROBES, &proof->fsync_ns) ||
                  err_set(e, ERR_SYSTEM, "dd did not say how long it took: %s", text));
    if (!s->provider->exec(s, rm, ignored_text, sizeof ignored_text, &ignored)) {
        // A file that cannot be removed does no harm: it is small, and the server ignores it.
    }
    return ok;
}

// Probes the disk from inside the container, when its volume is not visible from here.
static bool probe_there(
    const struct server *s, PGconn *admin, struct durability_proof *proof, struct err *e)
{
    char dir[PATH_MAX];
    bool is_volatile;

    if (!sql_value(admin, "SHOW data_directory", dir, sizeof dir, e))
        return false;
    if (find_mount_there(s, dir, proof, &is_volatile, e) && time_flushes_there(s, dir, proof, e))
        return reaches_device(dir, proof, is_volatile, e);
    // An ERR_SKIP, like that of a failed proof, lets the scenario waive the proof.
    e->kind = ERR_SKIP;
    return err_prefix(e, "the disk with its data cannot be probed");
}

// Reads the settings that durability needs into the proof. ERR_SKIP names the first that is wrong.
static bool check_server_settings(
    PGconn *admin, const struct settings *settings, struct durability_proof *proof, struct err *e)
{
    static const char *const names[] = {"fsync", "full_page_writes", "synchronous_commit"};
    // A scenario may lower synchronous_commit on purpose; the run's verdict then shows what that
    // costs.
    const char *lowered = settings_value(settings, "synchronous_commit");
    const char *want[] = {"on", "on", lowered ? lowered : "on"};
    size_t used = 0;
    char first_wrong[100] = "";

    for (size_t i = 0; i < 3; i++) {
        char sql[64], value[32];
        snprintf(sql, sizeof sql, "SHOW %s", names[i]);
        if (!sql_value(admin, sql, value, sizeof value, e))
            return false;
        used += (size_t)snprintf(proof->settings + used, sizeof proof->settings - used, "%s%s=%s",
            i ? " " : "", names[i], value);
        if (strcmp(value, want[i]) != 0 && !first_wrong[0])
            snprintf(first_wrong, sizeof first_wrong, "%s is %s", names[i], value);
    }
    return !first_wrong[0] || err_set(e, ERR_SKIP, "%s", first_wrong);
}

bool durability_prove(const struct server *s, PGconn *admin, enum durability want,
    const struct settings *settings, struct durability_proof *proof, struct err *e)
{
    *proof = (struct durability_proof){0};
    // Wrong settings are treated as a failed proof, which the scenario may waive.
    bool settings_fit = check_server_settings(admin, settings, proof, e);
    // A remote server is accepted by its settings, because nothing else of it is visible.
    if (settings_fit && !s->data_dir && !s->provider->exec) {
        snprintf(
            proof->verdict, sizeof proof->verdict, "declared, not proved: %s", proof->settings);
        return true;
    }
    proof->durable = settings_fit && (s->data_dir ? probe_here(s->data_dir, proof, e)
                                                  : probe_there(s, admin, proof, e));
    if (proof->durable) {
        snprintf(proof->verdict, sizeof proof->verdict, "proved: %s, one flush takes %.0f µs, %s",
            proof->filesystem, (double)proof->fsync_ns / 1e3, proof->settings);
        return true;
    }
    // Other errors, such as a lost connection, say nothing about the disk.
    if (e->kind != ERR_SKIP)
        return false;
    if (want == DURABILITY_WAIVE) {
        snprintf(proof->verdict, sizeof proof->verdict, "waived, not durable: %.150s", e->text);
        err_clear(e);
        return true;
    }
    return err_prefix(e,
        "the server may lose acknowledged commits when the power fails (set postgres.durability: "
        "waive to run all the same)");
}
