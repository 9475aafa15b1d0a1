// The parts of this folder share these declarations; nobody else includes them.
#pragma once

#include "check/check.h"
#include "check/lookup.h"
#include "check/stall_list.h"
#include "check/timeline.h"
#include "scenario/leased.h"

// The state that all checks share.
struct check {
    struct result *r;
    const struct ledger *l;
    const struct check_input *in;
    int64_t flush_ns; // check_flush_ns
    struct timeline timeline;
    struct stall_list stalls; // stalls longer than slack/2
    double budget_per_s;      // tokens per second; 0: no budget
    bool *spent;              // owned; per line: the budget was spent there; NULL: no budget
    int64_t *busy_since;      // owned; per line: since when full lines have followed each other
    // Owned; per line: the latest of the times at which the oldest tokens of the lines before it
    // were sent.
    int64_t *overtaken_ns;
    // The time since which full lines had followed each other at the end of the drain; CLOCK_NEVER:
    // the drain did not end in such a chain.
    int64_t draining_since_ns;
};

// --- attempts.c --------------------------------------------------------------------

// Compares a token's recorded attempts with its deliveries. `first` is the index of the token's
// first delivery, and next[i] that of its delivery after delivery i; UINT32_MAX ends the list.
void check_attempts(const struct check *c, const struct leased *m, uint32_t token, uint32_t first,
    const uint32_t *next);

// --- behind.c ----------------------------------------------------------------------

MUST_USE bool check_behind(const struct check *c, struct err *e);

// --- budget.c ----------------------------------------------------------------------

// Fills in budget_per_s and spent; check_budget_fini frees them.
MUST_USE bool check_budget(struct check *c, struct err *e);
void check_budget_fini(struct check *c);

// True when `tokens` tokens in a time of `ns` spend a budget of `per_s` tokens a
// second. False where per_s is 0: no budget.
bool check_is_budget_spent(double per_s, uint64_t tokens, int64_t ns);

// --- chains.c ----------------------------------------------------------------------

// Fills in busy_since, overtaken_ns and draining_since_ns; check_chains_fini frees them.
MUST_USE bool check_chains(struct check *c, struct err *e);
void check_chains_fini(struct check *c);

// True when a token that was due at due_ns had to wait behind older ones: full lines followed each
// other from due_ns or earlier up to this line, and each of them held a token that was sent at
// due_ns or before.
bool check_had_to_wait(const struct check *c, uint32_t line, int64_t due_ns);

// --- check.c -----------------------------------------------------------------------

// True when load and faults ended before the plan did. The rest of the plan then counts against
// nobody.
static inline bool check_ended_early(const struct check_input *in)
{
    return in->gave_up || in->interrupted;
}

// Computes all invariants and the counts that they rest on, without figures and verdict.
MUST_USE bool check_findings(
    struct result *r, const struct ledger *l, const struct check_input *in, struct err *e);

// --- early.c -----------------------------------------------------------------------

MUST_USE bool check_early(const struct check *c, struct err *e);

// --- end_state.c -------------------------------------------------------------------

MUST_USE bool check_end_state(const struct check *c, struct err *e);

// --- unplanned_exit.c -----------------------------------------------------------------------

MUST_USE bool check_exits(const struct check *c, struct err *e);
bool check_ended_as_asked(const struct check *c, const struct process_record *p);
bool check_killed_by_plan(const struct check *c, const struct process_record *p);

// Returns when TERM was sent to a process; CLOCK_NEVER: it was not.
int64_t check_term_ns(const struct check *c, const struct process_record *p);

// A shell, and the runtimes of some languages, tell the signal that ended a program as its number
// and this.
enum { check_by_signal = 128 };

// Returns the first fault, other than a TERM, that was at work on an instance between two times.
// CAUSE_NONE: there was none.
struct cause check_ending_disturbed(
    const struct check *c, int instance, int64_t from_ns, int64_t until_ns);

// --- full_batches.c -------------------------------------------------------------------------

MUST_USE bool check_fill(const struct check *c, struct err *e);

// --- figures.c ---------------------------------------------------------------------

