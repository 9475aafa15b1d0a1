// The collector under test, as a black box: its processes, and a reader that
// stamps and decodes every line they write.
//
// One thread of the subject's own starts the processes, reads them and starts
// them again. Other threads may call the functions below, but they may read the
// log only after subject_stop.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/netns.h"
#include "os/stalls.h"
#include "scenario/scenario.h"

// One life of one collector.
struct process_record {
    int instance;
    pid_t pid;
    int64_t started_ns;
    int64_t ended_ns; // CLOCK_NEVER while it lives
    int status;       // as from waitpid
    bool asked;       // a fault or the run's end told it to end, or caused its end
    uint32_t lines;
    int64_t rss_max_kb;
    double cpu_s;
    char last_words[240]; // the end of its log when it ended by itself
};

enum line_state {
    LINE_WHOLE,
    LINE_TORN, // cannot be parsed, or has no newline though nothing cut its writer short
    LINE_TAIL, // cut off when a process that was asked to end did not exit with 0: delivers nothing
};

struct line_record {
    int64_t read_ns;
    uint32_t process; // index into processes
    uint32_t first_delivery;
    uint32_t tokens;
    enum line_state state;
};

// The harness's answer, as the sender, to a delivery.
enum reply {
    REPLY_NONE, // it answers nothing: no leased mode
    REPLY_SENT,
    REPLY_TRANSIENT,
    REPLY_PERMANENT,
    REPLY_NEVER, // it hangs, or has ended
    REPLY_DIED,  // it dies instead
    REPLIES,
};

enum delivery_flags {
    DELIVERY_FORGED = 1 << 0, // the signature does not hold
    DELIVERY_NAMED = 1 << 1,  // only named in a torn line: not a delivery
    // Its handler was told to fail or to hang, or died unanswered: it must come again.
    DELIVERY_REFUSED = 1 << 2,
};

#define TOKEN_UNKNOWN UINT32_MAX

struct delivery {
    uint64_t fingerprint; // decode_fingerprint of its fields
    uint32_t token;       // plan number, from the login; TOKEN_UNKNOWN
    uint32_t line;
    uint32_t flags;
    uint16_t marks;     // decode_marks of its fields
    uint8_t reply;      // of enum reply
    int64_t replied_ns; // when the reply was given, or the sender died of it; 0: not yet
};

// Says in words what is wrong with a line, or with one token of it.
struct line_note {
    uint32_t line;
    uint32_t token; // TOKEN_UNKNOWN: the line as a whole
    char text[160];
};

#define NOTES_MAX 64 // only the first are kept

// A sample of the kernel's figures for a living process.
struct process_sample {
    int64_t at_ns;
    uint32_t process;
    uint32_t rss_kb;
    uint64_t cpu_ms;
    uint64_t wakeups;    // times it gave up the processor by itself, of all its threads
    uint64_t starved_us; // ready to run and without a processor; of its thread that waited longest
};

struct subject_log {
    struct process_record *processes;
    size_t process_count;
    struct line_record *lines;
    size_t line_count;
    struct delivery *deliveries;
    size_t delivery_count;
    struct process_sample *samples; // in the order of time
    size_t sample_count;
    struct line_note notes[NOTES_MAX];
    size_t note_count;
};

// Keeps a note while there is room.
void subject_note(struct subject_log *log, uint32_t line, uint32_t token, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

struct subject_config {
    char *const *command;     // argv
    const char *const *env;   // NULL-terminated NAME=value, complete
    const unsigned char *key; // 32 bytes, for checking signatures
    int instances;
    bool restart;
    size_t token_count;                   // planned tokens, for subject_seen_ns
    const struct scenario_sender *sender; // NULL: nobody answers
    uint64_t seed;                        // of the sender
    const struct netns *net;              // they run at its collector's end; NULL: where we are
    bool jobs;                            // a subject's consumer, see reader.h
    const char *dir;                      // where they run; NULL: where we are
    const char *log_dir;                  // gets collector-<instance>.log; NULL: /dev/null
};

struct subject;

// Starts the processes and the thread. The config is copied except for what its
// pointers name, which must outlive the subject.
MUST_USE struct subject *subject_start(const struct subject_config *config, struct err *e);

// Signals an instance with its whole process group, or with -1 all: the command
// may be a script that runs the collector. The pids of those that got it go into
// `pids` (room for all instances), so that the caller can prove that they ended. A
// signal that ends a process marks its end as asked for; signal 0 only asks for
// the pids. Returns how many.
size_t subject_signal(struct subject *s, int instance, int signal, pid_t *pids);

// Does the same, and keeps the signalled processes from being started again: until subject_release
// or, with `for_good`, for ever. Their numbers are set as bits of *held, unless for good. Several
// faults may hold an instance down; it starts when the last lets go.
size_t subject_hold_down(
    struct subject *s, int instance, int signal, bool for_good, pid_t *pids, uint64_t *held);
void subject_release(struct subject *s, uint64_t held);

// True when each of these instances runs, or is kept down by another.
bool subject_started(struct subject *s, uint64_t held);

// Sets how fast the output of an instance is read, or with -1 that of all; it holds for
// processes started later, too.
//
// bytes_per_s: 0 stops reading, READER_UNLIMITED goes on as usual.
#define READER_UNLIMITED INT64_C(-1)
void subject_read_rate(struct subject *s, int instance, int64_t bytes_per_s);

// Returns how many bytes these instances have written that are not read yet.
size_t subject_unread(struct subject *s, int instance);
// Returns how many bytes were read so far.
uint64_t subject_read_bytes(struct subject *s);

// Sets how the harness behaves as the sender of an instance, or with -1 of all.
void subject_sender(struct subject *s, int instance, int mood); // of enum sender_mood

// Ends the sender of these instances: closes their standard input.
size_t subject_kill_sender(struct subject *s, int instance, pid_t *pids);

// True when all answers were given, except those that never will be.
bool subject_answered(struct subject *s);

// Stops each process, reads its pipe empty, closes it, lets it continue. The
// end with exit code 74 that follows counts as asked for. Returns how many were
// closed; a process that is just being started again is not waited for.
size_t subject_close_reader(struct subject *s, int instance, pid_t *pids);

// True when every one of these processes has ended with its group, as the reader
// saw it.
bool subject_ended(struct subject *s, const pid_t *pids, size_t count);

// False when the harness itself could not start a collector or keep its output: the run proves
// nothing. ERR_USAGE when the command names no program.
bool subject_failed(struct subject *s, struct err *e);

// True when no more lines will come: three exits in a row without a line, or the last collector
// ended and is not to be restarted. The reason is in e.
bool subject_gave_up(struct subject *s, struct err *e);

// Returns the tokens read so far, whole lines only; for the progress line.
uint64_t subject_tokens(struct subject *s);

// Returns when a planned token was first read in a whole line with a good signature
// (CLOCK_MONOTONIC), or 0. The drain may end early when nothing that is expected is missing.
int64_t subject_seen_ns(struct subject *s, uint32_t token);

// Sends TERM to all, reads everything to its end, joins the thread. A process that is still there
// after grace_ns is killed.
void subject_stop(struct subject *s, int64_t grace_ns);

// Returns the log, after subject_stop; it lives until subject_free.
struct subject_log *subject_log(struct subject *s);

// The harness's own cost of reading. After subject_stop.
struct subject_cost {
    int64_t serving_ns;   // reading, decoding and checking, without waiting
    struct stalls stalls; // of the reader's loop
};

const struct subject_cost *subject_cost(const struct subject *s);

void subject_free(struct subject *s);
