// Reports all trials of --every-cut or --every-kill: the verdict, the table in the terminal, and
// the files of the result folder.
#pragma once

#include "postgres/durability.h"
#include "report/folder.h"
#include "report/report.h"
#include "run/cuts/everycut.h"
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
    const struct trial_result *uncut;    // result of the trial without any cut
    const struct transcript *transcript; // messages of the trial without any cut
    const char *gaps;                    // says which shards' trials are missing; "": none
    int64_t start_ns, end_ns;            // when the trials began and ended
};

#define CUTREPORT_REASONS 4

struct cutverdict {
    enum verdict verdict;
    char reasons[CUTREPORT_REASONS][256];
    size_t reason_count;
};

// Counts the trials in *n, and judges them. Pure.
void cutreport_judge(const struct cutreport *c, struct report_cuts *n, struct cutverdict *v);

// Judges the trials, writes the files of the folder, prints the table, and fills in the outcome.
MUST_USE bool cutreport_write(
    const struct cutreport *c, struct run_outcome *outcome, struct err *e);
