// mailproof-disk as a child of ours: started, told what to do, waited for. See
// harness/disk/README.md for its commands.
#pragma once

#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct drive {
    pid_t pid;   // 0: none
    int control; // our end of its socket; -1: none
    int fuse;    // /dev/fuse, until it is mounted; -1 afterwards
};

// The name of the program.
#define DRIVE_PROGRAM "mailproof-disk"

#define DRIVE_INIT                                                                                 \
    {                                                                                              \
        .control = -1, .fuse = -1                                                                  \
    }

// Starts it for the image in `dir`; nothing is mounted yet. ERR_SKIP where FUSE or
// the program is missing.
MUST_USE bool drive_start(struct drive *d, const char *dir, struct err *e);

// Mounts its one file over the (empty) file at `path`.
MUST_USE bool drive_mount(struct drive *d, const char *path, struct err *e);

// Gives a command and reads the numbers of its answer into `numbers`.
MUST_USE bool drive_tell(struct drive *d, int64_t *numbers, size_t count, struct err *e,
    const char *fmt, ...) PRINTF_LIKE(5, 6);

// Call it after the file was unmounted. Waits for the program's end, and kills it if it does not
// end.
void drive_end(struct drive *d);
