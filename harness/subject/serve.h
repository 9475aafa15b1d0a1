// The inside of a subject: the state that its thread shares with the callers of subject.h.
//
// Only the thread starts, reads and reaps processes. Another thread takes the lock to look at a
// field that is marked as under the lock; all other fields belong to the thread.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "subject/litter.h"
#include "subject/reader.h"
#include "subject/mock_sender.h"
#include "subject/subject.h"

// How long a process may take to stand still before its output is closed.
#define SERVE_STOPPED_NS NS_PER_S

// The rate at which an output is read.
struct pace {
    int64_t rate;     // bytes per second; 0: reads nothing; READER_UNLIMITED: no limit
    int64_t since_ns; // time up to which `budget` is computed
    double budget;    // bytes that may be read by now
};

// One of several collectors, and its processes, one after the other.
struct instance {
    pid_t pid; // 0: no process at the moment
    int pidfd, out, log;
    off_t log_began;     // length of the log when the process was started
    double cpu_before_s; // its processor time up to the last turn
    uint32_t process;    // index of the living process in the log
    struct buf pending;
    int64_t empty_ns;           // when the output was last found empty; belongs to the thread
    atomic_uint_least64_t read; // bytes that were read of this process
    uint64_t seen_bytes;        // bytes that it had written at seen_ns; under the lock
    int64_t seen_ns;            // when it got the first signal that ends it; 0: none; under the
                                // lock
    int64_t restart_at_ns;      // CLOCK_NEVER: no start is planned
    int exits_without_line;
    bool ended;       // its output is closed; belongs to the thread
    int64_t gone_ns;  // when the process ended, until it is reaped; 0: it has not ended;
                      // belongs to the thread
    struct pace pace; // `rate` is under the lock, the rest belongs to the thread
    bool close_asked; // its output is to be closed; under the lock
    bool closed;      // the output of this process was closed; under the lock
    unsigned holds;   // number of faults that keep it from being started again; under the lock
    bool for_good;    // it is never started again; under the lock
    struct mock_sender sender; // belongs to the thread
    enum sender_mood mood;     // under the lock
    bool termed;               // TERM, and nothing worse, has told it to end; under the lock
    bool sender_killed;        // the collector's input is to be closed, or was; under the lock
};

// What subject_turn asks of the thread.
struct turn {
    const struct subject_turn *to;
    struct subject_log *log;   // gets the old log
    struct subject_cost *cost; // and what it cost
    bool ok;
    struct err err;
};

struct subject {
    struct subject_config config;
    struct instance *instances;
    struct reader reader; // belongs to the thread until it is joined; its processes are under the
                          // lock
    struct litter litter; // belongs to the thread
    int64_t litter_ns;    // when to look at it again; belongs to the thread
    uint8_t *tries;       // owned; see mock_sender.h; belongs to the thread
    atomic_size_t unsaid; // number of answers that are still to be given
    pthread_t thread;
    bool started;
    int wake[2];
    pthread_mutex_t lock; // guards instances' pids and the records of processes
    bool stopping;        // all processes were told to end; under the lock
    bool killing;         // those that did not end are killed; under the lock
    bool done;            // the thread has reaped all processes; under the lock
    bool gave_up, failed; // under the lock
    struct turn *turn;    // the log is to end; NULL: it goes on; under the lock
    struct err why, failure;
    atomic_uint_least64_t tokens, bytes;
    struct subject_cost cost; // belongs to the thread until it is joined
};

// Runs as a thread: serves a struct subject until it is stopping and no process lives.
void *serve_run(void *arg);

// Ends the run because of something that the collector did. The collector is judged for it.
void serve_give_up(struct subject *s, const struct err *why);

// Ends the run because of something that is not the collector's fault.
void serve_fail(struct subject *s, const struct err *failure);

// Reads what the pipe holds now. A process that has left its group may write on.
void serve_empty_pipe(struct subject *s, struct instance *in);

// --- start.c ----------------------------------------------------------------------------

// Starts the processes that are due; returns when the next start is due.
int64_t start_due(struct subject *s, int64_t now);

// --- exits.c ----------------------------------------------------------------------------

// How long the other processes of a group that was told to end may go on after the command itself
// has ended.
#define EXITS_GRACE_NS (2 * NS_PER_S)

// True when the harness need not wait any longer for a process that ended.
bool exits_may_reap(struct subject *s, struct instance *in);

// Reads what is left of its output, records its end, and decides about the next start.
void exits_reap(struct subject *s, struct instance *in);

// --- turnover.c -----------------------------------------------------------------------------

// Makes the turn that another thread asks for, from one segment of a soak to the next, as soon as
// nothing is open: a new log begins, and the processes go on.
void turn_make(struct subject *s);
