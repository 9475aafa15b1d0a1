// Counts the tokens that were passed over or became dead letters, and logs the counts at most once
// a second. Pure, but for the log itself.
#pragma once

#include "metrics/meters.h"

// How many tokens were passed over, by reason.
struct passed {
    int64_t expired;
    int64_t consumed;
    int64_t status; // the account's status does not allow the action
};

struct tally {
    struct passed passed;
    int64_t dead_letters;
    int64_t log_at_ns; // CLOCK_NEVER: there is nothing to log
};

void tally_init(struct tally *t);
// Adds to these counts and to the meters. If there is anything to log, it is due within a second.
void tally_add(struct tally *t, struct meters *m, const struct passed *p, int64_t dead_letters,
    int64_t now_ns);
void tally_log(struct tally *t); // logs the counts, and sets them to 0
