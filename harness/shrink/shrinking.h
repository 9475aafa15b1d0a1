// The state of one `mailproof shrink`: the original run, how candidates are run, and the files that
// are written at the end.
#pragma once

#include <limits.h>

#include "options/options.h"
#include "postgres/provider.h"
#include "report/files/stored.h"
#include "shrink/search.h"

// The last run of a sketch that failed.
struct failed_run {
    uint64_t hash; // hash of the sketch
    char folder[PATH_MAX];
    struct stored stored;
};

struct shrinking {
    const struct options *options;
    const char *folder;  // the result folder of the violated run
    char path[PATH_MAX]; // path of its scenario.yaml
    char out[PATH_MAX];  // results/shrink/<UTC time>
    char output[PATH_MAX];
    char name[80]; // name of the small scenario: the output's file name without .yaml
    struct overrides sets;
    struct scenario scenario;
    struct plan plan;
    struct whole whole;
    struct search search;
    struct stored original;
    enum metric_id wanted; // the invariant that a smaller scenario must break
    int64_t deadline_ns;
    int64_t overhead_ns; // time that a run takes beyond load and drain
    int runs;
    bool confirming;
    bool shared; // true: one server for all runs of the search
    struct server server;
    struct err err;            // why the search cannot go on; ERR_NONE when it merely ended
    struct failed_run *failed; // owned; one for each sketch that failed
    size_t failed_count;
};

// Reads the result, and refuses one that broke no invariant.
MUST_USE bool shrinking_init(struct shrinking *h, const struct options *o, struct err *e);
void shrinking_fini(struct shrinking *h);

// Runs the candidate. This is an oracle for search.h.
enum answer shrinking_ask(void *context, const struct sketch *k);

// Writes the small scenario, and the recorded arrivals that belong to it.
MUST_USE bool shrinking_write(struct shrinking *h, struct err *e);

// Prints the table and the command that repeats the small scenario.
MUST_USE bool shrinking_tell(struct shrinking *h, const struct confirmation *c, struct err *e);

// Makes the scenario of a sketch in memory.
MUST_USE bool shrinking_scenario(
    struct scenario *s, const struct shrinking *h, const struct sketch *k, struct err *e);
