// The collector under test as a black box: its processes, and a reader that stamps and decodes
// every line that the processes write.
//
// A subject has its own thread, which starts the processes, reads their output and starts them
// again when they end. Other threads may call the functions below, but may read the log only after
// subject_stop.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "os/netns.h"
#include "os/ticker.h"
#include "scenario/scenario.h"

// Whether other processes still ran after a process had ended at TERM.
enum process_left { PROCESS_LEFT_UNKNOWN, PROCESS_LEFT_NOTHING, PROCESS_LEFT_SOME };

// One process of a collector, from its start to its end.
struct process_record {
    int instance;
    pid_t pid;
    int64_t started_ns;
    int64_t ended_ns; // CLOCK_NEVER while it lives
    int status;       // exit status, as waitpid gives it
    bool asked;       // its end was planned: a fault or the run's end told it to end, or caused its
                      // end
    uint32_t lines;
    int64_t rss_max_kb;
    double cpu_s;
    char last_words[240]; // the end of its log, if its end was not planned
    enum process_left left;
    int64_t left_ns; // when the harness saw that a process which this one had started still ran
    char litter[64]; // pid and name of that other process
};

enum line_state {
    LINE_WHOLE,
    LINE_TORN, // cannot be parsed, or is an unfinished last line that is no LINE_TAIL
    LINE_TAIL, // the unfinished last line of a process that was asked to end and did not exit with
               // 0; delivers nothing
};

// A line was written between empty_ns and seen_ns.
struct line_record {
    int64_t read_ns;
    int64_t empty_ns; // when the reader last found the pipe empty before this line
    int64_t seen_ns;  // when the end of the line was first seen: at read_ns, or earlier, when its
                      // process got a signal that ends it and the line was already in the pipe
    uint32_t process; // index into subject_log.processes
    uint32_t first_delivery;
    uint32_t tokens;
    enum line_state state;
};

// The answer to a delivery, which the harness gives in the place of a mail sender.
enum reply {
    REPLY_NONE, // no answer, because the harness does not play the sender
    REPLY_SENT,
    REPLY_TRANSIENT,
    REPLY_PERMANENT,
    REPLY_NEVER, // no answer, because the sender hangs or has ended; the consumer of a queue is
                 // told to hang
    REPLY_DIED,  // no answer, because the sender dies at this attempt
    REPLIES,
};

enum delivery_flags {
    DELIVERY_FORGED = 1 << 0, // the signature is wrong
    DELIVERY_NAMED = 1 << 1,  // not a delivery: a torn line only names the token
    // Does not count as the job's delivery, because its handler was told to fail or to hang, or
    // died before it was answered.
    DELIVERY_REFUSED = 1 << 2,
    DELIVERY_EARLIER = 1 << 3, // the token belongs to an earlier segment of the soak and was
                               // already settled
};

#define TOKEN_UNKNOWN UINT32_MAX

struct delivery {
    uint64_t fingerprint; // decode_fingerprint of its fields
    uint32_t token;       // number of the token in the plan, by login (or address) and code; or
                          // TOKEN_UNKNOWN
    uint32_t line;
    uint32_t flags;
    uint16_t marks;     // decode_marks of its fields
    uint8_t reply;      // enum reply
    bool before_rename; // email and login are those that the account had before the plan changed
                        // them
    int64_t replied_ns; // when the reply was given, or when the sender died; 0: neither has
                        // happened
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
    uint64_t wakeups;    // how often its threads gave up the processor voluntarily
    uint64_t starved_us; // how long a thread was ready to run and had no processor, µs; the largest
                         // of all threads
    uint32_t fds;       // open descriptors; 0: unknown
    uint32_t processes; // number of the process and its descendants, including ended ones that
                        // nobody has waited for; 0: unknown
};

struct subject_log {
    struct process_record *processes;
    size_t process_count;
    struct line_record *lines;
    size_t line_count;
    struct delivery *deliveries;
    size_t delivery_count;
    struct process_sample *samples; // sorted by time
    size_t sample_count;
    struct line_note notes[NOTES_MAX];
    size_t note_count;
};

void subject_log_fini(struct subject_log *log); // accepts a zeroed struct

