#include "os/own_clock.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#include "os/paths.h"
#include "os/process.h"

// Finds libfaketime. Takes its variant for programs with threads, which serves others, too.
static bool find_library(char library[PATH_MAX], struct err *e)
{
#ifdef MAILPROOF_SANITIZED
    (void)library;
    return err_set(
        e, ERR_SKIP, "step-clock does not go with a sanitizer, which must be loaded first");
#else
    glob_t found;
    bool there = glob("/usr/lib/*/faketime/libfaketimeMT.so.1", 0, NULL, &found) == 0;

    if (there)
        snprintf(library, PATH_MAX, "%s", found.gl_pathv[0]);
    globfree(&found);
    return there || err_set(e, ERR_SKIP, "step-clock needs Debian's package libfaketime");
#endif
}

// Writes the offset for libfaketime. Replaces the file as a whole, because a process may be reading
// it.
static bool write_clock_offset(const struct own_clock *c, int64_t offset_ns, struct err *e)
{
    char fresh[PATH_MAX + 8], text[40];
    int len = snprintf(text, sizeof text, "%+.6f\n", (double)offset_ns / 1e9);

    snprintf(fresh, sizeof fresh, "%s.new", c->file);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    // The child may run as another user, who must be able to read the file, whatever our umask.
    bool ok = fd >= 0 && fchmod(fd, 0644) == 0 && write(fd, text, (size_t)len) == len;
    if (fd >= 0)
        close(fd);
    return (ok && rename(fresh, c->file) == 0) ||
           err_sys(e, ERR_SYSTEM, "cannot write %s", c->file);
}

bool own_clock_make(struct own_clock *c, const char *dir, const char *name, struct err *e)
{
    *c = (struct own_clock){0};
    return find_library(c->library, e) && path_join(c->file, dir, name, e) &&
           write_clock_offset(c, 0, e);
}

void own_clock_add_env(const struct own_clock *c, struct child_env *env)
{
    // libfaketime is to read the file at each call, to share no state between the processes in
    // shared memory, and to leave the monotonic clock and the times of files alone.
    child_env_set(env, "LD_PRELOAD", c->library);
    child_env_set(env, "FAKETIME_TIMESTAMP_FILE", c->file);
    child_env_set(env, "FAKETIME_NO_CACHE", "1");
    child_env_set(env, "FAKETIME_DONT_FAKE_MONOTONIC", "1");
    child_env_set(env, "FAKETIME_DISABLE_SHM", "1");
    child_env_set(env, "NO_FAKE_STAT", "1");
}

bool own_clock_step(struct own_clock *c, int64_t by_ns, struct err *e)
{
    if (!write_clock_offset(c, c->offset_ns + by_ns, e))
        return false;
    c->offset_ns += by_ns;
    return true;
}

// True when the process has libfaketime loaded: a line of its maps then ends with the library's
// name.
static bool loads_faketime(const struct own_clock *c, pid_t pid)
{
    char path[40], *line FREED_BY(memory_free) = NULL;
    size_t size = 0;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && getline(&line, &size, maps) > 0)
        found = strstr(line, strrchr(c->library, '/')) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

// True when the process has ended, reaped or not. It then shows no maps.
static bool is_gone_or_zombie(pid_t pid)
{
    struct process_stat stat;

    return !process_alive(pid) || (process_stat(pid, &stat) && stat.state == 'Z');
}

bool own_clock_is_loaded(const struct own_clock *c, pid_t pid)
{
    pid_t *family FREED_BY(memory_free) = NULL;
    size_t count = process_descendants(pid, &family);
    bool loaded = loads_faketime(c, pid);

    for (size_t i = 0; loaded && i < count; i++)
        // A descendant that has ended does not matter.
        loaded = loads_faketime(c, family[i]) || is_gone_or_zombie(family[i]);
    return loaded;
}
