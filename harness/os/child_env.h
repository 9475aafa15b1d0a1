// Which part of mailproof's environment a foreign program gets. The environment of a CI or of an
// administrator has tokens, passwords, and the address of the server in production. So a child gets
// only the few variables that every program needs, and those that the user names.
//
// The names that the user gives are stored in an environment variable, so that a mailproof that
// this one starts knows them, too.
#pragma once

#include "base/base.h"

#define CHILD_ENV_PASSED "MAILPROOF_PASS_ENV" // names of further variables, with commas between

struct child_env {
    char **items; // owned, NULL-terminated NAME=value; each name comes once
    size_t count;
};

// Fills in PATH, HOME, LANG, TZ and TMPDIR, in a build with sanitizers their options, and the
// variables that the user passes on. Leaves out those that mailproof itself does not have.
void child_env_init(struct child_env *s);
void child_env_fini(struct child_env *s); // accepts a zeroed struct

// Sets a variable, and replaces the value that it may have.
void child_env_set(struct child_env *s, const char *name, const char *value);

// Passes the variable of this name on to every child from now on. Call this before the first thread
// starts. ERR_USAGE: a variable cannot have such a name.
MUST_USE bool child_env_pass(const char *name, struct err *e);

// Removes libpq's variables from mailproof's environment. Call this before the first thread starts.
// A run that starts a server of its own must not use the server, the options or the files that
// these variables name.
void child_env_remove_libpq(void);
