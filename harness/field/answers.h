// Stores the figures of runs in a file, so that an interrupted table continues where it stopped. An
// answer is the figures of one run.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

#define ANSWERS_KEY_MAX 800

// A figure that was not measured is NAN.
struct answer {
    double p50, p99; // latency, ms
    double wal;      // WAL bytes per job
    double cpu_ms;   // CPU time of the server per job
    double dead;     // largest number of dead tuples at one time
    double lost, left, taken, again, exits;
    double recovery_ms;     // longest recovery
    double planned, struck; // numbers of planned faults, and of those that took effect
    double postgres;        // server_version_num
    char folder[200];       // the run's result folder
    double deaf;            // 1: the consumer lived on, and took no job any more
    double judged;          // 0: the run was inconclusive
    // Where the harness ends each handler with an answer; see ledger/handlers.h.
    double in_hand, again_ms, at_once, failing, attempts, gap_min_ms, gap_max_ms;
    double failed; // jobs that the queue keeps as failed
};

struct answers {
    const char *path; // NULL: no file
    json_t *all;      // owned; the answers by key
};

// Reads a file of JSON lines. A file that does not exist counts as empty.
MUST_USE bool answers_open(struct answers *a, const char *path, struct err *e);

// Takes an answer that is known otherwise; false without memory.
MUST_USE bool answers_take(struct answers *a, const char *key, json_t *line, struct err *e);

// Returns the line of an answer, as a new reference; NULL without memory.
json_t *answers_line(const char *key, const struct answer *answer);
void answers_close(struct answers *a); // accepts a zeroed struct

// Finds the answer of a key. The key says what was run: the subject's version and the command.
bool answers_find(const struct answers *a, const char *key, struct answer *answer);

// Adds an answer and appends its line to the file at once.
MUST_USE bool answers_keep(
    struct answers *a, const char *key, const struct answer *answer, struct err *e);
