// Runs scenarios side by side, in several worker processes. Each worker keeps its server running
// for its next run.
//
// A worker is a process and not a thread, because a run uses what belongs to a whole process: its
// signals, namespaces and children. The caller starts the pool while it has only one thread. The
// workers end when the parent ends.
#pragma once

#include <sys/types.h>

#include "scenario/scenario.h"

#define RUN_POOL_MAX 16

// A job for a worker: one run of the scenario in a file.
struct run_pool_job {
    uint64_t number;  // chosen by the caller; the answer repeats it
    bool count_trips; // true: a proxy counts the round trips of a run on the worker's server
    char path[1000];
};

struct run_pool_answer {
    uint64_t number;
    enum err_kind kind; // ERR_NONE: the run has a verdict, and its files are in `folder`
    char folder[1000];
    char why[200];
};

struct run_pool_worker {
    pid_t pid; // 0: there is no process
    int fd;
    bool busy;
    int64_t since_ns; // time at which its job began
    uint64_t job_number;
};

struct run_pool {
    const char *collector, *conninfo; // `collector` and `postgres` of struct run_options
    const struct overrides *sets;     // applied to every scenario
    char out[PATH_MAX / 2];           // folder for the result folders
    char logs[PATH_MAX / 2];          // folder for the workers' output
    struct run_pool_worker workers[RUN_POOL_MAX];
    int count;
    struct err no_other; // why the last worker that died could not be replaced
};

// Starts the workers. The caller must have set the fields up to `logs`, and calls run_pool_end also
// when this fails.
MUST_USE bool run_pool_start(struct run_pool *pool, int count, struct err *e);

// Ends all workers, even in the middle of a run, and waits until they have cleaned up.
void run_pool_end(struct run_pool *pool);

// Returns the index of an idle worker; -1 when all are busy.
int run_pool_idle(const struct run_pool *pool);
// Returns the number of busy workers.
int run_pool_busy(const struct run_pool *pool);
// True, with the reason in e, when no worker is left: all have died, and none could be replaced.
bool run_pool_lost(const struct run_pool *pool, struct err *e);

// Gives a job to an idle worker. If the worker has died, only its answer says so.
MUST_USE bool run_pool_give(
    struct run_pool *pool, int worker, const struct run_pool_job *job, struct err *e);

// Waits for an answer until the deadline or a signal; false when none came. A worker that died or
// took too long is replaced, if another can be started, and its answer says so.
bool run_pool_answer(struct run_pool *pool, int64_t deadline_ns, struct run_pool_answer *answer);
