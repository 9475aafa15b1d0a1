// How the collector under test is started: its argv and its environment.
#pragma once

#include "os/child_env.h"
#include "scenario/scenario.h"

#define COMMAND_KEY_LEN 32

#define COMMAND_REFERENCE "reference" // names the reference collector

struct command {
    char **argv;          // owned, NULL-terminated
    struct child_env env; // the environment that all children get, the scenario's settings, the
                          // harness's settings, and libpq's variables, which name the run's server
    unsigned char key[COMMAND_KEY_LEN];
};

// Makes the collector's command. The program is `collector` (--collector), else the scenario's
// command, else the reference collector, which is installed beside mailproof. COMMAND_REFERENCE as
// `collector` also means the reference collector; any other text is split at blanks, without a
// shell. The signing key is made from the seed, so that a run can be repeated byte for byte.
MUST_USE bool command_make(struct command *c, const struct scenario *s, const char *collector,
    const char *conninfo, struct err *e);

// Makes the command of one of a queue's programs from its argv: the consumer, the producer, or the
// program that makes the queue's tables.
MUST_USE bool command_make_of_subject(struct command *c, const struct scenario *s,
    char *const *argv, const char *conninfo, struct err *e);

void command_fini(struct command *c);

// --- identity.c --------------------------------------------------------------------
//
// Identifies the tested program by its content, because a program may change while its name stays
// the same.

// Returns a text such as "mailroom-collector sha256:1a2b3c4d5e6f". It lists each of the command's
// first words that names a file, with the beginning of the checksum of that file's content. argv[0]
// without a slash is looked up in PATH, any other word in `dir` (NULL: the working directory).
// `before`, such as a subject's name and version, begins the text; NULL: nothing does. The caller
// owns the text.
char *identity_of(char *const *argv, const char *dir, const char *before);
