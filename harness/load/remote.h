// Several generators: workers, which are other processes here or elsewhere, share the plan. Each
// carries out every n-th transaction. Their records are sent back and merged, so that all later
// steps see the result of a single generator.
//
// A worker has a clock of its own. Its offset is measured before the load and after it, with a
// bound on the error, assuming that the clocks drift in one direction. What it sent counts as sent
// earlier by this bound, and what it received as received later, so that no verdict rests on the
// error.
//
// The answers of a lost worker are lost with it, and it may go on sending until it notices. So the
// outcome of its whole part is unknown, and the database must tell.
#pragma once

#include "load/load.h"

#define REMOTE_MAX 64

// The plan's share of a worker: every `of`-th transaction, from `part` on.
struct remote_part {
    unsigned part, of; // counted from 0
};

struct remote;

// Connects to the workers, or has ssh start them (ssh.h), tells each the scenario and its part, and
// measures its clock. `scenario` and `plan` must outlive it. ERR_USAGE for a plan that cannot be
// shared out: closed loops, changes of waiting tokens, a subject's queue.
MUST_USE struct remote *remote_open(const char *const *addresses, unsigned count,
    const struct scenario *scenario, const struct plan *plan, struct err *e);
void remote_free(struct remote *r); // accepts NULL

// Does what load_run does. Returns when every worker has answered or was lost.
MUST_USE bool remote_run(struct remote *r, const struct load_config *c,
    struct load_progress *progress, struct load_result *result, struct err *e);

// --- the other side ------------------------------------------------------------------

// Serves one run after another on `address` until a signal comes, and says on standard output where
// it listens; with "-" one run on the standard streams. With `plan` it refuses every other plan,
// and with `only` every other part.
MUST_USE bool remote_serve(
    const char *address, const struct plan *plan, const struct remote_part *only, struct err *e);

// --- pure -----------------------------------------------------------------------------

// Returns a number that is the same for the same transactions.
uint64_t remote_fingerprint(const struct plan *plan);

// The difference of two clocks, from readings of ours before and after a question, and of the other
// clock in between.
struct remote_clock {
    int64_t offset_ns; // the other clock is ahead by this much
    int64_t bound_ns;  // the largest error of this
};
struct remote_clock remote_clock(
    const int64_t (*readings)[3], size_t count); // before, theirs, after

// Combines two measurements into one that holds for all times between them.
struct remote_clock remote_clock_over(
    const struct remote_clock *first, const struct remote_clock *last);

// Moves the times that the worker recorded by its own clock to ours.
struct txn_record remote_ours(const struct txn_record *theirs, const struct remote_clock *clock);

// Marks the part of a worker that was lost at lost_ns.
void remote_lose(struct load_result *result, const struct load_config *c,
    const struct remote_part *part, const struct remote_clock *clock, int64_t lost_ns);
