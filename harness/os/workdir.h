// The temporary folder of one server.
//
// It belongs to mailproof's user, and nobody else may write to it: the notes, logs and disks in it
// are mailproof's. In it, the server's user owns the data directories and the folders for sockets
// and whatever else the server's programs make: `server` and, with Patroni, `proxy`. Other users
// cannot reach these. Only with --as may they pass through one of the two, to its socket.
//
// The folder is locked (flock on the folder itself) for as long as its mailproof lives. So a folder
// whose lock is free, and that is not marked as kept, belongs to a mailproof that was killed. The
// next run ends the servers that may still run in such a folder (postmasters.h), and removes their
// shared memory and the folder.
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct workdir {
    char path[PATH_MAX];
    char server[PATH_MAX]; // the folder `run` in `path`
    int lock;              // descriptor that holds the lock; -1: the folder is not locked
};

#define WORKDIR_INIT                                                                               \
    {                                                                                              \
        .lock = -1                                                                                 \
    }

// Makes mailproof.XXXXXX under $MAILPROOF_TMPDIR (default /var/tmp). Before that, removes what
// killed runs left there, and ends their servers, which run as `user`. ERR_USAGE for a path that no
// conninfo can name.
MUST_USE bool workdir_make(struct workdir *w, uid_t user, struct err *e);

// Makes the server's user the owner of w->server. Before that the folder belongs to mailproof's
// user, so that root can work in it.
MUST_USE bool workdir_give(const struct workdir *w, uid_t uid, gid_t gid, struct err *e);

// Removes the folder with everything in it. Accepts WORKDIR_INIT.
void workdir_remove(struct workdir *w);

// Releases the folder without removing it (--keep), and marks it, so that no later run removes it.
void workdir_keep(struct workdir *w);

// Removes a folder and everything below it; follows no links. Returns false when something is left,
// or when there was no such folder.
bool workdir_remove_tree(const char *path);
