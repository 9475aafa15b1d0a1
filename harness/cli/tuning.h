// The state of mailproof tune: a scenario, a grid of pairs and a model, as the options ask.
#pragma once

#include <limits.h>

#include "cli/options.h"
#include "scenario/scenario.h"
#include "tune/model.h"
#include "tune/measured.h"
#include "tune/tune.h"

// A file of query times holds at most this many bytes.
#define TUNING_QUERIES_MAX (256u << 20)

struct tuning {
    const struct options *options;
    const char *path;         // of the scenario's file
    struct scenario scenario; // as it is, with the objective
    struct tune_pair pairs[TUNE_PAIRS_MAX];
    struct measured runs[TUNE_PAIRS_MAX]; // what was measured of each pair
    struct tune tune;
    struct load_phase arrivals[2]; // the model's load, unless it is the scenario's
    struct queries queries;
    struct model model;
    double budget_per_s; // 0: none was given
    int64_t within_ns;
    char out[PATH_MAX / 2];
};

// Fills in a zeroed struct; `path` is the scenario's file. Call tuning_fini also on failure.
MUST_USE bool tuning_init(
    struct tuning *t, const struct options *o, const char *path, struct err *e);
void tuning_fini(struct tuning *t);

// Gives the model its load and its query times. ERR_USAGE when the load is a closed loop and no
// rate is given.
MUST_USE bool tuning_model(struct tuning *t, struct err *e);
