// The field as pages: index.html, a page for each subject and version, findings.html, rules.html,
// field.json, a badge for each subject, and the raw results with their checksums.
//
// All pages are templates that are filled from field.json's object, so a program can read whatever
// a page shows. Pages of versions that are no longer judged stay in the folder.
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "field/answers.h"
#include "field/grid.h"

// Returns the object of field.json; NULL without memory, or when a finding cannot be read.
MUST_USE json_t *site_json(const struct grid *g, struct err *e);

// Writes the pages into a folder, which is made. The raw results are copied from the folders of the
// runs, as far as these are still there.
MUST_USE bool site_write(
    const struct grid *g, const struct answers *answers, const char *dir, struct err *e);

// --- a template that is filled in ----------------------------------------------------

// A page's template, which is filled from a JSON value:
//
//   {{name}}               the member's text, escaped; a number as it is
//   {{#name}}…{{/name}}    once for each item of a list, or once when the member is true or a text
//                          that is not empty; inside, the item's members come before those around
//                          it
//   {{^name}}…{{/name}}    when it is absent, false, or empty
//   {{style}}              the style that all pages share
//
// The templates are our own, so a section without its end is a bug.
void fill_template(struct buf *out, const char *page, const json_t *root);
