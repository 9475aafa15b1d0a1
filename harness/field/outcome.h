// Makes the verdict of one cell: compares what a subject did under a fault with what it promises.
//
// A run convicts only if it breaks a promise that the subject makes. If only one run convicts, the
// cell is doubtful and not broken.
#pragma once

#include "field/grid.h"

// What a question asks besides whether the promises are kept; the cell shows it after the verdict.
enum asks {
    ASKS_SPEED,    // figures alone, without a verdict, at the rate that the subject sustains
    ASKS_RECOVERY, // how long it took until new jobs were delivered again after the fault
    ASKS_RERUN,    // how long it took until a dead worker's jobs were delivered again
    ASKS_AT_ONCE,  // how many handlers of one job ran at once
    ASKS_ATTEMPTS, // how often a job that always fails was tried, and what became of it
};

// What one run showed. Figures are NAN when they are not known.
struct seen {
    // Counts: jobs that did not run, that were not done at the end, that came again; and exits of
    // the consumer.
    double lost, left, again, exits;
    double recovery_ms; // the longest recovery; NAN: nothing had to recover
    double taken;       // number of jobs that some worker had taken and not finished
    bool judged;        // false: the run was inconclusive
    bool missed;        // true: the fault found no target
    bool deaf;          // true: the consumer ran no more jobs, though jobs were put
    bool died;          // true: a worker ended, by the fault or by itself
    double rerun_ms;    // the longest time until a dead worker's job was delivered again
    double at_once;     // number of handlers that began while another handler of the same job ran
    double attempts;    // the most attempts of a job that always fails
    double gap_min_ms, gap_max_ms; // shortest and longest time between these attempts
    double failing;                // number of jobs that always fail
    double failed, retried;        // numbers of the jobs that the queue keeps as failed, and of
                                   // those that still wait
};

// What the subject promises and documents.
struct terms {
    int promises;   // bits of enum promise
    double retry_s; // documented time after which the queue retries a job, if a run cannot wait
                    // that long; otherwise 0
    const char *retry_default; // how long a dead worker's job waits with the queue's default
                               // settings; NULL: as long as with the settings used here
};

// The smallest and the largest value of a figure, over those runs of a cell in which it is above 0.
struct range {
    double least, most;
};

// The figures that may break a promise.
enum figure { FIGURE_LOST, FIGURE_LEFT, FIGURE_AGAIN, FIGURE_EXITS, FIGURE_KINDS };

// What a figure means: it breaks a promise; the queue documents it; or the queue promises nothing
// about it.
enum meaning { MEANS_BROKEN, MEANS_DOCUMENTED, MEANS_UNPROMISED, MEANINGS };

// The sum of all runs of one cell.
struct outcome {
    int judged, broken; // numbers of runs: the conclusive ones, and those that break a promise
    int deaf;           // number of runs in which the consumer took no jobs after the fault
    bool missed;        // in at least one run the fault found no target
    bool died;          // in at least one run a worker ended
    struct range ranges[MEANINGS][FIGURE_KINDS];
    struct range waiting; // jobs that wait for a documented late retry
    double recovery_ms;   // the longest recovery; NAN: nothing had to recover
    enum asks asks;
    struct seen last; // the last run that was judged; tells all that `asks` asks but the recovery
};

#define OUTCOME_INIT                                                                               \
    {                                                                                              \
        .recovery_ms = NAN, .asks = ASKS_RECOVERY                                                  \
    }

// Appends to `text` what broke promises in one run, such as "2 exits"; if nothing did, "kept",
// "inconclusive" or "no target".
void outcome_tell(const struct seen *s, const struct terms *t, char *text, size_t size);

// Adds a run to the outcome of its cell. A run that was not judged changes nothing. A run whose
// fault found no target only sets `missed`.
void outcome_add(struct outcome *o, const struct seen *s, const struct terms *t);

// Fills a cell. The text begins with the verdict: kept, broken 7 of 10, as documented, held,
// not promised, doubtful, not asked. A broken cell shows only figures that break a promise. Then
// come the number of runs in which the consumer was deaf, if any, and what `asks` asks.
void outcome_cell(const struct outcome *o, const struct terms *t, struct cell *c);
