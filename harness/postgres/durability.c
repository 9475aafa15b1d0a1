#include "postgres/durability.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/paths.h"
#include "postgres/sql.h"

#define PROBES 64
#define BLOCK 8192

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool time_flushes(int fd, int64_t *median_ns)
{
    char block[BLOCK];
    int64_t took[PROBES];

    memset(block, 'x', sizeof block);
    for (int i = 0; i < PROBES; i++) {
        int64_t start = clock_now_ns();
        if (pwrite(fd, block, sizeof block, 0) != BLOCK || fdatasync(fd) != 0)
            return false;
        took[i] = clock_now_ns() - start;
    }
    qsort(took, PROBES, sizeof *took, by_value);
    *median_ns = took[PROBES / 2];
    return true;
}

// From /proc/self/mountinfo, by device number: the file system's type and its
// mount options ("volatile" is what makes an overlay forget).
static void find_mount(const char *dir, char *type, size_t size, bool *is_volatile)
{
    struct stat st;
    char line[4096], device[32];
    FILE *mounts = fopen("/proc/self/mountinfo", "re");

    snprintf(type, size, "unknown");
    *is_volatile = false;
    if (!mounts)
        return;
    if (stat(dir, &st) == 0) {
        snprintf(device, sizeof device, " %u:%u ", major(st.st_dev), minor(st.st_dev));
        while (fgets(line, sizeof line, mounts)) {
            const char *rest = strstr(line, " - ");
            if (!strstr(line, device) || !rest)
                continue;
            snprintf(type, size, "%.*s", (int)strcspn(rest + 3, " "), rest + 3);
            *is_volatile = strstr(rest, "volatile") != NULL;
        }
    }
    fclose(mounts);
}

bool durability_probe(const char *dir, struct durability_proof *proof, struct err *e)
{
    char path[PATH_MAX];
    bool is_volatile;

    find_mount(dir, proof->filesystem, sizeof proof->filesystem, &is_volatile);
    if (!path_join(path, dir, "fsync-probe", e))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, ERR_SYSTEM, "cannot write %s", path);
    bool ok = time_flushes(fd, &proof->fsync_ns) || err_sys(e, ERR_SYSTEM, "cannot flush %s", path);
    close(fd);
    unlink(path);
    if (!ok)
        return false;
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

// What the scenario set itself, or `otherwise`.
static const char *wanted(const struct settings *settings, const char *name, const char *otherwise)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->items[i].name, name) == 0)
            return settings->items[i].value;
    }
    return otherwise;
}

static bool check_settings(
    PGconn *admin, const struct settings *settings, struct durability_proof *proof, struct err *e)
{
    static const char *const names[] = {"fsync", "full_page_writes", "synchronous_commit"};
    const char *want[] = {"on", "on", wanted(settings, "synchronous_commit", "on")};
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

// Settings that are right are all that can be seen of a server elsewhere.
static bool declared(
    PGconn *admin, const struct settings *settings, struct durability_proof *proof, struct err *e)
{
    if (!check_settings(admin, settings, proof, e))
        return false;
    snprintf(proof->verdict, sizeof proof->verdict, "declared, not proved: %s", proof->settings);
    return true;
}

bool durability_prove(const struct server *s, PGconn *admin, enum durability want,
    const struct settings *settings, struct durability_proof *proof, struct err *e)
{
    *proof = (struct durability_proof){0};
    if (!s->data_dir && declared(admin, settings, proof, e))
        return true;
    proof->durable = s->data_dir && check_settings(admin, settings, proof, e) &&
                     durability_probe(s->data_dir, proof, e);
    if (proof->durable) {
        snprintf(proof->verdict, sizeof proof->verdict, "proved: %s, one flush takes %.0f µs, %s",
            proof->filesystem, (double)proof->fsync_ns / 1e3, proof->settings);
        return true;
    }
    if (e->kind != ERR_SKIP)
        return false;
    if (want == DURABILITY_WAIVE) {
        snprintf(proof->verdict, sizeof proof->verdict, "waived, not durable: %.150s", e->text);
        err_clear(e);
        return true;
    }
    return err_prefix(e,
        "the server would lose acknowledged commits when the power fails (set postgres.durability: "
        "waive to run all the same)");
}
