// One trial of --every-cut or --every-kill: a fresh database, a fresh collector, and the steps of
// steps.h. The connection is cut, or the collector killed, at one message or at two. The trial is
// judged by all invariants, like any run.
#pragma once

#include "check/check.h"
#include "postgres/provider.h"
#include "run/cuts/freshdb.h"
#include "run/cuts/points.h"
#include "scenario/scenario.h"

struct trial_result {
    enum verdict verdict;
    int reached;                 // number of the trial's cuts that were made; 0 to 2
    bool ran;                    // true: the trial has run to its end and has a verdict
    double values[METRIC_COUNT]; // NAN: not measured
    bool broken[METRIC_COUNT];
    struct judged judged[METRIC_COUNT];
    char example[METRIC_COUNT][160]; // the first case of each broken invariant
    char why[256];                   // the first reason of an inconclusive trial, else ""
    int64_t cut_ns[POINTS_CUTS_MAX]; // time of each cut
    double recovery_ms;              // ms that the recovery from the last cut took; NAN: unknown
    int64_t took_ns;
};

// The settings that all trials share. The server runs already.
struct trial_setting {
    const struct scenario *scenario;
    const char *collector; // --collector; NULL: the scenario names it
    const struct server *server;
    const char *template_db; // see freshdb.h
    const char *log_dir;
    enum cut_action action;
};

// What the trials of one worker use one after another: its proxy and its database.
struct trial_fixture {
    struct proxy *proxy;
    struct freshdb db;
};

// The messages that collector and server exchanged in a trial.
struct trial_tally {
    struct transcript *transcript; // gets the messages; NULL: they are only counted
    unsigned all[2][256];          // numbers of messages by sender and type
    unsigned start[2];             // by sender: number of messages before the first line was read
};

// Runs a trial. `tally` gets its messages; it may be NULL. Returns false when the harness itself
// failed or was interrupted.
MUST_USE bool trial_run(const struct trial_setting *setting, struct trial_fixture *fixture,
    const struct trial_cuts *cuts, struct trial_result *result, struct trial_tally *tally,
    struct err *e);
