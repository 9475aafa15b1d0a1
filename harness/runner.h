// One scenario from its first to its last step. This is the only place that
// knows every folder.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "check/check.h"
#include "scenario/scenario.h"

struct live;
struct server;
struct suite;

struct run_options {
    const char *collector; // --collector, see subject/command.h; NULL: the scenario's
    const char *postgres;  // --postgres CONNINFO; NULL: the scenario's provider needs none
    const char *out;       // --out: where result folders are made
    bool keep;             // --keep: leave server and data
    bool quiet;            // --quiet: no progress
    bool partial;          // a first signal ends the load early, and the run is judged all the same
    bool silent;           // no verdict table: the caller reports the outcome
    bool brief;            // a verdict table only when the run does not pass
    struct suite *suite; // shows the progress of several scenarios; NULL: only this one's is shown
    struct live *live;   // gets the progress and the verdict; NULL: not wanted
    struct buf *suites;  // gets the run's <testsuite>; NULL: not wanted
    struct server *server; // borrowed: runs already, and gets a fresh database for the run
                           // (shared.h); NULL: the run has a server of its own
    const char *workers;   // --workers: HOST:PORT list of who sends the load; NULL: this process
    bool count_trips;      // a proxy stands in the way and counts the collector's round trips
};

// The outcome of a run, after everything that it used is freed.
struct run_outcome {
    enum verdict verdict;
    char folder[PATH_MAX];                   // the result folder
    uint64_t trips;                          // round trips since the load began; see count_trips
    double lost, duplicated, p50_ms, p99_ms; // NAN: not measured
    double again;                            // repeated deliveries, explained or not
    double left; // jobs that the subject's end_state query still counts; NAN: not known
};

// True when there is a verdict, whatever it is. False: ERR_SKIP (what the
// scenario needs is not here), ERR_INTERRUPTED, or the harness's own failure.
// Nothing is left running either way, except with keep.
MUST_USE bool run_scenario(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e);
