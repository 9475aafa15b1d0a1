// The settings of a scenario's collector for leases, retries, the budget and lanes.
#pragma once

#include "scenario/scenario.h"

struct leased {
    bool on;       // true: collector.dequeue is leased
    int attempts;  // number of failed attempts that make a token dead
    int in_flight; // greatest number of lines without an answer
    int64_t answer_timeout_ns, retry_base_ns, retry_max_ns;
    double budget_per_s; // tokens per second; 0: there is no budget
    double burst;        // with a budget: tokens that may be sent at once after a pause
    const char *lanes;   // joined with commas, the most urgent first; owned by the scenario; NULL:
                         // there is one lane
    int64_t ageing_ns;   // tokens of less urgent lanes get a share when they have waited this long
};

// Returns a time that the collector's environment gives in ms, at most 100 days; the default when
// the variable is missing.
int64_t leased_setting_ns(const struct scenario *s, const char *name, int64_t default_ms);

// Fills in *m from the collector's environment in the scenario. A missing variable gets the
// collector's own default.
void leased_read(struct leased *m, const struct scenario *s);

// Returns the longest delay before a retry that full jitter may choose after this many errors.
int64_t leased_longest_delay_ns(const struct leased *m, int errors);
