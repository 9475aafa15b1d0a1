// Finds the harness's own files. They are in the source tree when it runs from build/bin, and under
// share/mailproof when it is installed.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

// Finds the absolute path of `name` below the share folder, such as scenarios or migrations.
MUST_USE bool path_share(char out[PATH_MAX], const char *name, struct err *e);

// Finds a program in the same folder as ours, e.g. mailroom-collector.
MUST_USE bool path_sibling(char out[PATH_MAX], const char *program, struct err *e);

// Finds a program in PATH.
bool path_program(char out[PATH_MAX], const char *name);

// Formats a path; false (ERR_SYSTEM) when it is too long.
MUST_USE bool path_join(char out[PATH_MAX], const char *dir, const char *name, struct err *e);

// Classifies errno after a failure at a path that a user has named. ERR_USAGE: this user may not
// make a file or folder there; ERR_SYSTEM: any other reason.
enum err_kind path_fault(void);

// Makes a folder and those above it. ERR_USAGE where this user may make none.
MUST_USE bool path_make(const char *dir, struct err *e);

// Makes the folder for a file that is to be written, unless it is there.
MUST_USE bool path_make_parent(const char *file, struct err *e);

// Returns true when path_make_parent would make folders: the folder for the file is missing, and
// the nearest one above it that exists takes new entries.
bool path_can_make_parent(const char *file);

// Makes the folder of what need not be made again, $XDG_CACHE_HOME/mailproof or ~/.cache/mailproof;
// false when there is no place for one.
bool path_cache(char out[PATH_MAX]);

bool path_exists(const char *path);

// Appends the whole file to the text, behind which a NUL stands then. Fails with this kind of error
// when it cannot be read, or is longer than the text may be.
MUST_USE bool path_read(const char *path, struct buf *text, enum err_kind kind, struct err *e);
