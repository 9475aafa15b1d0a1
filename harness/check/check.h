// The interface of this folder: the verdict on a finished ledger, and the figures of the run. Pure:
// the same ledger always gives the same verdict, without a clock, a server or a collector.
// The head of each file in invariants/ defines what it judges.
#pragma once

#include "check/cause.h"
#include "check/stages.h"
#include "ledger/history.h"
#include "ledger/ledger.h"
#include "measure/histogram.h"
#include "scenario/metric.h"
#include "scenario/verbs.h"

// The version of the rules. Results of different versions cannot be compared. Version 1 excused by
// time windows and budgets, version 2 by causes that the subject could make itself. Version 3
// excuses by a timeline of what the harness did and measured.
#define CHECK_RULES 3

#define FINDING_EXAMPLES 5

// One broken invariant: the number of cases, and a description of the first few.
struct finding {
    uint64_t count;
    char examples[FINDING_EXAMPLES][256];
    size_t example_count;
};

// How much there was to judge of an invariant, and how much of it was judged, in the unit of
// metrics[id].over.
struct judged {
    double judged;
    double of;                   // the whole amount: what was judged and what was excused
    double excused[CAUSE_KINDS]; // the part that each kind of cause excuses
};

// How long the strikes of one verb excused the subject after the fault's end, at most and in fact.
struct excuse {
    uint64_t strikes;
    int64_t most_ns; // the longest time after the fault's end that the bounds allow for one of them
    int64_t used_ns; // the longest time after the fault's end that one of them excused
    bool to_end;     // one of them excused all time until the run's end
};

// The numbers are the exit codes.
enum verdict { VERDICT_PASS, VERDICT_VIOLATED, VERDICT_INCONCLUSIVE, VERDICT_MISSED };

#define REASONS_MAX 16

struct result {
    enum verdict verdict;
    double values[METRIC_COUNT];           // NAN: not measured
    struct finding findings[METRIC_COUNT]; // per invariant; count includes what `allow` tolerates
    struct judged judged[METRIC_COUNT];    // per invariant
    struct excuse excuses[VERB_COUNT];     // per verb
    bool broken[METRIC_COUNT];             // the invariant does not hold
    bool doubted[METRIC_COUNT]; // too many cases were found, but the machine or the harness may
                                // explain them
    bool *holds;                // owned; one per scenario.expect: it is as expected
    double *recovery_ms; // owned; one per planned fault: time until the first fresh token; NAN:
                         // none was seen
    char reasons[REASONS_MAX][256]; // why the run is inconclusive
    size_t reason_count;
    int64_t slack_ns;  // lateness that `late` tolerates, in ns: measured, or set by the scenario
    int64_t latest_ns; // how late the latest of the late tokens was, in ns
    struct histogram from_intended, from_commit, lag; // ns
    struct stages stages;
};

// Facts that the ledger does not hold.
struct check_input {
    const struct load_result *load;
    uint64_t reconnects; // sessions that the collectors opened beyond the first of each process, by
                         // the server's log; UINT64_MAX: unknown
    const char *gave_up; // why the harness gave the subject up and ended the run; NULL: it did not
    bool interrupted;    // a signal ended load and faults early
    const struct stalls *reader_stalls; // stalls of the loop that reads the output; NULL: unknown
    int64_t reader_ns;                  // ns that this loop spent on reading, decoding and checking
                                        // all lines
    const char *cpu_users;              // who used the machine, in words; NULL: not sampled
    double others_share; // share of the processors that programs outside of the run used; 0:
                         // unknown
};

// Returns the facts that a stored history holds; the result borrows from the history.
struct check_input check_input_of(const struct history *h);

// Judges the ledger and fills in *r; the owner calls result_fini.
void check_ledger(struct result *r, const struct ledger *l, const struct check_input *in);
void result_fini(struct result *r);

// True when the run could look for cases of this invariant, even if all of its time was excused.
bool result_judged(const struct result *r, enum metric_id id);

// True when the invariant applies to this kind of subject, and the subject promises it (`small`
// counts only if the scenario's `needs` names it, too) or `expect` names it. No other invariant is
// judged.
bool check_promised(const struct scenario *s, enum metric_id id);

// Appends the invariants for this kind of subject that check_promised leaves out, with the words
// that `promises` or `needs` lacks: "busy_idle, leak (not promised: small)". Appends nothing when
// all are promised.
void unpromised_text(const struct scenario *s, struct buf *out);

// Returns the share of an invariant that was judged, 0 to 1; NAN when there was nothing to judge.
double judged_share(const struct judged *j);

// The table in the terminal shows the judged share of an invariant when it is below this.
#define JUDGED_SHOWN 0.9

// Writes "42 of 345 tokens judged; excused: 200 by fault, 103 by stall".
void judged_text(const struct result *r, enum metric_id id, char *out, size_t size);

// The load's backends run, or are ready to run and wait for a processor. Returns the share of that
// time, 0 to 1, in which programs other than the collector (also the load itself) made them wait.
// NAN: nobody watched, or the backends were not seen, as on a server of another machine.
double check_load_starved(const struct ledger *l);

// Returns how much of a plan's load, in ns, will be judged by the clock in the worst case: each
// fault excuses all of the time that its bound allows.
int64_t check_foreseen_ns(const struct scenario *s, const struct plan *plan);

const char *verdict_name(enum verdict verdict);

// Finds the verdict with this name; false when there is none, or no name (NULL).
bool verdict_find(const char *name, enum verdict *verdict);

// Returns 0 for pass, 1 violated, 2 inconclusive, 3 missed.
int verdict_exit_code(enum verdict verdict);
