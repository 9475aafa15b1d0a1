// Declarations that the files of this folder and its subfolders share; no other folder includes
// them.
#pragma once

#include "check/check.h"
#include "check/lookup.h"
#include "check/stall_list.h"
#include "check/timeline.h"
#include "scenario/leased.h"

// The state that all checks share. check_findings makes and frees it.
struct check {
    struct result *r;
    const struct ledger *l;
    struct leased leased; // what the scenario sets of leases, retries, lanes and the budget
    int64_t flush_ns;     // how long a flush takes, as check_flush_ns returns it
    struct timeline timeline;
    struct stall_list stalls; // stalls longer than slack/2
    struct spans txns;        // all transactions that were sent, for a subject that waits for open
                              // writers; empty for any other
    bool *spent;              // owned; per line: the send budget was spent at it
    int64_t *busy_since_ns; // owned; per line: when the first line of the chain of full lines that
                            // leads to this line was read
    // Owned; per line: the latest of the times at which the oldest tokens of the lines before it
    // were sent. A token that was due before that time has been overtaken.
    int64_t *overtaken_ns;
    // When the chain of full lines that still lasted at the end of the drain began; CLOCK_NEVER:
    // none lasted then.
    int64_t draining_since_ns;
};

// --- attempts.c --------------------------------------------------------------------

// Compares a token's recorded attempts with its deliveries. `first` is the index of the token's
// first delivery, and next[i] that of its delivery after delivery i; UINT32_MAX ends the list.
void check_attempts(const struct check *c, uint32_t token, uint32_t first, const uint32_t *next);

// --- behind.c ----------------------------------------------------------------------

void check_behind(const struct check *c);

// --- budget.c ----------------------------------------------------------------------

// Makes `spent` and, where there is a budget, marks in it each line at which the budget was, or may
// have been, used up: no check holds a short or late line there against the subject.
void check_budget(struct check *c);

// True when `tokens` tokens within `ns` are at least 80% of what a budget of per_s tokens a second
// allows in that time: then little is left for more. False where per_s is 0: no budget.
bool check_is_budget_spent(double per_s, uint64_t tokens, int64_t ns);

// --- chains.c ----------------------------------------------------------------------

// Fills in busy_since_ns, overtaken_ns and draining_since_ns.
void check_chains(struct check *c);

// True when no line before this one has overtaken a token that was due at due_ns: each held a token
// that was sent at due_ns or before. With lanes it is always true.
bool check_in_turn(const struct check *c, uint32_t line, int64_t due_ns);

// True when a token that was due at due_ns had to wait behind older ones: full lines followed each
// other from due_ns or earlier up to this line, and none has overtaken the token.
bool check_had_to_wait(const struct check *c, uint32_t line, int64_t due_ns);

// --- check.c -----------------------------------------------------------------------

// True when load and faults ended before the plan did. The part of the plan that was not carried
// out then counts against nobody.
static inline bool check_ended_early(const struct check_input *in)
{
    return in->gave_up || in->interrupted;
}

// Judges all invariants, with the counts that they rest on; computes neither figures nor verdict.
void check_findings(struct result *r, const struct ledger *l, const struct check_input *in);

// --- early.c -----------------------------------------------------------------------

void check_early(const struct check *c);

// --- end_state.c -------------------------------------------------------------------

void check_end_state(const struct check *c);

// --- unplanned_exit.c -----------------------------------------------------------------------

void check_exits(const struct check *c);
bool check_ended_as_asked(const struct check *c, const struct process_record *p);
bool check_killed_by_plan(const struct check *c, const struct process_record *p);

// Returns when TERM was sent to a process; CLOCK_NEVER: it was not.
int64_t check_term_ns(const struct check *c, const struct process_record *p);

// A shell, and the runtimes of some languages, tell by the exit code that a signal ended the
// program: it is this plus the signal's number.
enum { check_by_signal = 128 };

// The exit codes by which a collector that was asked to end says that its last line is unconfirmed,
// and that it failed. It may fail because of a fault, and then it could not confirm the line,
// either.
enum { check_unconfirmed = 75, check_failed = 70 };

// True for an exit code with which the collector's last line may be unconfirmed.
static inline bool check_says_unconfirmed(int code)
{
    return code == check_unconfirmed || code == check_failed;
}

// Returns the first fault that was at work on an instance between two times, other than one that
// asks a process to end. CAUSE_NONE: there was none.
struct cause check_ending_disturbed(
    const struct check *c, int instance, int64_t from_ns, int64_t until_ns);

// --- full_batches.c -------------------------------------------------------------------------

void check_fill(const struct check *c);

// --- figures.c ---------------------------------------------------------------------

