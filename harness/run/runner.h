// Runs one scenario from its first to its last step. Only harness/run brings server, load, faults,
// collector, checks and reports together.
#pragma once

#include "check/check.h"
#include "ledger/handlers.h"
#include "scenario/scenario.h"

struct live;
struct run;
struct server;
struct suite;

// A segment of a soak: a run that takes over server and collector from the segment before, and
// leaves them to the next one.
struct segment {
    uint32_t number; // counted from 0
    // The next segment's scenario: that of this run, but with another seed. Both must outlive both
    // runs. NULL: this is the last segment.
    const struct scenario *next;
    // Before the run, *handover is the run of the segment before, with its server and collector; if
    // *handover is NULL, this segment starts its own. After the run, *handover is the run for the
    // next segment, or NULL. The caller calls run_end for it after the last segment.
    struct run **handover;
};

struct run_options {
    const char *collector; // --collector, see subject/command.h; NULL: the scenario names it
    const char *postgres;  // --postgres CONNINFO; NULL: the scenario's provider needs no conninfo
    const char *out;       // --out: folder in which result folders are made
    bool keep;             // --keep: leave server and data behind
    bool quiet;            // --quiet: show no progress
    bool partial;          // true: the first signal only ends the load, and the run is judged by
                           // what was sent
    bool silent;           // print no verdict table, because the caller reports the outcome
    bool brief;            // print a verdict table only for a run that does not pass
    struct suite *suite; // the table of several scenarios, which shows the progress; NULL: the run
                         // has a progress line of its own
    struct live *live;   // takes the progress and the verdict; NULL: nobody wants them
    struct buf *suites;  // takes the run's part of junit.xml; NULL: nobody wants it
    // A server that runs already and gets a fresh database (shared_server.h); the caller keeps it.
    // NULL: the run has a server of its own.
    struct server *server;
    const char *workers;    // --workers: the commands, with commas between, that start the workers
                            // which send the load; NULL: this process sends it
    bool count_trips;       // a proxy in front of the server counts the collector's round trips
    struct segment segment; // the segment of a soak that the run is; zeroed: it is none
};

// The outcome of a run, after everything that it used is freed.
struct run_outcome {
    enum verdict verdict;
    bool doubted[METRIC_COUNT]; // true: the invariant seems not to hold, but the run cannot tell
    char folder[PATH_MAX];      // the result folder
    uint64_t trips;             // the collector's round trips since the load began; only with
                                // count_trips
    double lost, duplicated, p50_ms, p99_ms; // NAN: not measured
    double again;                            // number of repeated deliveries, excused or not
    double left;   // number of jobs that the manifest's end_state query counts; NAN: not known
    double taken;  // number of jobs that a worker holds, by the manifest's `taken` query; NAN: not
                   // known
    double failed; // number of jobs that the manifest's `failed` query counts; NAN: not known
    struct handlers handlers; // zeroed unless the harness ends each handler with an answer
};

// Runs a scenario. Returns true when there is a verdict, whatever it is. Returns false with
// ERR_SKIP when something that the scenario needs is missing here, with ERR_INTERRUPTED, or when
// the harness itself failed. In either case nothing is left running, except with `keep` and in
// segment.handover.
MUST_USE bool run_scenario(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e);

// Ends everything that a run has started, at whatever stage it is, and frees the run. Outside of
// runner.c it is called only for segment.handover. Accepts NULL.
void run_end(struct run *r);
