// Puts one question of `mailproof field` to one subject: runs the question's scenario, with the
// changes (--set) that belong to the question.
#pragma once

#include "options/options.h"
#include "field/answer_file.h"
#include "field/outcome.h"

#define QUESTION_SETS_MAX 6
#define EXPERIMENT_RATE 100 // jobs a second, unless the subject gets a lower rate

struct question {
    const char *title;
    const char *scenario;
    const char *sets[QUESTION_SETS_MAX]; // NULL-terminated
    enum asks asks;
    bool ends_workers; // the fault kills workers or asks them to end
};

// The table of the questions. Each is a column of the field's table.
extern const struct question questions[];
extern const size_t question_count;

extern const struct question *const question_paced; // the load without a fault
extern const struct question *const question_burst; // a short load, to find the highest rate

struct experiment {
    const struct question *question;
    const char *subject, *version;
    int rate;    // jobs a second, in the questions about speed and recovery
    int drain_s; // time that the subject has to finish after the load
    int claim_s; // how long a job belongs to the worker that took it; 0: for ever
    int seed;    // 1: the scenario's own seed
};

// Writes the key under which the answer is stored; it names all that decides what is run, but not
// the server.
void experiment_key(const struct experiment *x, char key[ANSWERS_KEY_MAX]);

// Writes the command that repeats the run, on a server of its own.
void experiment_command(const struct experiment *x, char *out, size_t size);

// Finds the stored answer, or runs the scenario and stores its answer; *fresh becomes true when the
// scenario was run. False when there is no answer; ERR_SKIP when shards are merged and none has it.
MUST_USE bool experiment_answer(const struct experiment *x, const struct options *o,
    struct answer_file *known, struct answer *answer, bool *fresh, struct err *e);
