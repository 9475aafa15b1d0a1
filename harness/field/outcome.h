// The verdict of one cell: what a subject did under a fault, against what it promises.
//
// A run convicts only by a promise that the subject makes. A fault that was seen in a single run of
// several is a doubt, not a conviction.
#pragma once

#include <stdbool.h>

#include "field/grid.h"

// What a cell tells besides the verdict.
enum asks {
    ASKS_SPEED,    // it is no verdict; its load is the subject's rate
    ASKS_RECOVERY, // how long until fresh jobs came, at ASKING_RATE
    ASKS_RERUN,    // how long until a dead worker's jobs came again
    ASKS_AT_ONCE,  // how many handlers of one job ran at once
    ASKS_ATTEMPTS, // how often a job that always fails was tried, and what became of it
};

// What one run saw. NAN: not known.
struct seen {
    double lost, left, again, exits;
    double recovery_ms; // the longest recovery; NAN: nothing had to recover
    double taken;       // number of jobs that a worker had taken and not finished
    bool judged;        // false: the run was inconclusive
    bool missed;        // true: the fault found no target
    bool deaf;          // true: the consumer lived on, and took no job any more
    double rerun_ms;    // the longest time until a dead worker's job came again
    double at_once;     // number of handlers that began while another one of their job ran
    double attempts;    // the most attempts of a job that always fails
    double gap_min_ms, gap_max_ms; // between these attempts
    double failing;                // number of such jobs
    double failed, retried;        // of these, how many are kept as failed, and how many still wait
};

// What the subject promises.
struct terms {
    int promises;   // bits of enum promise
    double retry_s; // time after which the queue documents that it retries, where a run cannot wait
                    // that long; else 0
    const char *retry_default; // how long a dead worker's job waits by default, where it is shorter
                               // here; NULL: as here
};

// A figure of all runs of a cell that it concerns: the smallest and the largest.
struct range {
    double least, most;
};

enum part { PART_LOST, PART_LEFT, PART_AGAIN, PART_EXITS, PARTS };

// What a figure means: it breaks a promise; or the queue documents it; or other queues promise
// against it, and this one does not.
enum meaning { MEANS_BROKEN, MEANS_DOCUMENTED, MEANS_UNPROMISED, MEANINGS };

// All runs of one cell.
struct outcome {
    int runs, judged, broken; // numbers of runs; broken: those that convict
    int deaf;                 // number of runs after whose fault the consumer took nothing
    bool missed;              // the fault found no target
    struct range seen[MEANINGS][PARTS];
    double recovery_ms; // the longest; NAN: nothing had to recover
    enum asks asks;
    struct seen last; // the last run that was judged; of several runs it speaks for all
};

#define OUTCOME_INIT                                                                               \
    {                                                                                              \
        .recovery_ms = NAN, .asks = ASKS_RECOVERY                                                  \
    }

// Appends to `text` what convicts in this run, such as "2 exits"; else "kept" or "inconclusive".
void outcome_tell(const struct seen *s, const struct terms *t, char *text, size_t size);

void outcome_add(struct outcome *o, const struct seen *s, const struct terms *t);

// Fills a cell. Its first words are the verdict: kept, broken 7 of 10, as documented, not promised,
// doubtful, not asked. A broken cell shows only what convicts.
void outcome_cell(const struct outcome *o, const struct terms *t, struct cell *c);
