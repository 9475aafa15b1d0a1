// mailproof-disk as a child process of ours. See harness/disk/README.md for its commands.
#pragma once

#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct drive {
    pid_t pid;   // its process; 0: none
    int control; // our end of its socket; -1: none
    int fuse;    // descriptor of /dev/fuse until it is mounted; -1 afterwards
};

// The name of the program.
#define DRIVE_PROGRAM "mailproof-disk"

#define DRIVE_INIT                                                                                 \
    {                                                                                              \
        .control = -1, .fuse = -1                                                                  \
    }

// Starts the program for the image in `dir`; nothing is mounted yet. ERR_SKIP where FUSE or the
// program is missing.
MUST_USE bool drive_start(struct drive *d, const char *dir, struct err *e);

// Mounts the program's one file over the (empty) file at `path`.
MUST_USE bool drive_mount(struct drive *d, const char *path, struct err *e);

// Gives a command and reads the numbers of its answer into `numbers`.
MUST_USE bool drive_tell(struct drive *d, int64_t *numbers, size_t count, struct err *e,
    const char *fmt, ...) PRINTF_LIKE(5, 6);

// Call it after the file was unmounted. Waits for the program to end, and kills it if it does not.
void drive_end(struct drive *d);
