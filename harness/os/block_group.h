// Makes a folder that ext4 keeps apart from its neighbours' removed files.
//
// ext4 puts a new file into the block group of its folder. On the way to a free inode there, it
// looks at each one that was removed within the last 1 to 6 minutes (recently_deleted in Linux's
// fs/ext4/ialloc.c). A server that ends leaves a thousand of these, so a few dozen servers made the
// copy of a cluster ten times as long. A folder made here lies in a group of its own.
#pragma once

#include <sys/types.h>

#include "base/err.h"

// Makes an empty folder that belongs to this user, mode 0700. `path` must not exist, but its parent
// folder must. ext4 will spread the further folders of that parent, too. On other file systems this
// is mkdir.
MUST_USE bool block_group_mkdir(const char *path, uid_t uid, gid_t gid, struct err *e);
