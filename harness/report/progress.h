// Shows that a run is alive. On a terminal one line, not wider than the window, is rewritten;
// elsewhere a line is printed every five seconds. Both go to stderr, because stdout holds the
// verdicts.
#pragma once

#include "base/base.h"

struct suite;

struct progress {
    struct suite *suite; // the table that shows the progress in a row; NULL: it has its own line
    int64_t shown_ns;    // internal: when the last plain line was printed
    int64_t rated_ns;    // internal: the at_ns at which the rate was last computed
    uint64_t rated;      // internal: `delivered` at that time
    double rate;         // internal: tokens delivered per second, in the last whole second
    const char *what;    // such as "load" or "drain"
    const char *scenario;
    int64_t at_ns, whole_ns; // time since the start of the load, and for how long load and faults
                             // are planned
    uint64_t committed, planned, delivered;
    double latency_ms; // mean latency of the tokens that were read in the last whole second; NAN:
                       // no token was read
    size_t faults, faults_planned;
};

// Shows the progress. It may be called often, and itself limits how often a line is printed.
void progress_show(struct progress *p);

// Removes the progress from a terminal, so that later output starts on an empty line.
void progress_end(const struct progress *p);
