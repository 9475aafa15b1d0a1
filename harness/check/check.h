// The invariants over a finished ledger, the figures of the run, and the
// verdict. Pure: the same ledger gives the same verdict, with no clock, server
// or collector at hand. Definitions with formulas: README.md in this folder.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "check/stages.h"
#include "ledger/ledger.h"
#include "measure/histogram.h"
#include "scenario/metrics.h"

#define FINDING_EXAMPLES 5

// One broken invariant: how often, and the first few cases for a human.
struct finding {
    uint64_t count;
    char examples[FINDING_EXAMPLES][256];
    size_t example_count;
};

enum verdict { VERDICT_PASS, VERDICT_VIOLATED, VERDICT_INCONCLUSIVE, VERDICT_MISSED };

#define REASONS_MAX 16

struct result {
    enum verdict verdict;
    double values[METRIC_COUNT];           // NAN: not measured
    struct finding findings[METRIC_COUNT]; // of the invariants; count includes what is allowed
    bool broken[METRIC_COUNT];             // the invariant does not hold
    uint64_t duplicate_bound;              // how many duplicates the plan explains
    bool *holds;                           // owned; one per scenario.expect
    double *recovery_ms;                   // owned; one per planned fault, NAN: not seen
    char reasons[REASONS_MAX][256];        // why it is inconclusive
    size_t reason_count;
    int64_t slack_ns; // what `late` tolerates, measured or as the scenario says
    struct histogram from_intended, from_commit, lag; // ns
    struct stages stages;
};

// What the ledger does not hold.
struct check_input {
    const struct load_result *load;
    uint64_t reconnects; // sessions of the collector, from the server's log; UINT64_MAX: unknown
    const char *gave_up; // why the subject ended the run; NULL: it did not
    const struct stalls *reader_stalls; // of the loop that reads the collector; NULL: unknown
    int64_t reader_ns;                  // spent on reading, decoding and checking all lines
    const char *cpu_users;              // who used the machine, for people; NULL: not sampled
};

MUST_USE bool check_ledger(
    struct result *r, const struct ledger *l, const struct check_input *in, struct err *e);
void result_fini(struct result *r);

// An invariant of which the run has something to say.
bool result_judged(const struct result *r, enum metric_id id);

const char *verdict_name(enum verdict verdict);

// 0 pass, 1 violated, 2 inconclusive, 3 missed.
int verdict_exit_code(enum verdict verdict);

// --- what the parts of this folder share ----------------------------------------

// Counts one case of a broken invariant; the first few are described.
void finding_add(struct result *r, enum metric_id id, const char *fmt, ...) PRINTF_LIKE(3, 4);
// Appends to the case that was added last which faults are next to that time.
void finding_add_faults(
    struct result *r, enum metric_id id, const struct ledger *l, int64_t at_ns); // recovery.c
void result_reason(struct result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

void check_tokens(struct result *r, const struct ledger *l);                           // tokens.c
MUST_USE bool check_repeats(struct result *r, const struct ledger *l, struct err *e);  // tokens.c
void check_lines(struct result *r, const struct ledger *l);                            // lines.c
void check_processes(struct result *r, const struct ledger *l);                        // lines.c
bool check_ended_as_asked(const struct ledger *l, const struct process_record *p);     // lines.c
void check_recovery(struct result *r, const struct ledger *l);                         // recovery.c
MUST_USE bool check_sequence(struct result *r, const struct ledger *l, struct err *e); // order.c
void check_vitals(
    struct result *r, const struct ledger *l, const struct stalls *reader); // vitals.c
void check_end_state(struct result *r, const struct ledger *l);             // vitals.c
void check_gates(struct result *r, const struct ledger *l, const struct check_input *in);

// An insert meant for a time at which the server was away, or its own connection
// was cut, is late through no fault of the generator.
bool check_generator_excused(const struct ledger *l, int64_t intended_ns);

// Whether the harness itself stood still for more than slack/2 between two times,
// as its probe and its reader tell: what came late then may have been in time.
bool check_harness_stalled(const struct result *r, const struct ledger *l,
    const struct stalls *reader, int64_t from_ns, int64_t until_ns); // timing.c

// timing.c
MUST_USE bool check_timing(
    struct result *r, const struct ledger *l, const struct stalls *reader, struct err *e);
void check_figures(struct result *r, const struct ledger *l, const struct check_input *in);

// All invariants and the counts they rest on, without figures and verdict.
MUST_USE bool check_findings(
    struct result *r, const struct ledger *l, const struct check_input *in, struct err *e);

// repeats.c: how many duplicates the plan itself explains.
uint64_t check_duplicate_bound(const struct ledger *l);

// repeats.c: whether a fault between two times made the server lose what it had
// acknowledged: with durability waived, or by promoting an asynchronous standby.
bool check_server_forgot(const struct ledger *l, int64_t from_ns, int64_t until_ns);

// The scenario's slack, or what the probe measured.
int64_t check_slack_ns(const struct ledger *l);

// Instead of a cursor: what one transaction holds, others pass by.
bool check_skips_locked(const struct scenario *s);

// Fault-free nanoseconds between two times: outside of every fault window, which
// lasts from the fault's actual start to its undoing + recovery_limit.
int64_t check_fault_free_ns(const struct ledger *l, int64_t from_ns, int64_t until_ns);

// No fault window touches that time.
static inline bool check_undisturbed(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    return check_fault_free_ns(l, from_ns, until_ns) == until_ns - from_ns;
}
