// How the collector under test is started: its argv and its environment.
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "os/child_env.h"
#include "scenario/scenario.h"

#define COMMAND_KEY_LEN 32

#define COMMAND_REFERENCE "reference" // names the reference collector

struct command {
    char **argv;          // owned, NULL-terminated
    struct child_env env; // what any program gets, the settings of the scenario and those that
                          // the harness makes, and libpq's variables, for the run's server
    unsigned char key[COMMAND_KEY_LEN];
};

// Makes the collector's command. The program is `collector` (--collector), else the scenario's
// command, else the reference collector, which lies beside our own program and is also called
// COMMAND_REFERENCE. `collector` is split at blanks, without a shell. The signing key is made from
// the seed, so that a run can be repeated byte for byte.
MUST_USE bool command_make(struct command *c, const struct scenario *s, const char *collector,
    const char *conninfo, struct err *e);

// Makes the command of one of a subject's programs: its consumer, its producer, or the program that
// makes its tables.
MUST_USE bool command_make_of_subject(struct command *c, const struct scenario *s,
    char *const *argv, const char *conninfo, struct err *e);

void command_fini(struct command *c);
