// One question of `mailproof field` to one subject: a scenario with sets of the question's own.
#pragma once

#include "cli/options.h"
#include "field/answers.h"

#define ASKING_SETS_MAX 6
#define ASKING_RATE 100 // jobs a second, unless the subject is asked for less

struct question {
    const char *title;
    const char *scenario;
    const char *sets[ASKING_SETS_MAX]; // NULL-terminated
    bool has_rate;                     // the sets bring a load of ASKING_RATE
};

struct asking {
    const struct question *question;
    const char *subject, *version;
    int rate;    // of the load's first phase, a second
    int drain_s; // how long the subject may take to finish after the load
    int seed;    // 1: the scenario's own
};

// Writes the command that repeats the run.
void asking_command(const struct asking *a, char *out, size_t size);

// Takes the answer from those that are remembered, or runs the scenario and remembers it.
MUST_USE bool asking_ask(const struct asking *a, const struct options *o, struct answers *known,
    struct answer *answer, struct err *e);
