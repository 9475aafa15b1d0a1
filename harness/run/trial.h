// One trial of --every-cut: a fresh database and a fresh collector, five
// transactions one after another, and at most one cut of the connection.
#pragma once

#include "fault/proxy.h"
#include "postgres/provider.h"
#include "run/freshdb.h"
#include "scenario/scenario.h"

#define TRIAL_STEPS 5

struct cut_point {
    enum message_sender sender;
    unsigned char type; // as in scenario/messages.h
    int n;              // which of its kind, from 1; 0: no cut at all
    enum cut_side side;
};

struct trial_result {
    bool reached;        // the message came, and the connection was cut there
    size_t lines;        // that were read, whatever they said
    unsigned lost;       // tokens that were never read
    unsigned duplicated; // tokens that were read again, each extra time
    unsigned exits;      // ends of the collector that nobody had asked for
    int64_t took_ns;
};

// What all trials have in common; the server runs already.
struct trial_setting {
    const struct scenario *scenario;
    const char *collector; // --collector; NULL: the scenario's
    const struct server *server;
    const char *template_db; // see freshdb.h
    const char *log_dir;
};

// What one worker uses again in all its trials.
struct trial_bench {
    struct proxy *proxy;
    struct freshdb db;
};

// `tally` gets the messages of the whole trial; NULL: not wanted.
MUST_USE bool trial_run(const struct trial_setting *setting, struct trial_bench *bench,
    const struct cut_point *cut, struct trial_result *result, unsigned tally[2][256],
    struct err *e);
