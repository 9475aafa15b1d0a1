// Stores answers in a file, so that an interrupted table continues where it stopped. An answer
// holds the figures of one run.
#pragma once

#include <jansson.h>

#include "base/base.h"

#define ANSWERS_KEY_MAX 800

// A figure that was not measured is NAN.
struct answer {
    double p50, p99;                        // latency, ms
    double wal;                             // WAL bytes per job
    double cpu_ms;                          // CPU time of the server per job
    double dead;                            // largest number of dead tuples at one time
    double lost, left, taken, again, exits; // counts; see struct seen in outcome.h
    double recovery_ms;                     // longest recovery
    double planned, struck; // numbers of planned faults, and of those that took effect
    double postgres;        // server_version_num
    char folder[200];       // the run's result folder
    double deaf;            // 1: the consumer ran no more jobs, though jobs were put
    double judged;          // 0: the run was inconclusive
    // Known only if the harness ends each handler with an answer; see ledger/handlers.h.
    double in_hand, rerun_ms, at_once, failing, attempts, gap_min_ms, gap_max_ms;
    double failed;    // jobs that the queue keeps as failed
    char program[80]; // version and commit of the mailproof that made the run; "" when not known
    char day[11];     // day of the run in UTC, such as 2026-11-28; "" when not known
};

struct answer_file {
    const char *path; // NULL: no file
    json_t *all;      // owned; the lines of the answers (answer_file_line) by key
};

// Reads a file of JSON lines. A file that does not exist counts as empty.
MUST_USE bool answer_file_open(struct answer_file *a, const char *path, struct err *e);

// Returns an answer as the JSON object of its line in the file, a new reference; NULL when a text
// is not UTF-8.
json_t *answer_file_line(const char *key, const struct answer *answer);
void answer_file_close(struct answer_file *a); // accepts a zeroed struct

// Finds the answer with this key; false: there is none. The key names what was run: the subject,
// its version and the command.
bool answer_file_find(const struct answer_file *a, const char *key, struct answer *answer);

// Adds an answer and appends its line to the file at once.
MUST_USE bool answer_file_store(
    struct answer_file *a, const char *key, const struct answer *answer, struct err *e);