// Adds a note if there is still room.
void subject_note(struct subject_log *log, uint32_t line, uint32_t token, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

struct subject_config {
    char *const *command;     // argv
    const char *const *env;   // the complete environment: NULL-terminated NAME=value
    const unsigned char *key; // 32 bytes, for checking signatures
    int instances;
    bool restart;
    size_t token_count;                   // number of planned tokens, whose first reading is noted
    const struct plan *plan;              // tells which tokens share an account; NULL: no two
                                          // tokens do
    const struct scenario_sender *sender; // how the harness answers deliveries as the sender; NULL:
                                          // there are no answers
    uint64_t seed;                        // decides the sender's answers
    const struct netns *net;              // the processes run in the collector's end of this
                                          // network; NULL: in the harness's own
    bool jobs;                            // the processes are consumers of a queue and write job
                                          // lines; see reader.h
    const char *dir;                      // working directory of the processes; NULL: the harness's
                                          // own
    const char *log_dir;                  // the folder for collector-<instance>.log; NULL:
                                          // /dev/null
};

struct subject;

// Starts the processes and the thread. Copies the config, but not what its pointers point to; that
// must outlive the subject. NULL on failure.
MUST_USE struct subject *subject_start(const struct subject_config *config, struct err *e);

// Signals an instance, or with -1 all of them. A signal goes to the whole process group, because
// the command may be a script that runs the collector. Writes the pids of the signalled processes
// to `pids`, which needs room for all instances; with them the caller can check later that these
// processes ended. After a signal that can end a process, its end counts as asked for. Signal 0
// only fetches the pids. Returns the number of pids.
size_t subject_signal(struct subject *s, int instance, int signal, pid_t *pids);

// Signals as subject_signal does, and keeps the signalled instances from being started again: for
// ever if `for_good`, otherwise until subject_release. Without `for_good`, *held gets one bit for
// each held instance, at the instance's number. Several faults may hold an instance down; it starts
// again when the last fault releases it.
size_t subject_hold_down(
    struct subject *s, int instance, int signal, bool for_good, pid_t *pids, uint64_t *held);
void subject_release(struct subject *s, uint64_t held);

// True when each instance whose bit is set in `held` runs, or is held down by another fault.
bool subject_started(struct subject *s, uint64_t held);

// Sets how fast the output of an instance is read, or with -1 of all instances, also for processes
// that are started later. bytes_per_s 0 stops reading; READER_UNLIMITED removes the limit.
#define READER_UNLIMITED INT64_C(-1)
void subject_set_read_rate(struct subject *s, int instance, int64_t bytes_per_s);

// Returns how many bytes an instance, or with -1 all instances, have written that were not read
// yet.
size_t subject_unread(struct subject *s, int instance);
// Returns how many bytes were read from all instances so far.
uint64_t subject_read_bytes(struct subject *s);

// Sets the mood (enum sender_mood) of an instance's sender, or with -1 of all senders.
void subject_set_mood(struct subject *s, int instance, int mood);

// Ends the sender of an instance, or with -1 all senders, by closing the collector's standard
// input. Writes the pids of the collectors concerned to `pids` and returns their number.
size_t subject_kill_sender(struct subject *s, int instance, pid_t *pids);

// True when the senders have given all answers, apart from those that they never give.
bool subject_answered(struct subject *s);

// Closes the output of an instance, or with -1 of all: stops the process, reads its pipe empty,
// closes the pipe, lets the process continue. If the process then ends with exit code 74 (its
// output failed), its end counts as asked for. Writes the pids to `pids`. Returns how many of these
// outputs were closed in time; one whose process ended meanwhile counts, too. An instance is left
// out while it has no process, or when its output is closed already.
size_t subject_close_reader(struct subject *s, int instance, pid_t *pids);

// True when none of these processes is left: each has ended and was reaped, and its process group
// was killed.
bool subject_ended(struct subject *s, const pid_t *pids, size_t count);

// True when the harness itself could not start a collector. The run then proves nothing. The reason
// is in e; ERR_USAGE when the command names no program.
bool subject_failed(struct subject *s, struct err *e);

// True when the collector did something that ends the run: it ended too often without a line, it
// flooded its output or its log, or the last collector ended and is not to be started again. The
// reason is in e, which may be NULL.
bool subject_gave_up(struct subject *s, struct err *e);

// Returns how many tokens of the present log were read so far in whole lines; the progress line
// shows the number.
uint64_t subject_tokens(struct subject *s);

// Returns how many tokens were read so far, in all logs, in whole lines of an instance, or with -1
// of all.
uint64_t subject_tokens_of(struct subject *s, int instance);

// Returns when a planned token was first read in a whole line with a good signature
// (CLOCK_MONOTONIC); 0: not yet, or the queue must deliver the job again. The drain uses this to
// end early, as soon as all expected tokens were seen.
int64_t subject_seen_ns(struct subject *s, uint32_t token);

// What a new log begins with. An instance's collector-<instance>.log moves from old_dir to log_dir
// and is continued there, so both must be on the same file system.
struct subject_new_log {
    const struct plan *plan; // its arrays must stay valid until the next new log, or until the
                             // subject is freed
    uint64_t seed;           // decides the sender's answers from here on
    const char *old_dir, *log_dir; // folders of collector-<instance>.log
};

// How much time the harness itself spent on reading, and how late it was.
struct subject_cost {
    int64_t serving_ns;   // ns spent on reading, decoding and checking, without waiting
    struct stalls stalls; // stalls of the reader's loop
};

// Ends the present log and begins a new one while the processes go on. A living process is in both
// logs; in the old one it has no end. *log gets the old log, which the caller then owns, and *cost
// its cost. Call this when all tokens are settled; it waits until all answers were given and it is
// known what ended processes have left behind. False when that takes too long, or a file or memory
// fails; the files of the old log may then have moved already.
MUST_USE bool subject_begin_log(struct subject *s, const struct subject_new_log *to,
    struct subject_log *log, struct subject_cost *cost, struct err *e);

// Sends TERM to all processes, reads their outputs to the end, and joins the thread. A process that
// still runs after grace_ns is killed.
void subject_stop(struct subject *s, int64_t grace_ns);

// Returns the log. Call it only after subject_stop; the log lives until subject_free.
struct subject_log *subject_log(struct subject *s);

// Returns the cost of reading. Call it only after subject_stop.
const struct subject_cost *subject_cost(const struct subject *s);

void subject_free(struct subject *s);
