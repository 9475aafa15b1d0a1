// How the collector under test is started: its argv and its environment.
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "scenario/scenario.h"

#define COMMAND_KEY_LEN 32

#define COMMAND_REFERENCE "reference" // names the reference collector

struct command {
    char **argv; // owned, NULL-terminated
    char **env;  // owned, NULL-terminated: ours without MAILROOM_*, theirs, the scenario's
    unsigned char key[COMMAND_KEY_LEN];
};

// `collector` (--collector) beats the scenario's command, which beats the
// reference collector beside our own program, which is also COMMAND_REFERENCE. It
// is split at blanks; the shell takes no part. The signing key is made from the seed, so that a run
// can be repeated byte for byte.
MUST_USE bool command_make(struct command *c, const struct scenario *s, const char *collector,
    const char *conninfo, struct err *e);

// A program of a subject: its consumer, its producer, or what makes its tables.
MUST_USE bool command_make_of_subject(struct command *c, const struct scenario *s,
    char *const *argv, const char *conninfo, struct err *e);

void command_fini(struct command *c);
