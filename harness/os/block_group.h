// Makes a folder that ext4 keeps apart from its neighbours' removed files.
//
// ext4 puts a new file into the block group of its folder. On the way to a free inode there, it
// skips, one by one, the inodes of files that were removed within the last 1 to 6 minutes
// (recently_deleted in Linux's fs/ext4/ialloc.c). A server that ends leaves a thousand of these, so
// after a few dozen servers it took ten times as long to copy a cluster. A folder made here mostly
// lies in another group.
#pragma once

#include <sys/types.h>

#include "base/base.h"

// Makes an empty folder with mode 0700 that belongs to `uid` and `gid`. `path` must not exist, but
// its parent folder must. From then on, ext4 also spreads other new folders of that parent over its
// block groups. On other file systems this is an ordinary mkdir.
MUST_USE bool block_group_mkdir(const char *path, uid_t uid, gid_t gid, struct err *e);
