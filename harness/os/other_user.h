// The user that programs of the subject run as, where --as names one: another than ours and the
// server's, with no_new_privs. It cannot change the results, read our keys, or log in as superuser.
//
// The name is passed on in a variable, so that a mailproof that mailproof starts knows it too.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "os/process.h"

#define OTHER_USER_VARIABLE "MAILPROOF_AS"

// Chooses the user. Call it before the first thread starts. ERR_USAGE: we are not root, or there is
// no such user but root.
MUST_USE bool other_user_choose(const char *name, struct err *e);

struct other_user {
    bool chosen; // without a choice, the rest is empty and the subject runs as we do
    uid_t uid;
    gid_t gid;
    char home[256];
};

// Looks the choice up.
MUST_USE bool other_user(struct other_user *u, struct err *e);

// Lets a program be started as that user, if one was chosen.
MUST_USE bool other_user_become(struct process_spec *spec, struct err *e);
