// The verdict on a finished ledger, with the figures of the run: the face of this
// folder. Pure: the same ledger gives the same verdict, with no clock, server or
// collector at hand. Definitions with formulas: README.md in this folder.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "check/cause.h"
#include "check/stages.h"
#include "ledger/ledger.h"
#include "measure/histogram.h"
#include "scenario/metrics.h"

// Results of different rules cannot be compared: 1 excused by time windows and
// budgets, 2 by causes.
#define CHECK_RULES 2

#define FINDING_EXAMPLES 5

// One broken invariant: how often, and the first few cases for a human.
struct finding {
    uint64_t count;
    char examples[FINDING_EXAMPLES][256];
    size_t example_count;
};

// How much of an invariant was judged, in what metrics[id].over counts.
struct judged {
    double judged;
    double of;                   // what there was: judged and excused
    double excused[CAUSE_KINDS]; // by what explains it
};

enum verdict { VERDICT_PASS, VERDICT_VIOLATED, VERDICT_INCONCLUSIVE, VERDICT_MISSED };

#define REASONS_MAX 16

struct result {
    enum verdict verdict;
    double values[METRIC_COUNT];           // NAN: not measured
    struct finding findings[METRIC_COUNT]; // of the invariants; count includes what is allowed
    struct judged judged[METRIC_COUNT];    // of the invariants
    bool broken[METRIC_COUNT];             // the invariant does not hold
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

// An invariant that is not judged because the subject does not promise it.
bool check_promised(const struct scenario *s, enum metric_id id);

// The judged share, 0 to 1; NAN where there was nothing to judge.
double judged_share(const struct judged *j);

// Below this share the table shows how much was judged.
#define JUDGED_SHOWN 0.9

// "12% of 345 tokens judged, the rest excused by fault (200), stall (103)".
void judged_text(const struct result *r, enum metric_id id, char *out, size_t size);

// Instead of a cursor: what one transaction holds, others pass by.
bool check_shares(const struct scenario *s);

const char *verdict_name(enum verdict verdict);

// 0 pass, 1 violated, 2 inconclusive, 3 missed.
int verdict_exit_code(enum verdict verdict);
