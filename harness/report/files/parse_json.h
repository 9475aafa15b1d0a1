// Reads the JSON files of a result folder, and writes JSON.
#pragma once

#include <jansson.h>

#include "base/base.h"

// Returns the file's object as a new reference. NULL with ERR_USAGE when the file cannot be
// read or holds no JSON object.
MUST_USE json_t *parse_file(const char *folder, const char *name, struct err *e);

// These read a member of an object; it is 0 or "" when it is absent or has another type. A text
// that is too long is cut.
double parse_number(const json_t *object, const char *key);
int64_t parse_integer(const json_t *object, const char *key);
void parse_text(const json_t *object, const char *key, char *text, size_t size);

// Returns a member that is a figure; NAN, not measured, when it is absent or no number.
double parse_figure(const json_t *object, const char *key);

// Appends the JSON as text with a newline, and releases `root`. `flags` are those of json_dumps.
// False when `root` is NULL, or the buffer is full.
MUST_USE bool append_root(json_t *root, size_t flags, struct buf *out);
