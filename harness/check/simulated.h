// Simulated histories: collectors that look at a queue every few milliseconds and write lines,
// alone or sharing the work, while faults hit them. The collectors are good, or all have the same
// defect. The same seed gives the same history.
#pragma once

#include "check/check.h"
#include "plan/rng.h"

// --- simulated_history.c -----------------------------------------------------------
//
// The history that a simulation records: a ledger in arrays of a fixed size, so that 100,000 of
// them can be made in a minute. Times are ms since the load began.

#define SIM_HISTORY_MAX 512 // transactions, lines, deliveries

enum {
    SIM_START_MS = -1000,     // the first processes start
    SIM_LOAD_MS = 4000,       // the load ends
    SIM_DRAIN_END_MS = 10000, // the drain ends, and the processes get TERM
    SIM_EXIT_MS = 10010,      // the processes end
};

struct sim_history {
    struct scenario scenario;
    struct load_phase phase;
    struct fault_spec specs[16];
    struct plan plan;
    struct plan_txn plan_txns[SIM_HISTORY_MAX];
    uint8_t kinds[SIM_HISTORY_MAX]; // enum token_kind; per token
    struct txn_record txns[SIM_HISTORY_MAX];
    struct fault_record faults[16];
    struct subject_log log;
    struct process_record processes[8];
    struct line_record lines[SIM_HISTORY_MAX];
    struct delivery deliveries[SIM_HISTORY_MAX];
    int64_t sessions[64];
    struct load_result load;
    struct ledger ledger;
    struct check_input input;
    struct result result;
};

// Begins with one collector that lives from a second before the load to the end: three tokens a
// line, a timeout of 100 ms, a slack of 50 ms.
void sim_history_init(struct sim_history *h);
void sim_history_fini(struct sim_history *h);

// Adds a transaction that is acknowledged 1 ms after it was sent, and returns its first token.
uint32_t sim_history_txn(struct sim_history *h, int64_t at_ms, int rows);

// Adds a line of these tokens.
void sim_history_line(
    struct sim_history *h, uint32_t process, int64_t read_ms, const uint32_t *tokens, int count);

// Adds a session of the collector.
void sim_history_session(struct sim_history *h, int64_t at_ms);

void sim_history_fault(struct sim_history *h, const char *verb, int64_t began_ms, int64_t ended_ms);

// Brings the history to its end: the database holds what is committed.
void sim_history_settle(struct sim_history *h);

// --- simulated.c ---------------------------------------------------------------------

enum {
    SIM_INSTANCES_MAX = 3,
    SIM_TOKENS_MAX = 200,
    SIM_TIMEOUT_MS = 100,
    SIM_GRACE_MS = 500,
    SIM_NEVER_MS = 1000000,
};

enum sim_defect {
    SIM_NONE,
    SIM_SLEEPS,   // one of several collectors writes nothing
    SIM_SLOW,     // sustains half of what comes in
    SIM_LEAVES,   // hardly touches the backlog that a fault left
    SIM_TWICE,    // writes some lines twice
    SIM_STEALS,   // writes what another has taken, too
    SIM_LOSES,    // forgets the tokens that a killed collector had taken
    SIM_LATE,     // waits for three times the timeout
    SIM_EARLY,    // waits for a third of the batch timeout
    SIM_RESTS,    // rests for two seconds after it has opened its session again
    SIM_NO_LIMIT, // writes all that waits
};

// The setting in which a defect shows, and the invariant that it breaks.
struct sim_setting {
    int least, most;  // the number of instances is between these
    double rate;      // transactions a second; 0: a random rate
    bool burst;       // all tokens come at once
    bool faults;      // a random number of faults; without it one if `verb` is set, else none
    const char *verb; // the verb of all faults; NULL: a random one for each
    enum metric_id breaks;
    bool exactly;          // the invariant breaks as often as the defect had an occasion
    enum metric_id may[3]; // invariants that may break as a consequence
};

extern const struct sim_setting sim_settings[];

struct sim_instance {
    uint32_t process;
    bool alive;
    int64_t starts_ms;  // for a dead instance: when it starts again
    int64_t session_ms; // when its session opens or opened
    bool connected;     // its session is open
    int64_t paused_ms;  // until when it is paused
    int64_t rests_ms;   // until when a defect makes it rest
    uint32_t batch[SIM_TOKENS_MAX];
    int count;
    uint32_t unsure[SIM_TOKENS_MAX]; // tokens that it wrote, and that others may have written since
    int unsure_count;
    bool written;     // the batch is written and not confirmed
    int64_t ready_ms; // when it may write or confirm
};

struct sim {
    struct sim_history h;
    struct rng rng;
    enum sim_defect defect;
    bool burst;
    int instances;
    bool turns;           // one instance works and the others stand by
    int holder;           // the instance whose turn it is
    int64_t turn_free_ms; // when another may take the turn; SIM_NEVER_MS: the holder keeps it
    struct sim_instance all[SIM_INSTANCES_MAX];
    int64_t unread_ms[SIM_INSTANCES_MAX]; // until when nobody reads the output of each instance
    int64_t stall_ms; // when the harness itself begins to stand still; SIM_NEVER_MS: never
    struct stall stall;
    struct stalls stalls;
    int64_t origin_ns; // the beginning of the load, on the run's clock
    int64_t now_ms;
    int64_t service_ms;               // from taking a batch to writing its line
    int64_t cut_ms;                   // until when no connection passes anything
    int64_t free_ms[SIM_TOKENS_MAX];  // when each token is free to be taken; SIM_NEVER_MS: it is
                                      // written or taken
    int64_t since_ms[SIM_TOKENS_MAX]; // since when each token waits
    bool delivered[SIM_TOKENS_MAX];
    uint32_t tokens, first; // `tokens`: their number; all below `first` are written or taken
    uint64_t occasions;     // number of times at which the defect could act
};

// Records the history up to where sim_history_settle takes over; the owner calls sim_history_fini.
void simulate(struct sim *m, enum sim_defect defect, uint64_t seed);

// Returns the time on the run's clock; `ms` counts from the beginning of the load.
int64_t sim_at_ns(const struct sim *m, int64_t ms);

// Draws a time from `from` up to below `to`.
int64_t sim_between(struct sim *m, int64_t from, int64_t to);

// --- simulated_faults.c ---------------------------------------------------------------

void sim_start_process(struct sim *m, int instance, int64_t at_ms);

// Lets the session open at `ms`. If a cut still lasts then, the session opens as long after the
// cut's end as `ms` is after now.
void sim_connect_at(struct sim *m, struct sim_instance *k, int64_t ms);

// Opens the session. Tokens that were taken and not written are free again.
void sim_open_session(struct sim *m, struct sim_instance *k);

// True when this connected instance may work. If it takes the turn from another, the tokens that
// the other had taken and not written are free again.
bool sim_has_turn(struct sim *m, int instance);

// Makes a fault with this verb; NULL: with a random one.
void sim_hit(struct sim *m, const char *verb);

// --- simulated_reader.c ---------------------------------------------------------------

// Pauses the reader of an instance; -1: all readers. False when one of them is paused already.
bool sim_pause_reader(struct sim *m, int instance, int64_t for_ms);

// Lets the harness itself stand still, unless a reader is paused.
void sim_stall(struct sim *m, int64_t for_ms);

// Returns when a line that the instance writes now will be read.
int64_t sim_read_ms(const struct sim *m, const struct sim_instance *k);

// Reads what an instance that dies now has left in its pipe.
void sim_read_the_rest(struct sim *m, const struct sim_instance *k);

// Puts the lines into the order in which they were read.
void sim_sort_lines(struct sim *m);
