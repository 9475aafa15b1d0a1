#include "os/other_user.h"

#include <pwd.h>

bool other_user_choose(const char *name, struct err *e)
{
    struct other_user u;

    if (geteuid() != 0)
        return err_set(
            e, ERR_USAGE, "--as needs root: only root may run a program as another user");
    if (setenv(OTHER_USER_VARIABLE, name, 1) != 0)
        return err_memory(e);
    return other_user(&u, e);
}

bool other_user(struct other_user *u, struct err *e)
{
    const char *name = getenv(OTHER_USER_VARIABLE);
    struct passwd entry, *found = NULL;
    char text[4096];

    *u = (struct other_user){.chosen = name && *name};
    if (!u->chosen)
        return true;
    int error = getpwnam_r(name, &entry, text, sizeof text, &found);
    if (error != 0 || !found)
        return err_set(e, ERR_USAGE, "--as: there is no user '%.40s'", name);
    // The option exists to take rights away, and root has them all.
    if (entry.pw_uid == 0)
        return err_set(e, ERR_USAGE, "--as: '%.40s' is root, who may do everything", name);
    u->uid = entry.pw_uid;
    u->gid = entry.pw_gid;
    snprintf(u->home, sizeof u->home, "%s", entry.pw_dir);
    return true;
}

bool other_user_apply(struct process_spec *spec, struct err *e)
{
    struct other_user u;

    if (!other_user(&u, e))
        return false;
    if (u.chosen) {
        spec->uid = u.uid;
        spec->gid = u.gid;
    }
    return true;
}
