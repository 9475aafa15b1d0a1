// The collector under test as a black box: its processes, and a reader that stamps and decodes
// every line that they write.
//
// A thread of the subject's own starts the processes, reads them and starts them again. Other
// threads may call the functions below, but may read the log only after subject_stop.
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

// What a process left running when it had ended at TERM.
enum process_left { PROCESS_LEFT_UNKNOWN, PROCESS_LEFT_NOTHING, PROCESS_LEFT_SOME };

// One process of a collector, from its start to its end.
struct process_record {
    int instance;
    pid_t pid;
    int64_t started_ns;
    int64_t ended_ns; // CLOCK_NEVER while it lives
    int status;       // exit status, as waitpid gives it
    bool asked;       // a fault or the run's end told it to end, or caused its end
    uint32_t lines;
    int64_t rss_max_kb;
    double cpu_s;
    char last_words[240]; // the end of its log when it ended by itself
    enum process_left left;
    int64_t left_ns; // when it was seen that a process it had started still ran
    char litter[64]; // that process, as text
};

enum line_state {
    LINE_WHOLE,
    LINE_TORN, // cannot be parsed, or has no newline though nothing cut its writer short
    LINE_TAIL, // the rest of a process that was asked to end and did not exit with 0; delivers
               // nothing
};

// A line was written between empty_ns and seen_ns.
struct line_record {
    int64_t read_ns;
    int64_t empty_ns; // when the reader last found the pipe empty before it
    int64_t seen_ns;  // when its end was first seen: in the pipe, as its process got a signal that
                      // ends it, or at read_ns
    uint32_t process; // index into subject_log.processes
    uint32_t first_delivery;
    uint32_t tokens;
    enum line_state state;
};

// The harness's answer, as the sender, to a delivery.
enum reply {
    REPLY_NONE, // no answer, because the mode is not leased
    REPLY_SENT,
    REPLY_TRANSIENT,
    REPLY_PERMANENT,
    REPLY_NEVER, // no answer, because the sender hangs or has ended
    REPLY_DIED,  // no answer: the sender dies of this attempt
    REPLIES,
};

enum delivery_flags {
    DELIVERY_FORGED = 1 << 0, // the signature is wrong
    DELIVERY_NAMED = 1 << 1,  // the token was only named in a torn line, which is no delivery
    // The handler was told to fail or to hang, or died without an answer: the job must come again.
    DELIVERY_REFUSED = 1 << 2,
    DELIVERY_EARLIER = 1 << 3, // it is of an earlier segment of the soak, which was settled
};

#define TOKEN_UNKNOWN UINT32_MAX

struct delivery {
    uint64_t fingerprint; // decode_fingerprint of its fields
    uint32_t token;       // number of the token in the plan, by login and code; or TOKEN_UNKNOWN
    uint32_t line;
    uint32_t flags;
    uint16_t marks;     // decode_marks of its fields
    uint8_t reply;      // enum reply
    bool before_rename; // its names are those that the account had before the plan changed them
    int64_t replied_ns; // when the reply was given, or the sender died; 0: neither yet
};

// A note that says in words what is wrong with a line, or with one token of it.
struct line_note {
    uint32_t line;
    uint32_t token; // TOKEN_UNKNOWN: the note is about the line as a whole
    char text[160];
};

#define NOTES_MAX 64 // only the first notes are kept

