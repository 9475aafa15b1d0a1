// --subject: what it changes in a scenario.
#pragma once

#include "cli/options.h"

struct subject_sets {
    const char **items; // owned array, with the options' own sets behind the subject's
    char *texts[3];     // owned
    struct overrides overrides;
};

// What --subject means as overrides, and the options' own behind them. ERR_USAGE
// when there is no such subject.
MUST_USE bool subjects_sets(struct subject_sets *sets, const struct options *o, struct err *e);
void subjects_sets_fini(struct subject_sets *sets);

// A queue's jobs are all alike: takes out of the load what belongs to mails alone.
void subjects_suit(struct scenario *s);

// One line for each subject.
MUST_USE bool subjects_list(struct err *e);
