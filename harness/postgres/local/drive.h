// Runs mailproof-disk as a child process, and gives it commands. harness/disk/README.md lists them.
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct drive {
    pid_t pid;   // pid of mailproof-disk; 0: it does not run
    int control; // our end of the socket for commands; -1: there is none
    int fuse;    // descriptor of /dev/fuse until drive_mount; -1 afterwards
};

// The name of the program.
#define DRIVE_PROGRAM "mailproof-disk"

#define DRIVE_INIT                                                                                 \
    {                                                                                              \
        .control = -1, .fuse = -1                                                                  \
    }

// Starts the program for the image in `dir`; nothing is mounted yet. ERR_SKIP where FUSE or the
// program is missing. Call drive_end even if it fails.
MUST_USE bool drive_start(struct drive *d, const char *dir, struct err *e);

// Mounts the program's one file over the (empty) file at `path`.
MUST_USE bool drive_mount(struct drive *d, const char *path, struct err *e);

// Sends a command, and reads the first `count` numbers of the answer. Fails when the program
// refuses the command, has ended, or does not answer within 20 s.
MUST_USE bool drive_command(struct drive *d, int64_t *numbers, size_t count, struct err *e,
    const char *fmt, ...) PRINTF_LIKE(5, 6);

// Call it after the file was unmounted. Waits at most 10 s for the program to end, then kills it.
void drive_end(struct drive *d);
