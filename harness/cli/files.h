// Files that an option asks for, e.g. --markdown FILE.
#pragma once

#include "base/buf.h"
#include "base/err.h"

// Writes all of `text` to `path`; the error names the option.
MUST_USE bool file_write(
    const char *option, const char *path, const struct buf *text, struct err *e);

// Appends all that the file holds.
MUST_USE bool file_read(const char *path, struct buf *text, struct err *e);
