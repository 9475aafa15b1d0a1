// A result folder: results/<scenario>/<UTC time>-<seed>/ with a `latest` link
// beside it.
#pragma once

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "scenario/scenario.h"

struct folder {
    char path[PATH_MAX];
    char logs[PATH_MAX]; // path/logs
    bool judged;         // a verdict was written
};

#define FOLDER_STAMP_LEN 40

// Now, as folders are named: 20240420T133700Z.
void folder_stamp(char stamp[FOLDER_STAMP_LEN]);

// Makes the folder, and scenario.yaml (resolved) in it.
MUST_USE bool folder_make(
    struct folder *f, const struct scenario *s, const char *out, struct err *e);

// Opens one that is there, under the name that it was given; of `latest`, or any
// other link, what it names.
MUST_USE bool folder_open(struct folder *f, const char *path, struct err *e);

// Moves `latest` to it: when a verdict is written.
MUST_USE bool folder_link_latest(struct folder *f, struct err *e);

// A folder without a verdict holds nothing worth keeping but its logs: removed
// when they are empty too. Call at the end, always.
void folder_fini(struct folder *f);

// A file of the folder on its way: until it is whole it has another name.
struct folder_file {
    char path[PATH_MAX], fresh[PATH_MAX];
    FILE *out;
};

MUST_USE bool folder_begin(
    const struct folder *f, const char *name, struct folder_file *file, struct err *e);

// Closes it, always. Gives it its name when it is `whole`, else removes it; false only
// when a whole one could not be written.
MUST_USE bool folder_finish(struct folder_file *file, bool whole, struct err *e);

// Both, of a text.
MUST_USE bool folder_write(
    const struct folder *f, const char *name, const struct buf *content, struct err *e);

// The server's log from byte `from` on, if there is one, into logs/.
MUST_USE bool folder_copy_log(
    const struct folder *f, const char *server_log, long from, struct err *e);
