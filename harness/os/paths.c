#include "os/paths.h"

#include <libgen.h>
#include <sys/stat.h>

bool path_join(char out[PATH_MAX], const char *dir, const char *name, struct err *e)
{
    int len = snprintf(out, PATH_MAX, "%s/%s", dir, name);

    if (len < 0 || len >= PATH_MAX)
        return err_set(e, ERR_SYSTEM, "the path %.200s/%.200s is too long", dir, name);
    return true;
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool path_beside(char out[PATH_MAX], const char *file, const char *name)
{
    int folder_len = *name == '/' ? 0 : (int)(path_name(file) - file);

    return snprintf(out, PATH_MAX, "%.*s%s", folder_len, file, name) < PATH_MAX;
}

bool path_make_parent(const char *file, struct err *e)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s", file) >= (int)sizeof path)
        return err_set(e, ERR_SYSTEM, "the path %.200s… is too long", file);
    return path_make(dirname(path), e);
}

bool path_can_make_parent(const char *file)
{
    char path[PATH_MAX];
    bool missing = false;
    struct stat st;

    if (snprintf(path, sizeof path, "%s", file) >= (int)sizeof path)
        return false;
    // dirname cuts the last part off `path` itself, so each call goes one folder up.
    const char *dir = dirname(path);
    for (; stat(dir, &st) != 0; dir = dirname(path)) {
        if (errno != ENOENT)
            return false;
        missing = true;
    }
    return missing && S_ISDIR(st.st_mode) && access(dir, W_OK | X_OK) == 0;
}

bool path_cache(char out[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct err ignored;

    if (cache && *cache == '/')
        return path_join(out, cache, "mailproof", &ignored) && path_make(out, &ignored);
    return home && *home == '/' && path_join(out, home, ".cache/mailproof", &ignored) &&
           path_make(out, &ignored);
}

bool path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool path_has(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct err ignored;

    return path_join(path, folder, name, &ignored) && path_exists(path);
}

// Finds the folder of this program's own executable.
static bool program_dir(char out[PATH_MAX], struct err *e)
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 1);

    if (len < 0)
        return err_sys(e, ERR_SYSTEM, "cannot find the folder of this program");
    out[len] = '\0';
    *strrchr(out, '/') = '\0'; // the kernel gives an absolute path
    return true;
}

bool path_share(char out[PATH_MAX], const char *name, struct err *e)
{
    // The places of the files, seen from the program's folder. Installed: bin/ beside share/.
    // Built: build/bin in the source tree.
    static const char *const places[] = {"../share/mailproof", "../.."};
    char dir[PATH_MAX], below[PATH_MAX];

    if (!program_dir(dir, e))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX];
        if (!path_join(below, places[i], name, e) || !path_join(path, dir, below, e))
            return false;
        if (realpath(path, out))
            return true;
    }
    return err_set(e, ERR_SYSTEM,
        "cannot find the folder %s: neither in %s/../share/mailproof nor in the source tree", name,
        dir);
}

bool path_sibling(char out[PATH_MAX], const char *program, struct err *e)
{
    char dir[PATH_MAX];

    return program_dir(dir, e) && path_join(out, dir, program, e);
}

bool path_helper(char out[PATH_MAX], const char *program, enum err_kind missing, struct err *e)
{
    char installed[PATH_MAX];

    if (!path_sibling(out, program, e))
        return false;
    return path_exists(out) ||
           (path_join(installed, "../libexec/mailproof", program, e) &&
               path_sibling(out, installed, e) &&
               (path_exists(out) ||
                   err_set(e, missing, "%s is not installed with mailproof", program)));
}

bool path_program(char out[PATH_MAX], const char *dirs, const char *name)
{
    const char *dir = dirs;
    struct stat st;

    for (size_t len; dir && *dir; dir += len + (dir[len] == ':')) {
        len = strcspn(dir, ":");
        if (snprintf(out, PATH_MAX, "%.*s/%s", (int)len, dir, name) < PATH_MAX &&
            stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

enum err_kind path_err_kind(void)
{
    return errno == EACCES || errno == EROFS || errno == ENOENT || errno == ENOTDIR ? ERR_USAGE
                                                                                    : ERR_SYSTEM;
}

// Makes one folder, unless it is there. False with errno when that is not possible.
static bool make_folder(const char *path)
{
    struct stat st;

    if (mkdir(path, 0777) == 0)
        return true;
    if (errno != EEXIST || stat(path, &st) != 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(st.st_mode);
}

bool path_make(const char *dir, struct err *e)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path)
        return err_set(e, ERR_SYSTEM, "the path %.200s… is too long", dir);
    // Make each folder on the way, by ending the path at each slash in turn, except the root's.
    for (char *p = path + strspn(path, "/");; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (!make_folder(path))
            return err_sys(e, path_err_kind(), "cannot make the folder %s", path);
        *p = end;
        if (end == '\0')
            return true;
    }
}

bool path_read(const char *path, struct buf *text, enum err_kind kind, struct err *e)
{
    FILE *file = fopen(path, "re");
    char chunk[4096];
    size_t got;

    if (!file)
        return err_sys(e, kind, "cannot read %.500s", path);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0 && buf_append(text, chunk, got))
        ;
    bool ok = !ferror(file) || err_sys(e, kind, "cannot read %.500s", path);
    fclose(file);
    return ok && (buf_str(text) ||
                     err_set(e, kind, "%.500s is longer than %zu KiB", path, text->max >> 10));
}
