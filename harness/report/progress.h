// Shows that a run is alive: a line that is rewritten on a terminal, a plain line every five
// seconds elsewhere. It goes to stderr, because stdout holds the verdicts.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct suite;

struct progress {
    struct suite *suite; // the table that shows this as a row; NULL: a line of its own
    int64_t shown_ns;    // its own: when the last plain line was printed
    int64_t rated_ns;    // its own: when the rate was last computed, as at_ns
    uint64_t rated;      // its own: how many were delivered then
    double rate;         // its own: tokens delivered per second, of the last whole second
    const char *what;    // "load", "drain"
    const char *scenario;
    int64_t at_ns, whole_ns; // since the start of the load; its planned length
    uint64_t committed, planned, delivered;
    double latency_ms; // mean, of the tokens that were read in the last whole second; NAN: none
    size_t faults, faults_planned;
};

void progress_show(struct progress *p);

// Ends the line, so that the next output starts on a fresh one.
void progress_end(const struct progress *p);