MUST_USE bool check_figures(
    struct result *r, const struct ledger *l, const struct check_input *in, struct err *e);

// True when an insert is late through no fault of the generator: at its time the server was away,
// or a fault had cut its own connection.
bool check_generator_excused(const struct ledger *l, int64_t intended_ns);

// --- findings.c --------------------------------------------------------------------

// Counts one case of a broken invariant, and describes the first few.
void finding_add(struct result *r, enum metric_id id, const char *fmt, ...) PRINTF_LIKE(3, 4);
// Appends the faults that are next to that time to the finding's last example.
void finding_add_faults(struct result *r, enum metric_id id, const struct ledger *l, int64_t at_ns);

void result_reason(struct result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

// Adds an amount to be judged. It counts as judged unless a cause excuses it.
void judged_add(struct result *r, enum metric_id id, double amount, struct cause cause);

// Makes the run inconclusive when too little was judged of an invariant that the scenario is about.
void check_judged(struct result *r, const struct scenario *s);

// --- forgot.c ----------------------------------------------------------------------

// True when a fault between the two times made the server lose acknowledged data that was committed
// at `committed_ns` at the latest (CLOCK_NEVER: unknown). The server loses data when the scenario
// waives durability, when an asynchronous standby is promoted, or in a failover whose timelines say
// so.
bool check_server_forgot(
    const struct ledger *l, int64_t from_ns, int64_t until_ns, int64_t committed_ns);

// True when a failover left this acknowledged token on the old leader's timeline.
bool check_left_behind(const struct ledger *l, uint32_t token);

// True when the run had a failover and the harness knows what each one left behind.
bool check_failovers_known(const struct ledger *l);

// --- gates.c -----------------------------------------------------------------------

void check_gates(struct result *r, const struct ledger *l, const struct check_input *in);

// True when the generator fell behind its plan.
bool check_generator_lags(const struct result *r, const struct scenario *s);

// The same, though a set slack may forgive it.
bool check_generator_lags_unforgiven(const struct result *r);

// Returns what a figure would be without the generator's lag. How many lines there are, and other
// counts, may depend on the lag in any way: NAN.
double check_less_lag(const struct result *r, const struct ledger *l, const struct check_input *in,
    enum metric_id id);

// --- held_up.c ----------------------------------------------------------------------

// Returns the slack of a way between two times: the run's, and what slow faults add to it
// meanwhile. `cause` is the last of these.
struct free_time check_slack(const struct check *c, int64_t from_ns, int64_t until_ns);

#define ANY_PROCESS UINT32_MAX
#define NO_PROCESS (UINT32_MAX - 1)

struct left {
    int64_t ns, felt_ns; // felt_ns: without a short wait for a processor, which every machine shows
};

// Returns what is left of a stretch of time, of which the faults leave free_ns, without the stalls,
// each of which delays so many steps, and without the time in which others kept the processors from
// the process; ANY_PROCESS: from the one that waited longest.
struct left check_left(const struct check *c, uint32_t process, int64_t from_ns, int64_t until_ns,
    int64_t free_ns, int steps);

// Returns the one cause that explains that something came so much later than it may: the stalls,
// twice their length, or the wait for a processor.
struct cause check_explained_by(
    const struct check *c, uint32_t process, int64_t from_ns, int64_t until_ns, int64_t beyond_ns);

// Returns `fault` or, if that is CAUSE_NONE, what else can have disturbed a process between two
// times: a stall of that length or more, or others that kept the processors away. NO_PROCESS: only
// a stall.
struct cause check_kept_by(const struct check *c, uint32_t process, int64_t from_ns,
    int64_t until_ns, int64_t least_ns, struct cause fault);

// Returns when a line was written at the earliest. The reader wakes when something comes, so that
// is when it was read, unless a span of its instance or a stall lies between its reading and the
// last time at which the reader found the pipe empty: then since both the pipe was empty and the
// first of them began.
int64_t check_written_ns(const struct check *c, const struct line_record *line);

// Returns for how long lines of an instance, EVERY: of any, may have lain unread between two times.
int64_t check_unread_ns(const struct check *c, int instance, int64_t from_ns, int64_t until_ns);

// Returns how much of a stretch of time an instance had for its work: no fault kept its lines,
// nothing stood still, and its processes had a processor when they were ready to run, by the
// samples that tell them from those of other instances.
int64_t check_awake_ns(const struct check *c, int instance, int64_t from_ns, int64_t until_ns);

struct sight {
    int64_t by_ns;      // when all have seen what happened: the slack later, or more in a stall
    struct cause cause; // the fault that may have disturbed one of them until then
};

// Asks about what happened at a time, and what came of it until another.
struct sight check_seen(const struct check *c, int64_t at_ns, int64_t until_ns);

// --- holds.c ------------------------------------------------------------------------

MUST_USE bool check_holds(const struct check *c, struct err *e);

// --- idle.c ------------------------------------------------------------------------

MUST_USE bool check_idle_instances(const struct check *c, struct err *e);

// --- lanes.c -----------------------------------------------------------------------

MUST_USE bool check_lanes(const struct check *c, struct err *e);

// --- late.c ------------------------------------------------------------------------

MUST_USE bool check_late(const struct check *c, struct err *e);

// --- leak.c -------------------------------------------------------------------------

MUST_USE bool check_leak(const struct check *c, struct err *e);

// --- litters.c ----------------------------------------------------------------------

MUST_USE bool check_litters(const struct check *c, struct err *e);

// --- single_lines.c -----------------------------------------------------------------------

MUST_USE bool check_lines(const struct check *c, struct err *e);

// --- meddles.c ---------------------------------------------------------------------

MUST_USE bool check_meddles(const struct check *c, struct err *e);

// --- order.c -----------------------------------------------------------------------

MUST_USE bool check_sequence(const struct check *c, struct err *e);

// --- leased_outcome.c ---------------------------------------------------------------------

MUST_USE bool check_outcomes(const struct check *c, struct err *e);

// --- recovery.c --------------------------------------------------------------------

MUST_USE bool check_recovery(const struct check *c, struct err *e);

// --- repeats.c ---------------------------------------------------------------------

MUST_USE bool check_repeats(const struct check *c, struct err *e);

// --- secrets.c ----------------------------------------------------------------------

MUST_USE bool check_secrets(const struct check *c, struct err *e);

// --- processor_wait.c ---------------------------------------------------------------------

// Returns the longest time that the process can have waited for a processor between two times, by
// the samples around them. Before the process's first sample nothing is known, and the result is
// zero.
int64_t check_starved_ns(
    const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns);

// Returns the longest time between two times for which other programs can have kept the processors
// from the collector or its backends, by the samples of the watch around them. Where nobody
// watched, the samples of the process itself tell how long it starved.
int64_t check_denied_ns(
    const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns);

// Returns the length of a stretch of time in which the harness stood still, less what the
// collector, all below it and its backends ran beyond one processor meanwhile: that was their own
// doing.
int64_t check_beyond_own_ns(const struct ledger *l, int64_t from_ns, int64_t until_ns);

// --- tokens.c ----------------------------------------------------------------------

MUST_USE bool check_tokens(const struct check *c, struct err *e);

// --- unrecorded.c -------------------------------------------------------------------

// Returns why an answer may be unrecorded: it came when the collector had given the attempt up; or
// after it had read the answer and before it recorded it, the process died or its session ended. A
// token with a final answer comes again for no other reason.
struct cause check_unrecorded_by(
    const struct check *c, const struct leased *m, const struct delivery *d, int64_t again_ns);

// True when the collector may have given the attempt up by that time, because it had no answer yet.
bool check_timed_out(
    const struct check *c, const struct leased *m, const struct delivery *d, int64_t at_ns);

// --- verdict.c ---------------------------------------------------------------------

// Judges all that the other checks have found, and fills in the verdict and its reasons.
void check_verdict(struct result *r, const struct ledger *l, const struct check_input *in);

// --- vitals.c ----------------------------------------------------------------------

MUST_USE bool check_vitals(const struct check *c, struct err *e);
