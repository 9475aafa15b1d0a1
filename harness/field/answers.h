// Answers: the figures of one run, and a file that keeps them, so that an interrupted table
// continues where it stopped.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

// A figure that was not measured is NAN.
struct answer {
    double p50, p99; // ms
    double wal;      // bytes per job
    double cpu_ms;   // of the server per job
    double dead;     // most dead tuples at once
    double lost, left, again, exits;
    double recovery_ms;     // the longest recovery
    double planned, struck; // faults, and those that took effect
    double judged;          // 0: inconclusive
};

struct answers {
    const char *path; // NULL: nothing is stored
    json_t *all;      // by key; owned
};

// Reads a file of JSON lines; one that does not exist yet is empty.
MUST_USE bool answers_open(struct answers *a, const char *path, struct err *e);
void answers_close(struct answers *a); // accepts a zeroed one

// The key says what was run: the subject's version and the command.
bool answers_find(const struct answers *a, const char *key, struct answer *answer);

// Appends a line, at once.
MUST_USE bool answers_keep(
    struct answers *a, const char *key, const struct answer *answer, struct err *e);
