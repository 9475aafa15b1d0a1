// A clock of their own for a child and its children, by Debian's libfaketime. It shows the
// machine's time of day plus what a file says, so it can step while they run. Monotonic clocks are
// left alone, as a real step leaves them.
//
// A program that is linked statically, or that drops its environment, does not take it.
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/child_env.h"

struct own_clock {
    char library[PATH_MAX];
    char file[PATH_MAX]; // "": there is no such clock
    int64_t offset_ns;   // what it shows beyond the machine's time
};

// Makes a clock in `dir` that shows the machine's time. ERR_SKIP without libfaketime.
MUST_USE bool own_clock_make(struct own_clock *c, const char *dir, const char *name, struct err *e);

// Gives the clock to a child that gets this environment.
MUST_USE bool own_clock_give(const struct own_clock *c, struct child_env *env, struct err *e);

// Lets the clock step, at once for everybody who looks at it.
MUST_USE bool own_clock_step(struct own_clock *c, int64_t by_ns, struct err *e);

// True when a process and all its children look at this clock.
bool own_clock_is_taken(const struct own_clock *c, pid_t pid);
