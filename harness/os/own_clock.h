// A separate time of day for a child and its children, made by Debian's libfaketime. It is the
// machine's time of day plus an offset in a file, so it can step while they run. Monotonic clocks
// go on unchanged, as they do at a real step.
//
// It has no effect on a program that is linked statically or drops its environment.
#pragma once

#include <sys/types.h>

#include "os/child_env.h"

struct own_clock {
    char library[PATH_MAX];
    char file[PATH_MAX]; // "": there is no such clock
    int64_t offset_ns;   // how far the clock is ahead of the machine's time
};

// Makes a clock that shows the machine's time. Its offset is kept in the file `name` of `dir`.
// ERR_SKIP without libfaketime.
MUST_USE bool own_clock_make(struct own_clock *c, const char *dir, const char *name, struct err *e);

// Adds to `env` the variables that give this clock to the child.
void own_clock_add_env(const struct own_clock *c, struct child_env *env);

// Moves the clock by `by_ns`. Every process that has this clock sees the step at once.
MUST_USE bool own_clock_step(struct own_clock *c, int64_t by_ns, struct err *e);

// True when a process and all its descendants that have not ended have loaded libfaketime.
bool own_clock_is_loaded(const struct own_clock *c, pid_t pid);
