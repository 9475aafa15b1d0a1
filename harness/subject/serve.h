// The inside of a subject: the state that its thread shares with the callers of subject.h.
//
// Only the thread starts, reads and reaps processes. Another thread takes the lock to look at a
// field that is marked as under the lock; all other fields belong to the thread.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "subject/reader.h"
#include "subject/sender.h"
#include "subject/subject.h"

// How long a process may take to stand still before its output is closed.
#define SERVE_STOPPED_NS NS_PER_S

// How fast an output is read.
struct pace {
    int64_t rate;     // bytes per second; 0: not at all; READER_UNLIMITED
    int64_t since_ns; // `budget` counts from here
    double budget;    // bytes that may be read by now
};

// One place for a collector; its processes follow each other in it.
struct instance {
    pid_t pid; // 0: none at the moment
    int pidfd, out, log;
    uint32_t process; // index of the living process in the log
    struct buf pending;
    int64_t restart_at_ns; // CLOCK_NEVER: not to be started
    int exits_without_line;
    bool ended;            // it has closed its output; the thread's
    int64_t gone_ns;       // when it ended, until it is reaped; 0: it has not; the thread's
    struct pace pace;      // rate under the lock, the rest the thread's
    bool close_asked;      // under the lock
    bool closed;           // the reader of this process went away; under the lock
    unsigned holds;        // how many faults keep it from being started again; under the lock
    bool for_good;         // it is never started again; under the lock
    struct sender sender;  // the thread's
    enum sender_mood mood; // under the lock
    bool sender_killed;    // its input is to be closed, or was; under the lock
};

struct subject {
    struct subject_config config;
    struct instance *instances;
    struct reader reader; // the thread's until it is joined; processes under the lock
    uint8_t *tries;       // of the senders, per planned token; the thread's
    atomic_size_t unsaid; // answers that are due later
    pthread_t thread;
    bool started;
    int wake[2];
    pthread_mutex_t lock; // over instances' pids and the records of processes
    bool stopping;        // under the lock
    bool gave_up, failed; // under the lock
    struct err why, failure;
    atomic_uint_least64_t tokens, bytes;
    struct subject_cost cost; // the thread's until it is joined
};

// Runs as a thread: serves a struct subject until it is stopping and no process lives.
void *serve_run(void *arg);

// Ends the run for something that the collector did, for which it is judged.
void serve_give_up(struct subject *s, const struct err *why);

// Ends the run for something that the collector did not do.
void serve_fail(struct subject *s, const struct err *failure);

// Reads until the pipe is empty, but no more than `most` bytes; every line gets
// the time at which its read returned. Returns false at the end of the file.
bool serve_drain_pipe(struct subject *s, struct instance *in, size_t *most);
