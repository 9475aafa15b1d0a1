#include "os/workdir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "os/paths.h"
#include "os/postmasters.h"

#define DEPTH_MAX 64 // limit for nested folders, of which a server makes few

static const char prefix[] = "mailproof.";
static const char kept_mark[] = "kept";

static const char *parent_dir(void)
{
    const char *chosen = getenv("MAILPROOF_TMPDIR");

    return chosen && *chosen ? chosen : "/var/tmp";
}

static bool remove_entry(int dir, const char *name, dev_t device, int depth);

// Removes everything in the open folder `fd` and closes `fd`. Fails if the folder is on another
// file system than `device`.
static bool empty_folder(int fd, dev_t device, int depth)
{
    struct stat st;
    struct dirent *entry;
    bool ok = fstat(fd, &st) == 0 && st.st_dev == device && depth < DEPTH_MAX;
    DIR *dir = ok ? fdopendir(fd) : NULL;

    if (!dir) {
        close(fd);
        return false;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ok = remove_entry(dirfd(dir), entry->d_name, device, depth + 1) && ok;
    }
    closedir(dir);
    return ok;
}

// Removes a file or folder. The server's user owns the folders and may put a link in a folder's
// place at any moment, so each step starts at an open folder and follows no link.
static bool remove_entry(int dir, const char *name, dev_t device, int depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return true;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && empty_folder(fd, device, depth) && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

bool workdir_remove_tree(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && remove_entry(AT_FDCWD, path, st.st_dev, 0);
}

// True while the path still names the folder that is open as `fd`.
static bool same_folder(int fd, const char *path)
{
    struct stat here, there;

    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
}

// Returns the descriptor that holds the lock; -1 when another process holds the lock or the folder
// is gone.
static int lock_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && same_folder(fd, path))
        return fd;
    close(fd);
    return -1;
}

// Removes the folder if it is ours, is not marked as kept, and no living run has locked it.
static void remove_if_abandoned(const char *path, uid_t user)
{
    char mark[PATH_MAX];
    struct stat st;
    struct err ignored;

    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return;
    if (!path_join(mark, path, kept_mark, &ignored) || path_exists(mark))
        return;
    // The run that uses the folder holds the lock. The kernel releases the lock when that run dies,
    // in whatever way.
    int fd = lock_folder(path);
    if (fd < 0)
        return;
    postmasters_sweep(path, user);
    workdir_remove_tree(path);
    close(fd);
}

// Removes the folders that killed runs have left in `parent`; `user` is their servers' user.
static void remove_abandoned(const char *parent, uid_t user)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)) != NULL) {
        char path[PATH_MAX];
        struct err ignored;
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
            path_join(path, parent, entry->d_name, &ignored))
            remove_if_abandoned(path, user);
    }
    closedir(dir);
}

bool workdir_make(struct workdir *w, uid_t user, struct err *e)
{
    const char *parent = parent_dir();

    w->lock = -1;
    // The server's socket lies below this folder, so the folder's name stands in conninfos, in
    // which these characters have a meaning.
    if (*parent != '/' || parent[strcspn(parent, " \t\n,'\\")])
        return err_set(e, ERR_USAGE,
            "MAILPROOF_TMPDIR has to be an absolute path without blanks, commas, quotes and "
            "backslashes, not '%.200s'",
            parent);
    remove_abandoned(parent, user);
    // The sweep of another run may remove the new folder before this run locks it. Then try
    // another.
    for (int tries = 0; tries < 10 && w->lock < 0; tries++) {
        int len = snprintf(w->path, sizeof w->path, "%s/%sXXXXXX", parent, prefix);
        if (len < 0 || len >= (int)sizeof w->path)
            return err_set(e, ERR_USAGE, "MAILPROOF_TMPDIR is too long");
        if (!mkdtemp(w->path))
            return err_sys(e, ERR_SYSTEM,
                "cannot make a folder in %s (set MAILPROOF_TMPDIR to one on a real disk)", parent);
        w->lock = lock_folder(w->path);
    }
    if (w->lock < 0)
        return err_set(e, ERR_SYSTEM, "cannot lock a folder in %s", parent);
    // With mode 0711 the server's user may pass through the folder, but not list it.
    if (path_join(w->server, w->path, "run", e) &&
        ((mkdir(w->server, 0711) == 0 && chmod(w->path, user == geteuid() ? 0700 : 0711) == 0) ||
            err_sys(e, ERR_SYSTEM, "cannot make %s", w->server)))
        return true;
    workdir_remove(w);
    return false;
}

bool workdir_give(const struct workdir *w, uid_t uid, gid_t gid, struct err *e)
{
    return (chown(w->server, uid, gid) == 0 && chmod(w->server, 0700) == 0) ||
           err_sys(e, ERR_SYSTEM, "cannot give %s to the server's user", w->server);
}

void workdir_remove(struct workdir *w)
{
    if (w->lock < 0)
        return;
    workdir_remove_tree(w->path);
    close(w->lock);
    w->lock = -1;
}

void workdir_keep(struct workdir *w)
{
    char mark[PATH_MAX];
    struct err ignored;

    if (w->lock < 0)
        return;
    if (path_join(mark, w->path, kept_mark, &ignored)) {
        int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0)
            close(fd);
    }
    close(w->lock);
    w->lock = -1;
}
