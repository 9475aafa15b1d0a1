// The user that the subject's programs run as when --as names one. This is neither mailproof's user
// nor the server's, and it cannot gain rights (no_new_privs). So these programs cannot change the
// results, read mailproof's keys, or log in as superuser.
//
// The name is stored in an environment variable, so that a mailproof that this one starts knows it,
// too.
#pragma once

#include "os/process.h"

#define OTHER_USER_VARIABLE "MAILPROOF_AS"

// Chooses the user. Call it before the first thread starts. ERR_USAGE: mailproof does not run as
// root, the user does not exist, or it is root.
MUST_USE bool other_user_choose(const char *name, struct err *e);

struct other_user {
    bool chosen; // false: the other fields are empty, and the subject runs as mailproof's own user
    uid_t uid;
    gid_t gid;
    char home[256];
};

// Looks up the chosen user. Also true when none was chosen; then u->chosen is false.
MUST_USE bool other_user(struct other_user *u, struct err *e);

// Sets the user in `spec` to the chosen one, if there is one.
MUST_USE bool other_user_apply(struct process_spec *spec, struct err *e);
