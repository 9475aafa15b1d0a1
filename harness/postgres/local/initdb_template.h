// Makes data directories: initdb makes a template once, and each server gets a copy of it. A copy
// takes a fifth of a second, initdb nearly two seconds.
#pragma once

#include <sys/types.h>

#include "base/base.h"

// The user that owns the server's files. postgres refuses to run as root.
struct server_user {
    uid_t uid;
    gid_t gid;
};

// Finds the user that is to own the server's files: our own; if we are root, the user postgres, or
// else nobody. ERR_SKIP if there is neither.
MUST_USE bool template_user(struct server_user *user, struct err *e);

// Finds the folder of initdb and postgres: $PG_BINDIR, else the newest /usr/lib/postgresql/*/bin or
// /usr/pgsql-*/bin, else in PATH. ERR_SKIP when there is none; ERR_USAGE when PG_BINDIR has none.
MUST_USE bool template_bindir(char *out, size_t size, struct err *e);

// Makes the folder `data`, which must not exist yet, as a copy of the template. The template is
// kept in $XDG_CACHE_HOME/mailproof or ~/.cache/mailproof. Where there is none yet, or no usable
// cache, initdb makes `data`.
MUST_USE bool template_copy(
    const char *bindir, const char *data, const struct server_user *user, struct err *e);

// Turns page checksums on in a cluster that is not running. Checksums that are on already are no
// error.
MUST_USE bool template_checksums(
    const char *bindir, const char *data, const struct server_user *user, struct err *e);

// Removes half-stored templates of killed runs from the cache: folders named <name>.<pid> that are
// more than an hour old.
void template_sweep(const char *cache);
