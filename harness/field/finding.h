// Reads a finding: a defect of a queue, with the subjects that show it and those that do not. A
// finding is a folder below subjects/findings/ (mailproof saw the defect first) or
// subjects/defects/ (it stands in the tracker of the queue's project). The folder holds
// scenario.yaml and FINDING.md, whose front matter is struct field_finding.
//
// The same scenario must convict the bad subjects and acquit the good ones, so a finding tests the
// field's table as well as the queue.
#pragma once

#include "base/base.h"

#define FINDING_NONE "none"
// Word in `breaks`: jobs whose handler ran, but which the queue still counts as not done (the query
// end_state of subject.yaml).
#define FINDING_LEFT "left"

enum finding_state {
    FINDING_DRAFT,     // not reported yet
    FINDING_REPORTED,  // reported, without an answer yet
    FINDING_CONFIRMED, // the queue's maintainers agree
    FINDING_DOCUMENTED,
    FINDING_FIXED,
    FINDING_WITHDRAWN, // withdrawn findings stay visible
};

struct field_finding {
    char dir[PATH_MAX];
    char id[64];       // the folder's name
    bool ours;         // mailproof saw it first; false: it stands in its project's tracker
    char *title;       // what goes wrong, in one sentence
    char *project;     // the queue's name
    char **bad;        // folders of the subjects that show the defect, relative to `dir`
    char **good;       // folders of the subjects that do not show it; empty: `control` says what
                       // the control was
    char **breaks;     // names of invariants, or FINDING_LEFT; a run shows the defect when one of
                       // them is above zero
    char *says;        // words that a log of the subject must also hold; FINDING_NONE: no words are
                       // needed
    int state;         // enum finding_state
    char *first_bad;   // the first version that is known to have the defect
    char *last_tested; // the newest version that was tried
    char *fixed_in;    // the first version that is known to be free of it, or FINDING_NONE
    char *tracker;     // the address of the issue; FINDING_NONE: there is none
    char *quote, *url; // the promise that the defect breaks: words of the documentation, and their
                       // address
    char *seen;        // in how many runs the bad subjects showed it, when, on which server
    char *control;     // in how many runs the control showed it; without `good`, also what it was
    char *workaround;
    char *text; // the Markdown after the front matter
};

// Loads a finding by its id. False with ERR_USAGE when there is no such finding, or when its file
// is wrong; the error's text says where.
MUST_USE bool finding_load(struct field_finding *f, const char *id, struct err *e);
void finding_fini(struct field_finding *f); // accepts a zeroed struct

// Sets *ids to the ids of all findings, NULL-terminated: first those in findings/, then those in
// defects/, each sorted. memory_free_texts frees them.
MUST_USE bool finding_ids(char ***ids, struct err *e);

// Returns the word of a state, such as "reported".
const char *finding_state_text(int state);
