// What a command will take, told before it begins: time, results, and disk while it goes on.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct forecast {
    size_t runs;
    int64_t ns;      // of all, one after another
    int64_t kept;    // bytes of all results
    int64_t running; // bytes that the largest run needs while it goes on; 0: none here
};

// Adds runs with loads of this length and so many tokens, with so many servers of our own.
void forecast_add(struct forecast *f, size_t runs, int64_t load_ns, uint64_t tokens, int servers);

// Prints "52 runs: about 9 min, 21 MB of results" and where it goes on standard error. `what` is
// "run".
void forecast_tell(const struct forecast *f, const char *what);
