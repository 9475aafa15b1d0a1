// Reports all trials of --every-cut or --every-kill: the verdict, the table in the terminal, and
// the files of the result folder.
#pragma once

#include <jansson.h>

#include "postgres/durability.h"
#include "report/folder.h"
#include "report/report.h"
#include "run/cuts/cuts.h"
#include "run/cuts/trial.h"

struct cutreport {
    const struct scenario *scenario;
    const struct run_options *options;
    const struct everycut_options *how;
    const struct server *server;
    const struct durability_proof *proof;
    struct folder *folder;
    const struct points *points;
    const struct trial_result *results;  // one for each of the points
    const struct trial_result *uncut;    // result of the trial without any cut; in a merge, of the
                                         // shard with the worst one
    const struct transcript *transcript; // messages of the trial without any cut
    const char *gaps;                    // says which shards' trials are missing; "": none
    int64_t start_ns, end_ns;            // when the trials began and ended; in a merge 0 and the
                                         // time of all trials together
};

#define CUTREPORT_REASONS 4

struct cutverdict {
    enum verdict verdict;
    char reasons[CUTREPORT_REASONS][256];
    size_t reason_count;
};

// Judges the trials, and fills in their counts. Pure.
void cutreport_judge(const struct cutreport *c, struct report_cuts *n, struct cutverdict *v);

// Judges the trials, writes the files of the folder, prints the table, and fills in the outcome.
MUST_USE bool cutreport_write(
    const struct cutreport *c, struct run_outcome *outcome, struct err *e);

// --- cutkinds.c --------------------------------------------------------------------
//
// Groups the trials of --every-cut by the kind of message at which they cut. Each kind is a row of
// the table. Pure.

struct cutkind {
    const char *sender, *message; // such as "client", "Bind"; for pairs "pairs", "of messages"
    size_t tried, reached, broken, unjudged;
    double sums[METRIC_COUNT]; // per invariant: the number of cases in the trials that broke it
};

// Sums up in *k the kind of the trial at index *i, and moves *i past the kind's last trial. The
// trials are sorted by kind, and all pairs are one kind. Returns false when *i is at the end.
bool cutkinds_next(const struct cutreport *c, size_t *i, struct cutkind *k);

// Room for a text such as "late 8, early 10".
#define CUTKINDS_TEXT 320

// Lists the invariants with cases, such as "late 8, early 10", except lost, duplicated and
// unplanned_exit, which have columns of their own. "0": there are none.
const char *cutkinds_others(const double sums[METRIC_COUNT], char text[CUTKINDS_TEXT]);

// Lists the invariants that a trial broke, with the number of cases; "": it broke none.
const char *cutkinds_broken(const struct trial_result *r, char text[CUTKINDS_TEXT]);

// Returns an example of an invariant that the trial broke, or "".
const char *cutkinds_example(const struct trial_result *r);

// True when all cuts of the i-th trial were made.
bool cutkinds_reached(const struct cutreport *c, size_t i);

// True when the trial without any cut is a part of the result: no cut was tried, or the collector
// of a shard did not pass without one.
bool cutkinds_uncut_counts(const struct cutreport *c);

// True when the i-th trial proves nothing: it broke no invariant, and is inconclusive or did not
// make all of its cuts.
bool cutkinds_unjudged(const struct cutreport *c, size_t i);

// --- cutfiles.c --------------------------------------------------------------------
//
// Writes the files of --every-cut and --every-kill: the files of any run, with the sums over all
// trials, and cuts.csv with a row for each trial.

// Writes all files of the result folder, from the trials, their counts `n` and their verdict.
MUST_USE bool cutfiles_write(const struct cutreport *c, const struct report_cuts *n,
    const struct cutverdict *v, struct err *e);

// Appends a <testsuite>: one case for each kind of message, one for failures without any cut, and
// one that says whether the verdict is conclusive.
MUST_USE bool cutfiles_suite(const struct cutreport *c, const struct report_cuts *n,
    const struct cutverdict *v, struct buf *out, struct err *e);

// Appends the whole command that repeats these trials. `only` restricts them to one kind of
// message, such as "client Bind"; NULL: the command as it was given.
void cutfiles_repeat(const struct cutreport *c, const char *only, struct buf *out);

// Returns the data that html/cuts.js draws: the messages of the trial without any cut in their
// order, each with the trials before and after it, the table of kinds, and the pairs.
json_t *cutstrip_json(const struct cutreport *c);
