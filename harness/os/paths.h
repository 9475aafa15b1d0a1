// Finds the harness's own files. They are in the source tree when it runs from build/bin, and under
// share/mailproof when it is installed.
#pragma once

#include "base/base.h"

// Finds the absolute path of `name` below the share folder, such as scenarios or migrations.
MUST_USE bool path_share(char out[PATH_MAX], const char *name, struct err *e);

// Makes the path of a program in the folder of this program's file, e.g. mailroom-collector,
// whether or not it is there.
MUST_USE bool path_sibling(char out[PATH_MAX], const char *program, struct err *e);

// Finds a program that only mailproof calls: beside this program's file in the build, in libexec
// when installed. Fails with an error of the kind `missing` when it is not there.
MUST_USE bool path_helper(
    char out[PATH_MAX], const char *program, enum err_kind missing, struct err *e);

// Finds a program in folders that are written as in PATH; NULL: there are none. False when it is
// not there.
bool path_program(char out[PATH_MAX], const char *dirs, const char *name);

// Formats a path; false (ERR_SYSTEM) when it is too long.
MUST_USE bool path_join(char out[PATH_MAX], const char *dir, const char *name, struct err *e);

// Returns what follows the last slash of a path; the whole path when it has no slash.
const char *path_name(const char *path);

// Finds the path of `name`, which is relative to the folder of `file` unless it begins with a
// slash; false when the path is too long.
MUST_USE bool path_beside(char out[PATH_MAX], const char *file, const char *name);

// Chooses the kind of error from errno, after a failure at a path that a user has named. ERR_USAGE:
// the path leads nowhere, or this user may not make a file or folder there; ERR_SYSTEM: any other
// reason.
enum err_kind path_err_kind(void);

// Makes a folder and the missing ones above it. ERR_USAGE: this user may not make it there, or a
// file has its name.
MUST_USE bool path_make(const char *dir, struct err *e);

// Makes the folder for a file that is to be written, unless it is there.
MUST_USE bool path_make_parent(const char *file, struct err *e);

// Returns true when path_make_parent would make folders: the folder for the file is missing, and
// the nearest one above it that exists takes new entries.
bool path_can_make_parent(const char *file);

// Finds mailproof's cache folder, $XDG_CACHE_HOME/mailproof or ~/.cache/mailproof, and makes it if
// it is missing; false when that is not possible.
bool path_cache(char out[PATH_MAX]);

bool path_exists(const char *path);

// True when the folder has an entry of this name; false as well when the path is too long.
bool path_has(const char *folder, const char *name);

// Appends the whole file to the text, followed by a NUL. Fails with an error of this kind when the
// file cannot be read or the text would get longer than its limit.
MUST_USE bool path_read(const char *path, struct buf *text, enum err_kind kind, struct err *e);
