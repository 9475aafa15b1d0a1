// What a command will take, told before it begins: time, results, and disk while it goes on.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct forecast {
    size_t runs;
    int64_t ns;      // of all, one after another
    int64_t kept;    // bytes of all results
    int64_t running; // bytes that the largest run needs while it goes on; 0: none here
    bool together;   // all runs need these bytes together
};

// Adds runs with loads of this length and so many tokens, with so many servers of our own.
void forecast_add(struct forecast *f, size_t runs, int64_t load_ns, uint64_t tokens, int servers);

// Adds the trials of one run: cuts, kills or states of a disk, all on one server. One alone takes
// `each_ns`, and so many are tried side by side.
void forecast_add_trials(struct forecast *f, size_t trials, int64_t each_ns, size_t beside);

// Prints "52 runs: about 9 min, 21 MB of results" and where it goes on standard error. The words
// are "run" and "runs".
void forecast_tell(const struct forecast *f, const char *one, const char *many);
