// Files that an option asks for, such as --markdown FILE.
#pragma once

#include "base/buf.h"
#include "base/err.h"

// Makes the folder <out>/<command>/<UTC time>, for a command that makes many runs.
MUST_USE bool files_dated_folder(
    char *path, size_t size, const char *out, const char *command, struct err *e);

// Writes all of `text` to `path`, and makes the folders on the way; the error names the option. A
// file that could not be written whole is removed.
MUST_USE bool file_write(
    const char *option, const char *path, const struct buf *text, struct err *e);

// Checks before the work begins that file_write will be able to write. Leaves the file as it is,
// and makes no folder.
MUST_USE bool file_is_writable(const char *option, const char *path, struct err *e);
