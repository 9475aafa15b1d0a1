#include "os/block_group.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

// Marks a folder as the top of folder hierarchies (chattr +T). ext4 then spreads the folders in it
// over the block groups.
static void mark_as_top(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), flags = 0;

    if (fd < 0)
        return;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_TOPDIR_FL;
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
    close(fd);
}

bool block_group_mkdir(const char *path, uid_t uid, gid_t gid, struct err *e)
{
    char parent[PATH_MAX], fresh[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int len = snprintf(fresh, sizeof fresh, "%s.XXXXXX", path);

    if (!slash || len < 0 || len >= (int)sizeof fresh)
        return err_set(e, ERR_SYSTEM, "cannot make the folder %.200s: its path is too long", path);
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    mark_as_top(parent);
    // ext4 looks for a block group with few folders, and begins where the hash of the new folder's
    // name says. So a random name mostly leads to another group each time.
    if (!mkdtemp(fresh))
        return err_sys(e, ERR_SYSTEM, "cannot make a folder in %s", parent);
    if (chown(fresh, uid, gid) == 0 && rename(fresh, path) == 0)
        return true;
    err_sys(e, ERR_SYSTEM, "cannot make the folder %s", path);
    rmdir(fresh);
    return false;
}
