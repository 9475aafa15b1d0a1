// A data directory made once with initdb and copied for every server: a copy
// takes a fifth of a second, initdb nearly two.
#pragma once

#include <sys/types.h>

#include "base/err.h"

// The user the server's files belong to. postgres refuses to run as root.
struct server_user {
    uid_t uid;
    gid_t gid;
};

// Finds that user: our own, or for root the user postgres, else the user nobody.
MUST_USE bool template_user(struct server_user *user, struct err *e);

// Finds initdb and postgres: $PG_BINDIR, the newest /usr/lib/postgresql/*/bin,
// /usr/pgsql-*/bin, then PATH. ERR_SKIP when there is none.
MUST_USE bool template_bindir(char *out, size_t size, struct err *e);

// Makes `data` (which must not exist): a copy of the template, kept in
// $XDG_CACHE_HOME/mailproof or ~/.cache/mailproof. Without a usable cache,
// initdb each time.
MUST_USE bool template_copy(
    const char *bindir, const char *data, const struct server_user *user, struct err *e);

// Turns on page checksums in a cluster that is not running.
MUST_USE bool template_checksums(
    const char *bindir, const char *data, const struct server_user *user, struct err *e);

// Removes from the cache what killed runs left of a template that they were storing: <name>.<pid>,
// an hour old.
void template_sweep(const char *cache);
