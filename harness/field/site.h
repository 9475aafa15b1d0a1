// Writes the table of `mailproof field` as a web site: index.html, a page for each subject and
// version, findings.html, rules.html, field.json, a badge for each subject and version, and the raw
// results with their checksums.
//
// All pages are templates that are filled in from the object of field.json, so a program can read
// there whatever a page shows. Pages of versions that are no longer judged stay in the folder.
#pragma once

#include <jansson.h>

#include "field/answer_file.h"
#include "field/grid.h"

// Returns the object of field.json; NULL when a finding cannot be read, or a text is not UTF-8.
MUST_USE json_t *site_json(const struct grid *g, struct err *e);

// Writes the site into a folder, which is created if needed. The raw results are copied from those
// folders of runs that still exist.
MUST_USE bool site_write(
    const struct grid *g, const struct answer_file *answers, const char *dir, struct err *e);

// --- a template that is filled in ----------------------------------------------------

// Appends a page's template to `out`, filled in from a JSON value. In the template:
//
//   {{name}}               the member's text, escaped; a whole number as it is
//   {{#name}}…{{/name}}    the text between, once for each item of a list, or once when the member
//                          is true or a text that is not empty; inside, a name means a member of
//                          the item or, if the item has no such member, of what is around it
//   {{^name}}…{{/name}}    the text between, when the member is absent, false, or empty
//   {{style}}              the style that all pages share
//
// The templates are a part of mailproof, so a section without its end is a bug.
void fill_template(struct buf *out, const char *page, const json_t *root);
