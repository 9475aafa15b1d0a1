// Estimates what a command will need, before it begins: time, room for its results, and disk space
// while it runs.
#pragma once

#include "base/base.h"
#include "scenario/scenario.h"

struct forecast {
    size_t runs;
    int64_t ns;    // time until all runs are over
    int64_t kept;  // bytes of all results
    int64_t disk;  // bytes that the largest run needs while it goes on; 0: none on this machine
    bool together; // true: `disk` is what all runs need together, because they share a server
};

// Returns how many servers of a run keep their data on this machine. Those of a container or a
// cluster are not counted.
int forecast_servers(const struct scenario *s);

// Adds runs, one after another, that each have a load of this length and this many tokens. servers:
// how many of our servers keep their data on this machine at the same time; 0: none.
void forecast_add(struct forecast *f, size_t runs, int64_t load_ns, uint64_t tokens, int servers);

// Adds the trials of one run (cuts, kills or states of a disk), which all use its servers. A trial
// takes `each_ns`, and `beside` of them run side by side.
void forecast_add_trials(
    struct forecast *f, size_t trials, int64_t each_ns, size_t beside, int servers);

// Prints to standard error a line such as "52 runs: about 9 min, 21 MB of results", and how much
// disk space the runs need, and where. `one` and `many` are the noun, such as "run" and "runs".
void forecast_tell(const struct forecast *f, const char *one, const char *many);
