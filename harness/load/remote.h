// Several generators. Workers, which are processes here or on other machines, share the plan: of n
// workers each carries out every n-th transaction. Their records are sent back and merged, so that
// all later steps see the result of a single generator.
//
// A worker has a clock of its own. Its offset is measured before the load and after it, with a
// bound on the error that holds if the clocks drift in one direction. A send counts as earlier by
// this bound, and an answer as later, so that no collector is convicted because of the error.
//
// The answers of a lost worker are lost with it, and it may go on sending until it notices. So the
// outcome of its whole part is unknown, and only the database can tell it.
#pragma once

#include "load/load.h"

#define REMOTE_MAX 64 // most workers of one run

struct remote;

// Starts the command that leads to each worker (channel.h), such as "ssh HOST mailproof load -".
// Tells each worker the scenario and its part, and measures its clock. ERR_USAGE for a plan that
// cannot be shared out: closed loops, changes of waiting tokens, a subject's queue.
MUST_USE struct remote *remote_open(const char *const *commands, unsigned count,
    const struct scenario *scenario, const struct plan *plan, struct err *e);
void remote_free(struct remote *r); // accepts NULL

// Does what load_run does. Returns when every worker has answered or was lost.
MUST_USE bool remote_run(struct remote *r, const struct load_config *c,
    struct load_progress *progress, struct load_result *result, struct err *e);

// --- the worker's side ---------------------------------------------------------------

// Serves one run over the standard streams. A run cannot make the worker's plan read a file of the
// worker's machine, or log in with a password or certificate that lies there. Only the certificates
// by which libpq knows a server are read there.
MUST_USE bool remote_serve(struct err *e);

// --- pure -----------------------------------------------------------------------------

// Returns a hash of all transactions and tokens of the plan. A worker makes the plan anew from
// the scenario, and compares this fingerprint with the run's: it must have made the same plan.
uint64_t remote_fingerprint(const struct plan *plan);

// The difference between the run's clock ("ours") and a worker's. It is measured by questions: the
// run reads its clock before and after each question, and the worker reads its own in between.
struct remote_clock {
    int64_t offset_ns; // how far the worker's clock is ahead of ours
    int64_t bound_ns;  // greatest error of offset_ns
};
struct remote_clock remote_clock(
    const int64_t (*readings)[3], size_t count); // our time before, their time, our time after

// Combines two measurements into one that holds for all times between them.
struct remote_clock remote_clock_combine(
    const struct remote_clock *first, const struct remote_clock *last);

// Returns a worker's record with its times moved from the worker's clock to the run's: sends as
// early and answers as late as they can have been.
struct txn_record remote_to_run_clock(
    const struct txn_record *theirs, const struct remote_clock *clock);

// Gives all transactions of a lost worker's part the outcome TXN_UNKNOWN. `clock` is the worker's.
// lost_ns: when the worker was lost. Writes only the records of this part.
void remote_mark_lost(struct load_result *result, const struct load_config *c,
    const struct load_part *part, const struct remote_clock *clock, int64_t lost_ns);
