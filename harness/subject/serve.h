// The inside of a subject: the state that its thread shares with the functions of subject.h.
//
// Only the thread starts, reads and reaps processes. "Under the lock" at a field: any thread may
// use it while it holds `lock`. "Set under the lock": the subject's thread alone changes it, and
// others may read it while they hold `lock`. Atomic fields, and those that are set before the
// thread starts, are for all threads. The rest belongs to the subject's thread.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "subject/litter.h"
#include "subject/reader.h"
#include "subject/mock_sender.h"
#include "subject/subject.h"

// How long the thread waits for a process to stop (SIGSTOP) before it closes the process's output.
#define SERVE_STOPPED_NS NS_PER_S

// The rate at which an output is read.
struct pace {
    int64_t rate;     // bytes per second; 0: reads nothing; READER_UNLIMITED: no limit
    int64_t since_ns; // time up to which `budget` is computed
    double budget;    // bytes that may be read by now
};

// One of the collectors that run side by side. Its processes follow each other: when one ends, the
// next may be started.
struct instance {
    pid_t pid;           // 0: no process at the moment; set under the lock
    int pidfd, log;      // `log`: the file that takes its standard error
    int out;             // where its output is read; -1: closed; set under the lock
    off_t log_began;     // length of the log file when the process was started
    double cpu_before_s; // processor time that the process had used when the present log began
    uint32_t process;    // index of the living process in the log; set under the lock
    struct buf pending;  // bytes that were read after the last whole line
    int64_t empty_ns;    // when the output was last found empty
    atomic_uint_least64_t read;   // bytes that were read from this process
    atomic_uint_least64_t tokens; // tokens in whole lines of all its processes
    uint64_t written_bytes; // bytes that the process had written at signalled_ns; under the lock
    int64_t signalled_ns;   // when the process got its first signal that can end it; 0: none
                            // yet; under the lock
    int64_t restart_at_ns;  // CLOCK_NEVER: no start is planned
    int exits_without_line;
    bool output_ended; // nothing more is read from the output: the process closed it, or the run
                       // ends because of it
    int64_t gone_ns;   // when the process ended, until it is reaped; 0: it has not ended
    struct pace pace;  // `rate` is under the lock
    bool close_asked;  // a fault has asked to close the output; under the lock
    bool closed;       // a fault has closed the output of this process; under the lock
    unsigned holds; // number of faults that keep the instance from being started again; under the
                    // lock
    bool for_good;  // the instance is never started again; under the lock
    struct mock_sender sender;
    enum sender_mood mood; // under the lock
    bool termed;           // the process was told to end by TERM, and by no other signal; under
                           // the lock
    bool sender_killed;    // the collector's standard input is to be closed, or was closed;
                           // under the lock
};

// The order that subject_begin_log gives the thread: end the log and begin a new one.
struct log_order {
    const struct subject_new_log *to;
    struct subject_log *log;   // gets the old log
    struct subject_cost *cost; // gets the cost of the old log
    size_t due;                // number of answers for which it waits
    bool litter;               // true: it waits to know what ended processes have left running
    bool ok;
    struct err err;
};

struct subject {
    struct subject_config config;
    struct instance *instances;
    struct reader reader; // belongs to the thread until it is joined; its processes are under the
                          // lock
    struct litter litter;
    int64_t litter_ns;    // when to call litter_look again
    uint8_t *tries;       // owned; see mock_sender.h
    atomic_size_t unsaid; // 0: all answers were given, and the pipes have taken them
    pthread_t thread;
    bool started;
    int wake[2];
    pthread_mutex_t lock;
    bool stopping;               // all processes were told to end; under the lock
    bool killing;                // those that did not end are killed; under the lock
    bool done;                   // the thread has reaped all processes; under the lock
    struct log_order *log_order; // not carried out yet; NULL: no order; under the lock
    struct err why, failure;     // why the subject gave up, and why it failed; ERR_NONE: it did
                                 // not; under the lock
    atomic_uint_least64_t tokens, bytes;
    struct subject_cost cost; // belongs to the thread until it is joined
};

// The thread's function; `arg` is the struct subject. Serves the subject until it is stopping, no
// process lives and it is known what the processes have left behind.
void *serve_run(void *arg);

// Returns the value of a flag that is under the lock.
bool serve_flag(struct subject *s, const bool *flag);

// Ends the run because of something that the collector did; the verdict holds it against the
// collector.
void serve_give_up(struct subject *s, const struct err *why);

// Ends the run because of something that is not the collector's fault; the run then proves nothing.
void serve_fail(struct subject *s, const struct err *failure);

// Reads what the pipe holds now, and no more: a process that has left its group may go on writing.
void serve_empty_pipe(struct subject *s, struct instance *in);

// --- start.c ----------------------------------------------------------------------------

// Starts the processes that are due. Returns when the next start is due; CLOCK_NEVER: none is
// planned.
int64_t start_due(struct subject *s, int64_t now);

// --- exits.c ----------------------------------------------------------------------------

// How long the other processes of a group that was told to end may go on after the command itself
// has ended.
#define EXITS_GRACE_NS (2 * NS_PER_S)

// True when a process that has ended may be reaped: it was not told to end, the rest of its group
// has closed the output, or the group's grace is over.
bool exits_may_reap(struct subject *s, struct instance *in);

// Kills the rest of an ended process's group, reads the rest of its output, records its end, and
// decides whether and when the instance is started again.
void exits_reap(struct subject *s, struct instance *in);

// --- new_log.c ------------------------------------------------------------------------------

// Carries out the order of subject_begin_log, if there is one: at the end of a soak's segment the
// log ends and a new one begins, while the processes go on. Does nothing yet while something in the
// old log is still to be filled in: an answer of a mock sender, or what an ended process has left
// running. The thread calls this in each round of its loop.
void new_log_make(struct subject *s);
