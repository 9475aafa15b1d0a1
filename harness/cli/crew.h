// Several processes that run scenarios side by side. Each keeps its server running for the next
// run.
//
// A worker is a process and not a thread, because a run may stop, unshare and reap its whole
// process. The parent forks the workers before it starts any thread; they end with it.
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "scenario/scenario.h"

#define CREW_MAX 16

// A run for a worker: a scenario's file.
struct crew_job {
    uint64_t number; // a number that the caller chooses
    bool watched;    // a proxy stands between collector and server even if no fault needs it
    char path[1000];
};

struct crew_answer {
    uint64_t number;
    enum err_kind kind; // ERR_NONE: there is a verdict, in the folder
    char folder[1000];
    char why[200];
};

struct crew_worker {
    pid_t pid; // 0: there is no process
    int fd;
    bool busy;
    int64_t since_ns; // time at which its job began
    struct crew_job job;
};

struct crew {
    const char *collector, *conninfo; // as in struct run_options
    const struct overrides *sets;     // applied to every scenario
    char out[PATH_MAX / 2];           // folder for the result folders
    char logs[PATH_MAX / 2];          // folder for the workers' output
    struct crew_worker workers[CREW_MAX];
    int count;
};

// Starts the workers. The caller must have set the fields up to `logs`. Call crew_end also on
// failure.
MUST_USE bool crew_start(struct crew *c, int count, struct err *e);

// Ends all workers, even in the middle of a run, and waits until they have cleaned up.
void crew_end(struct crew *c);

// Returns the index of an idle worker; -1 when all are busy.
int crew_idle(const struct crew *c);
int crew_busy(const struct crew *c);

MUST_USE bool crew_give(struct crew *c, int worker, const struct crew_job *job, struct err *e);

// Waits for an answer until the deadline or a signal; false when none came. A worker that died or
// took too long is replaced, and its answer says so.
bool crew_answer(struct crew *c, int64_t deadline_ns, struct crew_answer *answer);
