// A finding: a defect of a subject, with what shows it and what does not show it. It is a folder
// below subjects/findings/ (seen by us first) or subjects/defects/ (published by its own project)
// with FINDING.md, whose front matter is this struct, and scenario.yaml.
//
// The same run convicts the bad subjects and acquits the good ones, so a finding is a test of the
// table as much as one of the queue.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

#define FINDING_NONE "none"
#define FINDING_LEFT "left" // in `breaks`: jobs whose handler ran, and which end_state still counts

enum finding_state {
    FINDING_DRAFT,     // nobody was told yet
    FINDING_REPORTED,  // told, no answer yet
    FINDING_CONFIRMED, // its maintainers agree
    FINDING_DOCUMENTED,
    FINDING_FIXED,
    FINDING_WITHDRAWN, // stays visible
};

struct field_finding {
    char dir[PATH_MAX];
    char id[64];       // the folder's name
    bool ours;         // seen by us first
    char *title;       // what goes wrong, in one sentence
    char *project;     // the queue's name
    char **bad;        // folders of the subjects that show it, seen from this folder
    char **good;       // those that do not; empty: the control is said in `control`
    char **breaks;     // invariants, or FINDING_LEFT; one must be above zero
    char *says;        // words that a log of the subject must hold; FINDING_NONE: any
    int state;         // enum finding_state
    char *first_bad;   // the first version that is known to have it
    char *last_tested; // the newest version that was tried
    char *fixed_in;    // the first that is known not to; FINDING_NONE: none
    char *tracker;     // the address of the issue; FINDING_NONE: there is none
    char *quote, *url; // the promise that it breaks
    char *seen;        // in how many runs the bad ones showed it, when, on which server
    char *control;     // in how many the control did
    char *workaround;
    char *text; // the Markdown behind the front matter
};

// Loads a finding by its id. ERR_USAGE says where the file is wrong, or that there is none.
MUST_USE bool finding_load(struct field_finding *f, const char *id, struct err *e);
void finding_fini(struct field_finding *f); // accepts a zeroed struct

// Returns the ids of all findings, sorted and NULL-terminated, and frees them.
MUST_USE bool finding_ids(char ***ids, struct err *e);
void finding_ids_free(char **ids);

// Returns the word of a state, such as "reported".
const char *finding_state_text(int state);

// Returns the path of a file in the finding's folder, or of a subject seen from it.
MUST_USE bool finding_path(
    const struct field_finding *f, const char *name, char path[PATH_MAX], struct err *e);
