// One run of --every-flush, with its states and their results. Shared by everyflush.c and
// everyflush_report.c.
#pragma once

#include "postgres/durability.h"
#include "report/folder.h"
#include "run/cuts/everyflush_trial.h"
#include "run/cuts/everyflush.h"
#include "subject/command.h"

struct flushes {
    struct flush_trial_setting setting;
    const struct run_options *options;
    struct server server;
    struct folder folder;
    struct durability_proof proof;
    struct flush_workload workload;
    struct subject *subject; // the collectors of the workload
    struct command command;
    struct state *states;
    struct flush_trial_result *results;
    uint64_t count;
    int64_t took_ns;
};

// Writes the files of the result folder, prints the summary and fills the outcome.
MUST_USE bool everyflush_report(struct flushes *f, struct run_outcome *outcome, struct err *e);
