// --subject and the changes that it makes to a scenario.
#pragma once

#include "options/options.h"

struct subject_sets {
    const char **items; // owned array: the subject's sets, then those of the options
    char *texts[3];     // owned
    struct overrides overrides;
};

// Makes the overrides of --subject, and appends those of the other options. ERR_USAGE when there is
// no such subject.
MUST_USE bool subjects_sets(struct subject_sets *sets, const struct options *o, struct err *e);
void subjects_sets_fini(struct subject_sets *sets);

// Removes the expectations that rest on what the subject does not promise and, for a queue, the
// parts of the load that only mails have, because all its jobs are alike.
void subjects_suit(struct scenario *s);

// Prints one line for each subject.
MUST_USE bool subjects_list(struct err *e);
