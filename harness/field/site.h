// The field as pages: index.html, a page for each subject and version, findings.html, rules.html,
// field.json, a badge for each subject, and the raw results with their checksums.
//
// All pages are templates that are filled from field.json's object, so a program can read whatever
// a page shows. Pages of versions that are no longer judged stay in the folder.
#pragma once

#include <jansson.h>

#include "field/answers.h"
#include "field/grid.h"

// Returns the object of field.json; NULL without memory, or when a finding cannot be read.
MUST_USE json_t *site_json(const struct grid *g, struct err *e);

// Writes the pages into a folder, which is made. The raw results are copied from the folders of the
// runs, as far as these are still there.
MUST_USE bool site_write(
    const struct grid *g, const struct answers *answers, const char *dir, struct err *e);
