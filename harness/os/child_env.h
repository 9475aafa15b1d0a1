// What a program that is not ours gets of our environment. The environment of a CI or of an
// administrator has tokens, passwords, and the address of the server in production, so a child gets
// the few variables that any program needs, and those that the user names.
//
// The names are passed on in a variable, so that a mailproof that mailproof starts knows them too.
#pragma once

#include <stddef.h>

#include "base/err.h"

#define CHILD_ENV_PASSED "MAILPROOF_PASS_ENV" // names of further variables, with commas between

struct child_env {
    char **items; // owned, NULL-terminated NAME=value; each name comes once
    size_t count;
};

// Begins with PATH, HOME, LANG, TZ and TMPDIR, the options of the sanitizers in a build that has
// them, and the variables that the user passes. A variable that we do not have is left out.
MUST_USE bool child_env_init(struct child_env *s, struct err *e);
void child_env_fini(struct child_env *s); // accepts a zeroed struct

// Sets a variable, in place of the value that it has.
MUST_USE bool child_env_set(
    struct child_env *s, const char *name, const char *value, struct err *e);

// Lets the variable of this name reach every child from now on. Call it before the first thread
// starts. ERR_USAGE: it is not the name of a variable.
MUST_USE bool child_env_pass(const char *name, struct err *e);

// Removes the variables of libpq from our environment, before the first thread starts. A run on a
// server of its own must not meet the server, the options or the files that they name.
void child_env_forget_server(void);