void check_figures(struct result *r, const struct ledger *l, const struct check_input *in);

// True when the generator is not to blame for a late insert that was planned for intended_ns:
// around that time a fault stopped the server, acted on its disk, or had a `target` other than the
// collector.
bool check_generator_excused(const struct ledger *l, int64_t intended_ns);

// Returns an estimate of what a figure would be without the generator's lag; NAN for a count, such
// as that of lines, which may depend on the lag in any way.
double check_less_lag(const struct result *r, const struct ledger *l, const struct check_input *in,
    enum metric_id id);

// --- findings.c --------------------------------------------------------------------

// Counts one case of a broken invariant. `fmt` describes it; only the first descriptions are kept.
void finding_add(struct result *r, enum metric_id id, const char *fmt, ...) PRINTF_LIKE(3, 4);
// Appends to the finding's last description the last fault that began by at_ns, and the first one
// that began later.
void finding_add_faults(struct result *r, enum metric_id id, const struct ledger *l, int64_t at_ns);

// Adds a reason why the run is inconclusive, unless there are REASONS_MAX already.
void result_reason(struct result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

// Adds an amount to what there was to judge of an invariant. With CAUSE_NONE the amount counts as
// judged; any other cause excuses it.
void judged_add(struct result *r, enum metric_id id, double amount, struct cause cause);

// Makes the run inconclusive when too little was judged of an invariant that the scenario names in
// `judged` or `expect`.
void check_judged(struct result *r, const struct scenario *s);

// --- forgot.c ----------------------------------------------------------------------

// True when a fault that lasted between the two times may have made the server lose data that were
// committed at committed_ns (CLOCK_NEVER: nobody knows when). Data that were committed before the
// first lost commit are not lost. forgot.c says which faults lose data.
bool check_server_forgot(
    const struct ledger *l, int64_t from_ns, int64_t until_ns, int64_t committed_ns);

// True when a failover left this acknowledged token on the old leader's timeline, so that the new
// leader lacks it.
bool check_left_behind(const struct ledger *l, uint32_t token);

// True when the run had a failover and the harness knows which commits each one left behind.
bool check_failovers_known(const struct ledger *l);

// --- gates.c -----------------------------------------------------------------------

void check_gates(struct result *r, const struct ledger *l, const struct check_input *in);

// True when the generator fell behind its plan: the p99 of its lag is above 100 ms, or above the
// slack where the scenario sets a larger one.
bool check_generator_lags(const struct result *r, const struct scenario *s);

// True when the p99 of the generator's lag is above 100 ms, whatever slack the scenario sets.
bool check_generator_lags_unforgiven(const struct result *r);

// --- held_up.c ----------------------------------------------------------------------

// Returns how late something may be that took from from_ns until until_ns: the run's slack, and
// what slow faults of that time add to it. `cause` is the last of these faults; CAUSE_NONE: there
// was none.
struct free_time check_slack(const struct check *c, int64_t from_ns, int64_t until_ns);

#define ANY_PROCESS UINT32_MAX
#define NO_PROCESS (UINT32_MAX - 1)

struct left {
    int64_t ns;
    int64_t felt_ns; // as ns, but a wait for a processor up to slack/2 is not taken off, because
                     // every machine shows such waits
};

// free_ns is the part of the time between from_ns and until_ns that no fault takes. Returns it less
// two things: `steps` times the length of the stalls, because a stall may delay that many steps,
// and the time for which others kept the processors from the process; ANY_PROCESS: from the one
// that waited longest.
struct left check_left(const struct check *c, uint32_t process, int64_t from_ns, int64_t until_ns,
    int64_t free_ns, int steps);

// Returns the one cause that explains that something came beyond_ns later than it may: the stalls
// between two times, if twice their length is enough, or else the process's wait for a processor,
// if it is longer than slack/2 and its length is enough. CAUSE_NONE: neither is enough.
struct cause check_explained_by(
    const struct check *c, uint32_t process, int64_t from_ns, int64_t until_ns, int64_t beyond_ns);

// Returns `fault` or, if that is CAUSE_NONE, what else may have disturbed a process between two
// times: a stall of least_ns or more, or a wait of more than slack/2 for a processor. CAUSE_NONE:
// nothing did. If `process` is NO_PROCESS, only stalls count.
struct cause check_kept_by(const struct check *c, uint32_t process, int64_t from_ns,
    int64_t until_ns, int64_t least_ns, struct cause fault);

// Returns the earliest time at which a line can have been written. The reader wakes when something
// is in the pipe, so that is usually when it read the line. But a span of the line's instance, or a
// stall, may lie between the last time at which the reader found the pipe empty and the reading.
// Then the line may have waited since the later of two times: when the pipe was empty, and when the
// first such span or stall began.
int64_t check_written_ns(const struct check *c, const struct line_record *line);

// Returns for how long lines of an instance (EVERY: of any instance) may have lain unread between
// two times: the stalls, and the faults that kept the reader away.
int64_t check_unread_ns(const struct check *c, int instance, int64_t from_ns, int64_t until_ns);

// Returns how much of a stretch of time an instance had for its work: its free time
// (timeline_free), less stalls and the waits of its processes for a processor. These waits come
// from the samples of each process, because only these tell one instance from another.
int64_t check_awake_ns(const struct check *c, int instance, int64_t from_ns, int64_t until_ns);

struct sight {
    int64_t by_ns; // when all have seen what happened: slack after it, or slack after the end of a
                   // stall that lasted then
    struct cause cause; // the fault that may have kept somebody from seeing it, or CAUSE_NONE
};

// Returns when everybody must have seen what happened at at_ns, and what may have disturbed
// somebody between at_ns and until_ns.
struct sight check_seen(const struct check *c, int64_t at_ns, int64_t until_ns);

// --- holds.c ------------------------------------------------------------------------

void check_holds(const struct check *c);

// --- idle.c ------------------------------------------------------------------------

void check_idle_instances(const struct check *c);

// --- lanes.c -----------------------------------------------------------------------

void check_lanes(const struct check *c);

// --- late.c ------------------------------------------------------------------------

void check_late(const struct check *c);

// Returns since when a token waits: from its acknowledgement or, for a subject that waits for
// writers, from the end of the last older transaction that was still open then.
int64_t check_waits_since_ns(const struct check *c, uint32_t token);

// --- leak.c -------------------------------------------------------------------------

void check_leak(const struct check *c);

// --- litters.c ----------------------------------------------------------------------

void check_litters(const struct check *c);

// --- single_lines.c -----------------------------------------------------------------------

void check_lines(const struct check *c);

// --- meddles.c ---------------------------------------------------------------------

void check_meddles(const struct check *c);

// --- order.c -----------------------------------------------------------------------

void check_sequence(const struct check *c);

// --- leased_outcome.c ---------------------------------------------------------------------

void check_outcomes(const struct check *c);

// True when the sender answered this attempt. A sender that died of it did not answer.
static inline bool check_is_answered(const struct delivery *d)
{
    return d->replied_ns != 0 && d->reply != REPLY_DIED;
}

// --- recovery.c --------------------------------------------------------------------

void check_recovery(const struct check *c);

// --- repeats.c ---------------------------------------------------------------------

void check_repeats(const struct check *c);

// --- secrets.c ----------------------------------------------------------------------

void check_secrets(const struct check *c);

// --- processor_wait.c ---------------------------------------------------------------------

// Returns for how long, at most, the process can have waited for a processor between two times, by
// its samples around these times. Before its first sample, its whole wait since its start counts.
// Returns 0 where the samples show no wait.
int64_t check_starved_ns(
    const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns);

// Returns for how long, at most, other programs can have kept the processors from the collector or
// its backends between two times, by the samples that the watch (os/starved.h) took around these
// times. Where nobody watched, the samples of the process itself tell how long it starved.
int64_t check_denied_ns(
    const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns);

// Returns the length of a stretch of time in which the harness stood still, less what the
// collector, its descendants and its backends used beyond one processor meanwhile: that part of the
// stall was their own doing.
int64_t check_beyond_own_ns(const struct ledger *l, int64_t from_ns, int64_t until_ns);

// --- tokens.c ----------------------------------------------------------------------

void check_tokens(const struct check *c);

// --- unrecorded.c -------------------------------------------------------------------

// Returns why the collector may not have recorded the sender's answer to an attempt, by what
// happened before again_ns. A token with a final answer may come again for no other reason.
// CAUSE_NONE: it must have recorded the answer. Otherwise one of these is true:
// - The answer came after the answer timeout.
// - The process ended, or a fault hit its instance, before the answer could be recorded.
// - The server lost the record.
struct cause check_unrecorded_by(const struct check *c, const struct delivery *d, int64_t again_ns);

// True when the answer timeout of an attempt may have passed by at_ns, so that the collector may
// have given the attempt up.
bool check_timed_out(const struct check *c, const struct delivery *d, int64_t at_ns);

// --- verdict.c ---------------------------------------------------------------------

// Fills in the verdict and its reasons, from all that the other checks have found.
void check_verdict(struct result *r, const struct ledger *l, const struct check_input *in);

// --- vitals.c ----------------------------------------------------------------------

void check_vitals(const struct check *c);
