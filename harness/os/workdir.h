// The temporary folder of one server: data directory, socket, server log.
//
// It is locked (flock on the folder itself) for as long as its mailproof lives.
// A folder whose lock is free was left by one that was killed: the next run
// ends the servers that may still run in it (postmasters.h), removes their shared
// memory and the folder, and nothing else.
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "base/err.h"

struct workdir {
    char path[PATH_MAX];
    int lock; // descriptor that holds the lock; -1: none
};

#define WORKDIR_INIT                                                                               \
    {                                                                                              \
        .lock = -1                                                                                 \
    }

// Makes mailproof.XXXXXX under $MAILPROOF_TMPDIR (default /var/tmp), owned by
// uid and gid. Removes first what killed runs left there.
MUST_USE bool workdir_make(struct workdir *w, uid_t uid, gid_t gid, struct err *e);

// Removes the folder with all that is in it. Accepts WORKDIR_INIT.
void workdir_remove(struct workdir *w);

// Lets go of the folder without removing it (--keep): it is marked, so that no
// later run takes it for a left one.
void workdir_keep(struct workdir *w);

// Removes a folder and everything below; never follows links.
bool workdir_remove_tree(const char *path);
