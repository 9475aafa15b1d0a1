// The state of mailproof tune: a scenario, a grid of pairs and a model, made from the options.
#pragma once

#include "options/options.h"
#include "report/forecast.h"
#include "scenario/scenario.h"
#include "shards/shard_record.h"
#include "tune/model.h"
#include "tune/measured.h"
#include "tune/tune.h"

// A file of query times holds at most this many bytes.
#define TUNING_QUERIES_MAX (256u << 20)

struct tuning {
    const struct options *options;
    const char *path;         // path of the scenario's file
    struct scenario scenario; // the scenario, with the objective as one more expectation
    struct tune_pair pairs[TUNE_PAIRS_MAX];
    struct measured runs[TUNE_PAIRS_MAX]; // the measurements of each pair
    struct tune tune;
    struct load_phase arrivals[2]; // owned; the model's load, unless the model uses the scenario's
                                   // load; the second phase is the pause of on-off
    struct record record;          // the runs made so far; each run is an item
    struct queries queries;
    struct model model;
    double budget_per_s;    // e-mails per second; 0: no budget was given
    int64_t within_ns;      // time within which the runs are to be made (--within)
    int repeat;             // least number of runs of each pair that is run (--repeat)
    char out[PATH_MAX / 2]; // path of the folder for the results
};

// Fills in a zeroed struct from the options; `path` is the scenario's file. Call tuning_fini also
// on failure.
MUST_USE bool tuning_init(
    struct tuning *t, const struct options *o, const char *path, struct err *e);
void tuning_fini(struct tuning *t);

// Sets the model's load and query times. ERR_USAGE when the load has a closed loop, and neither
// --rate nor a trace replaces it.
MUST_USE bool tuning_model(struct tuning *t, struct err *e);

// Runs each pair until enough is known about it, and fills in its figures. After a signal it fills
// in the figures of the runs made so far; false with ERR_INTERRUPTED if there are none.
MUST_USE bool sweep(struct tuning *t, struct err *e);

// Forecasts the runs that the record lacks: as many rounds as --repeat says, or as fit into
// --within if these are more, but no more than a pair may have runs.
struct forecast sweep_forecast(const struct tuning *t);
