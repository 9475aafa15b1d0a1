// Finds the scenario files that the user means.
#pragma once

#include "scenario/scenario.h"
#include "scenario/suggest.h"

struct paths {
    char **items; // owned
    size_t count;
};

// Appends the files that `name` stands for: a file; the files *.yaml of a folder, sorted; the
// scenario.yaml of a result folder; a scenario that comes with mailproof, by its name; or, for
// "scenarios", all scenarios that come with mailproof. ERR_USAGE when `name` is none of these.
MUST_USE bool locate_scenarios(struct paths *p, const char *name, struct err *e);
void locate_fini(struct paths *p);

// A search for scenarios by tag, with what is needed to report that none was found.
struct tag_search {
    const char *tag;        // borrowed; NULL: none is asked for
    struct suggestion near; // the nearest of the tags that were seen
    char seen[400];         // all tags that were seen, as " quick, power,", as far as there is room
};

void locate_tag_init(struct tag_search *search, const char *tag);
// True when the scenario carries the tag, or when no tag is asked for. Notes the scenario's tags.
bool locate_tagged(struct tag_search *search, const struct scenario *s);
// Makes the error that no scenario carries the tag, and returns false.
bool locate_no_tag(const struct tag_search *search, struct err *e);
