// What the parts of this folder share; nobody else includes it.
#pragma once

#include "check/check.h"
#include "check/outages.h"
#include "check/stalls.h"

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

// --- what all of them go by -------------------------------------------------------

struct check {
    struct result *r;
    const struct ledger *l;
    const struct check_input *in;
    struct outages outages;
    struct stall_list stalls; // longer than slack/2
    int64_t *busy_since;      // per line: since when full lines have followed each other
};

// Fills in busy_since, owned by whoever has the struct. chains.c
MUST_USE bool check_chains(struct check *c, struct err *e);

// --- the invariants ---------------------------------------------------------------

void check_tokens(const struct check *c);                                              // tokens.c
MUST_USE bool check_repeats(const struct check *c, struct err *e);                     // repeats.c
void check_lines(struct result *r, const struct ledger *l);                            // lines.c
void check_processes(struct result *r, const struct ledger *l);                        // lines.c
bool check_ended_as_asked(const struct ledger *l, const struct process_record *p);     // lines.c
bool check_killed_by_plan(const struct ledger *l, const struct process_record *p);     // lines.c
void check_recovery(const struct check *c);                                            // recovery.c
MUST_USE bool check_sequence(struct result *r, const struct ledger *l, struct err *e); // order.c
void check_vitals(const struct check *c);                                              // vitals.c
void check_end_state(struct result *r, const struct ledger *l);                        // vitals.c
MUST_USE bool check_early(const struct check *c, struct err *e);                       // early.c
MUST_USE bool check_late(const struct check *c, struct err *e);                        // late.c
MUST_USE bool check_behind(const struct check *c, struct err *e);                      // behind.c
MUST_USE bool check_idle_instances(const struct check *c, struct err *e);              // idle.c
MUST_USE bool check_outcomes(const struct check *c, struct err *e);                    // outcome.c
MUST_USE bool check_lanes(const struct check *c, struct err *e);                       // lanes.c
void check_gates(struct result *r, const struct ledger *l, const struct check_input *in);
MUST_USE bool check_figures(
    struct result *r, const struct ledger *l, const struct check_input *in, struct err *e);

// All invariants and the counts they rest on, without figures and verdict.
MUST_USE bool check_findings(
    struct result *r, const struct ledger *l, const struct check_input *in, struct err *e);

// --- what they ask of each other --------------------------------------------------

// A finding of a token, with its life in one line. tokens.c
void finding_add_token(struct result *r, enum metric_id id, const struct ledger *l, uint32_t token);

// An insert meant for a time at which the server was away, or its own connection
// was cut, is late through no fault of the generator.
bool check_generator_excused(const struct ledger *l, int64_t intended_ns);

// forgot.c: whether a fault between two times made the server lose what it had
// acknowledged, of something that was committed at `committed_ns` at the latest
// (CLOCK_NEVER: not known): with durability waived, by promoting an asynchronous
// standby, or in a failover whose timelines say so.
bool check_server_forgot(
    const struct ledger *l, int64_t from_ns, int64_t until_ns, int64_t committed_ns);

// forgot.c: whether a failover left this token, which was acknowledged, on the old
// leader's timeline.
bool check_left_behind(const struct ledger *l, uint32_t token);

// forgot.c: what every failover of the run left behind is known, and there was one.
bool check_failovers_known(const struct ledger *l);

// The last fault whose window touches that time, from its beginning to its undoing +
// recovery_limit, or else the last sender's death; CAUSE_NONE when none does. recovery.c
struct cause check_disturbed(const struct ledger *l, int64_t from_ns, int64_t until_ns);

// No fault window touches that time.
static inline bool check_undisturbed(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    return check_disturbed(l, from_ns, until_ns).kind == CAUSE_NONE;
}