// A sample of the kernel's figures for a living process.
struct process_sample {
    int64_t at_ns;
    uint32_t process;
    uint32_t rss_kb;
    uint64_t cpu_ms;
    uint64_t wakeups;    // how often its threads gave up the processor by themselves
    uint64_t starved_us; // time that its longest waiting thread was ready to run and had no
                         // processor, µs
    uint32_t fds;        // open descriptors; 0: unknown
    uint32_t processes;  // the process and its descendants, ended ones that nobody waited for too;
                         // 0: unknown
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

void subject_log_fini(struct subject_log *log); // accepts a zeroed struct

// Adds a note if there is still room.
void subject_note(struct subject_log *log, uint32_t line, uint32_t token, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

struct subject_config {
    char *const *command;     // argv
    const char *const *env;   // the complete environment: NULL-terminated NAME=value
    const unsigned char *key; // 32 bytes, for checking signatures
    int instances;
    bool restart;
    size_t token_count;                   // number of planned tokens, for subject_seen_ns
    const struct plan *plan;              // says which tokens share an account; NULL: none do
    const struct scenario_sender *sender; // how the harness answers as the sender; NULL: nobody
                                          // answers
    uint64_t seed;                        // decides the sender's answers
    const struct netns *net;              // the processes run at its collector's end; NULL: in our
                                          // own network
    bool jobs;                            // the processes are a subject's consumers; see reader.h
    const char *dir;                      // working directory of the processes; NULL: ours
    const char *log_dir;                  // the folder for collector-<instance>.log; NULL:
                                          // /dev/null
};

struct subject;

// Starts the processes and the thread. The config is copied, but not what its pointers point to,
// which must outlive the subject.
MUST_USE struct subject *subject_start(const struct subject_config *config, struct err *e);

// Signals an instance, or with -1 all of them. A signal goes to the whole process group, because
// the command may be a script that runs the collector. The pids of the processes that got it go
// into `pids` (room for all instances), so that the caller can prove that they ended. A signal that
// ends a process marks its end as asked for; signal 0 only asks for the pids. Returns the number of
// pids.
size_t subject_signal(struct subject *s, int instance, int signal, pid_t *pids);

// Signals as subject_signal does, and keeps the signalled instances from being started again: for
// ever with `for_good`, otherwise until subject_release. Then it also sets the bits of their
// numbers in *held. Several faults may hold an instance down; it starts again when the last of them
// releases it.
size_t subject_hold_down(
    struct subject *s, int instance, int signal, bool for_good, pid_t *pids, uint64_t *held);
void subject_release(struct subject *s, uint64_t held);

// True when each of these instances runs, or is held down by another fault.
bool subject_started(struct subject *s, uint64_t held);

// Sets how fast the output of an instance is read, or with -1 that of all. This also holds for
// processes that are started later. bytes_per_s 0 stops reading; READER_UNLIMITED removes the
// limit.
#define READER_UNLIMITED INT64_C(-1)
void subject_read_rate(struct subject *s, int instance, int64_t bytes_per_s);

// Returns how many bytes these instances have written that were not read yet.
size_t subject_unread(struct subject *s, int instance);
// Returns how many bytes were read so far.
uint64_t subject_read_bytes(struct subject *s);

// Sets the mood (enum sender_mood) of an instance's sender, or with -1 of all senders.
void subject_sender(struct subject *s, int instance, int mood);

// Ends the sender of an instance, or with -1 of all: closes their standard input.
size_t subject_kill_sender(struct subject *s, int instance, pid_t *pids);

// True when each sender has given all its answers, but for those that its mood withholds for ever.
bool subject_answered(struct subject *s);

// Closes the outputs: stops each process, reads its pipe empty, closes the pipe, lets the process
// continue. If the process then ends with exit code 74, this end counts as asked for. Returns how
// many outputs were closed. A process that is just being started again is not waited for.
size_t subject_close_reader(struct subject *s, int instance, pid_t *pids);

// True when the reader has seen that each of these processes ended with its group.
bool subject_ended(struct subject *s, const pid_t *pids, size_t count);

// True when the harness itself could not start a collector or keep its output, so that the run
// proves nothing. The reason is in e; ERR_USAGE when the command names no program.
bool subject_failed(struct subject *s, struct err *e);

// True when no more lines will come: there were three exits in a row without a line, or the last
// collector ended and is not to be started again. The reason is in e.
bool subject_gave_up(struct subject *s, struct err *e);

// Returns the number of tokens read so far, in whole lines only, for the progress line.
uint64_t subject_tokens(struct subject *s);

// Returns when a planned token was first read in a whole line with a good signature
// (CLOCK_MONOTONIC), or 0. With this the drain can end early, when all expected tokens were seen.
int64_t subject_seen_ns(struct subject *s, uint32_t token);

// What a new log begins with. The log of an instance goes on in the new folder, which has to be on
// the same file system.
struct subject_turn {
    const struct plan *plan; // its arrays must outlive the subject, or the log that begins here
    uint64_t seed;           // decides the sender's answers from here on
    const char *old_dir, *log_dir; // folders for collector-<instance>.log
};

// The harness's own cost of reading.
struct subject_cost {
    int64_t serving_ns;   // ns spent on reading, decoding and checking, without waiting
    struct stalls stalls; // stalls of the reader's loop
};

// Ends the log here and begins a new one while the processes go on: a living process is in both,
// and in the old one without an end. The caller owns what it gets. Call it when all tokens are
// settled; it waits until all answers were given and nothing is known to be left by an ended
// process. False when that takes too long, or nothing more can be written; then the log may be used
// up.
MUST_USE bool subject_turn(struct subject *s, const struct subject_turn *turn,
    struct subject_log *log, struct subject_cost *cost, struct err *e);

// Sends TERM to all processes, reads their outputs to the end, and joins the thread. A process that
// still runs after grace_ns is killed.
void subject_stop(struct subject *s, int64_t grace_ns);

// Returns the log, after subject_stop; it lives until subject_free.
struct subject_log *subject_log(struct subject *s);

// Known after subject_stop.
const struct subject_cost *subject_cost(const struct subject *s);

void subject_free(struct subject *s);
