// Finds the harness's own files: in the source tree when it runs from
// build/bin, under share/mailproof when it is installed.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

// Finds the absolute path of `name` below the share folder, such as scenarios or migrations.
MUST_USE bool path_share(char out[PATH_MAX], const char *name, struct err *e);

// A program that stands beside ours, e.g. mailroom-collector.
MUST_USE bool path_sibling(char out[PATH_MAX], const char *program, struct err *e);

// Formats a path; false (ERR_SYSTEM) when it is too long.
MUST_USE bool path_join(char out[PATH_MAX], const char *dir, const char *name, struct err *e);

// Returns ERR_USAGE when errno says that nobody may make a file or folder at a path that a user has
// named, else ERR_SYSTEM.
enum err_kind path_fault(void);

// Makes a folder and those above it. ERR_USAGE where this user may make none.
MUST_USE bool path_make(const char *dir, struct err *e);

bool path_exists(const char *path);
