// Makes, opens and fills a result folder: results/<scenario>/<UTC time>-<seed>/ with a `latest`
// link beside it.
#pragma once

#include "scenario/scenario.h"

struct folder {
    char path[PATH_MAX];
    char logs[PATH_MAX]; // path/logs
    bool judged;         // true: a verdict was written
};

#define FOLDER_STAMP_LEN 40

// Writes the present time in the form with which folder names begin: 20240420T133700Z.
void folder_stamp(char stamp[FOLDER_STAMP_LEN]);

// Makes the run's folder below `out`, with its logs/, and writes the resolved scenario.yaml and the
// files of recorded arrivals into it.
MUST_USE bool folder_make(
    struct folder *f, const struct scenario *s, const char *out, struct err *e);

// Opens a folder, without a check that it exists. A link such as `latest` is followed.
MUST_USE bool folder_open(struct folder *f, const char *path, struct err *e);

// Writes the path of `name`, a file that every result has, to `out`. ERR_USAGE: `dir` does not have
// that file, so it is no result folder.
MUST_USE bool folder_find(char out[PATH_MAX], const char *dir, const char *name, struct err *e);

// Points `latest` to the folder. Call it when the verdict was written; it also sets `judged`.
MUST_USE bool folder_link_latest(struct folder *f, struct err *e);

// Ends a folder of folder_make: removes it if it has neither a verdict nor a log. Not for one of
// folder_open, whose files are the user's.
void folder_fini(struct folder *f);

// A file that is being written.
struct folder_file {
    char path[PATH_MAX];
    char fresh[PATH_MAX]; // its temporary name, until it is whole
    FILE *out;
};

// Opens a file of the folder `dir` under a temporary name; folder_finish must follow.
MUST_USE bool folder_begin(
    const char *dir, const char *name, struct folder_file *file, struct err *e);

// Closes the file. If it is whole it gets its final name, else it is removed. Returns false only
// when a whole file could not be written.
MUST_USE bool folder_finish(struct folder_file *file, bool whole, struct err *e);

// Writes a text as a file: begin and finish in one call.
MUST_USE bool folder_write(
    const char *dir, const char *name, const struct buf *content, struct err *e);

// Copies the server's log, from byte `from` on, into logs/. Without a log it does nothing.
MUST_USE bool folder_copy_log(
    const struct folder *f, const char *server_log, long from, struct err *e);
