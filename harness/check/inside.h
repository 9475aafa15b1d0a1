// What the parts of this folder share; nobody else includes it.
#pragma once

#include "check/check.h"

// --- findings.c -------------------------------------------------------------------

// Counts one case of a broken invariant; the first few are described.
void finding_add(struct result *r, enum metric_id id, const char *fmt, ...) PRINTF_LIKE(3, 4);
// Appends to the case that was added last which faults are next to that time.
void finding_add_faults(
    struct result *r, enum metric_id id, const struct ledger *l, int64_t at_ns); // recovery.c
void result_reason(struct result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

// So much was there to be judged, and was, unless a cause excuses it.
void judged_add(struct result *r, enum metric_id id, double amount, struct cause cause);

// Too little judged of what the scenario is about makes a run inconclusive.
void check_judged(struct result *r, const struct scenario *s);

// --- the invariants ---------------------------------------------------------------

void check_tokens(struct result *r, const struct ledger *l);                           // tokens.c
MUST_USE bool check_repeats(struct result *r, const struct ledger *l, struct err *e);  // tokens.c
void check_lines(struct result *r, const struct ledger *l);                            // lines.c
void check_processes(struct result *r, const struct ledger *l);                        // lines.c
bool check_ended_as_asked(const struct ledger *l, const struct process_record *p);     // lines.c
bool check_killed_by_plan(const struct ledger *l, const struct process_record *p);     // lines.c
void check_recovery(struct result *r, const struct ledger *l);                         // recovery.c
MUST_USE bool check_sequence(struct result *r, const struct ledger *l, struct err *e); // order.c
void check_vitals(
    struct result *r, const struct ledger *l, const struct stalls *reader); // vitals.c
void check_end_state(struct result *r, const struct ledger *l);             // vitals.c
void check_gates(struct result *r, const struct ledger *l, const struct check_input *in);
MUST_USE bool check_timing(struct result *r, const struct ledger *l, const struct stalls *reader,
    struct err *e); // timing.c
void check_figures(struct result *r, const struct ledger *l, const struct check_input *in);

// All invariants and the counts they rest on, without figures and verdict.
MUST_USE bool check_findings(
    struct result *r, const struct ledger *l, const struct check_input *in, struct err *e);

// --- what they ask of each other --------------------------------------------------

// An insert meant for a time at which the server was away, or its own connection
// was cut, is late through no fault of the generator.
bool check_generator_excused(const struct ledger *l, int64_t intended_ns);

// Whether the harness itself stood still for more than slack/2 between two times,
// as its probe and its reader tell: what came late then may have been in time.
bool check_harness_stalled(const struct result *r, const struct ledger *l,
    const struct stalls *reader, int64_t from_ns, int64_t until_ns); // timing.c

// repeats.c: how many duplicates the plan itself explains.
uint64_t check_duplicate_bound(const struct ledger *l);

// repeats.c: whether a fault between two times made the server lose what it had
// acknowledged: with durability waived, or by promoting an asynchronous standby.
bool check_server_forgot(const struct ledger *l, int64_t from_ns, int64_t until_ns);

// The scenario's slack, or what the probe measured.
int64_t check_slack_ns(const struct ledger *l);

// Fault-free nanoseconds between two times: outside of every fault window, which
// lasts from the fault's actual start to its undoing + recovery_limit.
int64_t check_fault_free_ns(const struct ledger *l, int64_t from_ns, int64_t until_ns);

// The last fault whose window touches that time; CAUSE_NONE when none does.
struct cause check_disturbed(const struct ledger *l, int64_t from_ns, int64_t until_ns);

// No fault window touches that time.
static inline bool check_undisturbed(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    return check_disturbed(l, from_ns, until_ns).kind == CAUSE_NONE;
}
