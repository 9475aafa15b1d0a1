// Turns --subject into overrides, and changes a scenario so that it suits the subject.
#pragma once

#include "options/options.h"

#define SUBJECT_SETS 3 // number of overrides of --subject

struct subject_sets {
    const char **items; // owned array; first the overrides of --subject, then those of the other
                        // options
    char *texts[SUBJECT_SETS];  // owned; the overrides of --subject
    struct overrides overrides; // those of the options, but with `items`
};

// Makes the overrides of --subject, and appends those of the other options. ERR_USAGE when there is
// no such subject.
MUST_USE bool subjects_sets(struct subject_sets *sets, const struct options *o, struct err *e);
void subjects_sets_fini(struct subject_sets *sets);

// Returns an override such as "collector.promises=[no_loss, order]", which the caller frees.
char *subjects_promises_override(int promises);

// Removes the expectations that rest on a promise which the subject does not make. For another
// queue, also removes the parts of the load that only mails have, because its jobs are all alike.
void subjects_adapt(struct scenario *s);

// Prints one line for each subject that --subject takes.
MUST_USE bool subjects_list(struct err *e);
