// Names and writes the files that options ask for, such as --markdown FILE.
#pragma once

#include "base/base.h"

// Fills in the path <out>/<command>/<UTC time>, of a folder for a command that makes many runs. The
// folder is not made.
MUST_USE bool files_dated_folder(
    char *path, size_t size, const char *out, const char *command, struct err *e);

// Writes all of `text` to `path`, and makes the folders on the way. The error names the option. A
// file that could not be written completely is removed.
MUST_USE bool file_write(
    const char *option, const char *path, const struct buf *text, struct err *e);

// Checks, before the work begins, that file_write will be able to write. It changes no file that
// exists, and makes no folder.
MUST_USE bool file_is_writable(const char *option, const char *path, struct err *e);
