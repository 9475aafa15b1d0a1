// The state of one call of `mailproof shrink`, how it begins, and the files that it writes at the
// end.
#pragma once

#include "options/options.h"
#include "postgres/provider.h"
#include "report/files/stored.h"
#include "shrink/search.h"

// The last run in which a sketch failed.
struct failed_run {
    uint64_t hash; // hash of the sketch
    char folder[PATH_MAX];
    struct stored stored;
};

struct shrinking {
    const struct options *options;
    const char *folder;    // the result folder of the violated run
    char path[PATH_MAX];   // path of that run's scenario.yaml
    char out[PATH_MAX];    // the folder for the runs: <--out>/shrink/<UTC time>
    char output[PATH_MAX]; // path of the small scenario
    char name[80];         // name of the small scenario: the output's file name without .yaml
    struct overrides sets;
    struct scenario scenario;
    struct plan plan;
    struct whole whole;
    struct search search;
    struct stored original; // the result of the original run
    enum metric_id wanted;  // the invariant that a smaller scenario must break, too
    int64_t deadline_ns;
    int64_t overhead_ns; // most time that a run takes in addition to load and drain, so far
    int runs;            // number of runs so far
    bool confirming;     // true: the best sketch is being confirmed
    bool shared;         // true: all runs of the search share one server
    struct server server;
    struct err err;            // why the search cannot go on; ERR_NONE when it ended normally
    struct failed_run *failed; // owned; one for each sketch that failed
    size_t failed_count;
};

// Fills in a zeroed struct: reads the result folder that the options name, and prepares the search.
// ERR_USAGE when the run broke no invariant. Call shrinking_fini also on failure.
MUST_USE bool shrinking_init(struct shrinking *h, const struct options *o, struct err *e);
void shrinking_fini(struct shrinking *h);

// The oracle of search.h: runs the candidate. `context` is the struct shrinking. It is defined in
// cli/cli_shrink.c.
enum answer shrinking_ask(void *context, const struct sketch *k);

// Writes the small scenario to `output`, and the recorded arrivals that belong to it beside it.
MUST_USE bool shrinking_write(struct shrinking *h, struct err *e);

// Prints a table of before and after, how often the small scenario fails, and the command that
// repeats it. Only for a search that has found something smaller than the whole.
MUST_USE bool shrinking_tell(struct shrinking *h, const struct confirmation *c, struct err *e);

// Makes the scenario of a sketch in memory; free it with scenario_fini.
MUST_USE bool shrinking_scenario(
    struct scenario *s, const struct shrinking *h, const struct sketch *k, struct err *e);
