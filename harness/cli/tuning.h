// What mailproof tune works on: a scenario, a grid of pairs and a model, all as
// the options say.
#pragma once

#include <limits.h>

#include "cli/options.h"
#include "compare/compare.h"
#include "scenario/scenario.h"
#include "tune/model.h"
#include "tune/tune.h"

struct tuning {
    const struct options *options;
    const char *path;         // of the scenario's file
    struct scenario scenario; // as it is, with the objective
    struct tune_pair pairs[TUNE_PAIRS_MAX];
    struct side runs[TUNE_PAIRS_MAX]; // what was measured of each pair
    struct tune tune;
    struct model_phase *phases; // what the model is fed with
    struct model model;
    double budget_per_s; // 0: none was given
    char out[PATH_MAX / 2];
};

// Of a zeroed struct; `path` is the scenario's file. tuning_fini in any case.
MUST_USE bool tuning_init(
    struct tuning *t, const struct options *o, const char *path, struct err *e);
void tuning_fini(struct tuning *t);

// Feeds the model. ERR_USAGE when the load has no rates and none is given.
MUST_USE bool tuning_model(struct tuning *t, struct err *e);
