// One scenario from its first to its last step. This is the only place that
// knows every folder.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "check/check.h"
#include "ledger/handlers.h"
#include "scenario/scenario.h"

struct live;
struct run;
struct server;
struct suite;

// A segment of a soak: a run whose server and collector came from the segment before, and go on in
// the next one.
struct segment {
    uint32_t number;             // counted from 0
    const struct scenario *next; // what the next segment carries out: the same, but for the seed;
                                 // it and the scenario of the run outlive both. NULL: the last one
    struct run **stays; // server and collector between two segments; NULL there: the segment starts
                        // its own. The caller ends what stays after its last segment
};

struct run_options {
    const char *collector; // --collector, see subject/command.h; NULL: the scenario names it
    const char *postgres;  // --postgres CONNINFO; NULL: the scenario's provider needs no conninfo
    const char *out;       // --out: folder in which result folders are made
    bool keep;             // --keep: leave server and data behind
    bool quiet;            // --quiet: show no progress
    bool partial;          // the first signal ends the load early, and the run is judged all the
                           // same
    bool silent;           // print no verdict table, because the caller reports the outcome
    bool brief;            // print a verdict table only when the run does not pass
    struct suite *suite; // the table of several scenarios, which shows the progress; NULL: the run
                         // has its own line
    struct live *live;   // gets the progress and the verdict; NULL: nobody asks
    struct buf *suites;  // gets the run's <testsuite>; NULL: nobody asks
    struct server *server; // a borrowed server that runs already and gets a fresh database
                           // (shared.h); NULL: the run has a server of its own
    const char *workers; // --workers: list of commands that lead to those that send the load; NULL:
                         // this process sends it
    bool count_trips;    // a proxy in front of the server counts the collector's round trips
    struct segment segment; // of a soak; zeroed: the run is no part of one
};

// The outcome of a run, after everything that it used is freed.
struct run_outcome {
    enum verdict verdict;
    bool doubted[METRIC_COUNT]; // an invariant seems not to hold, but the run cannot tell
    char folder[PATH_MAX];      // the result folder
    uint64_t trips;             // round trips since the load began; only with
                                // count_trips
    double lost, duplicated, p50_ms, p99_ms; // NAN: not measured
    double again;                            // number of repeated deliveries, explained or not
    double left;   // number of jobs that the subject's end_state query counts; NAN: not known
    double taken;  // number of those that a worker holds, by its `taken` query; NAN: not known
    double failed; // number of jobs that it keeps as failed, by its `failed` query; NAN: not known
    struct handlers handlers; // zeroed unless the harness ends each handler with an answer
};

// Runs a scenario. True when there is a verdict, whatever it is. False: ERR_SKIP (something that
// the scenario needs is missing here), ERR_INTERRUPTED, or the harness's own failure. In either
// case nothing is left running, except with `keep`.
MUST_USE bool run_scenario(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e);

// Ends the server and the collector that a segment has left; accepts NULL.
void run_end(struct run *r);
