// Puts one question to one subject of the table, and says what an answer means.
#pragma once

#include "field/cells.h"
#include "field/experiment.h"

// The speeds, the last columns of the table.
enum speed { SPEED_P50, SPEED_P99, SPEED_WAL, SPEED_CPU, SPEED_DEAD, SPEED_RATE, SPEEDS };

// True when the subject of a row can be asked: it is installed, a run without a fault could be
// made, and it sustains a rate that was tried.
bool asking_possible(const struct field_run *f, size_t row);

// Returns the question as a run, with the row's manner. It borrows the row's name and version.
struct experiment asking_experiment(
    struct field_run *f, size_t row, const struct question *q, int seed);

// Finds the stored answer, or makes the run. False when the run could not be made. `planned` false:
// plan_runs could not foresee the run, so f->planned grows by one.
MUST_USE bool asking_answer(struct field_run *f, size_t row, const struct experiment *x,
    bool planned, struct answer *answer, struct err *e);

// Returns what an answer says about its question.
struct seen answer_seen(const struct answer *a, const struct question *q);

// True when no job was lost or left over after the load. False when the run doubts its number of
// lost jobs (NAN). A queue that cannot be asked for the jobs that are left (NAN) counts as having
// none.
bool answer_keeps_up(const struct answer *a);

// True when the subject kept up with the load, and p99 was below a limit.
bool answer_is_sustained(const struct answer *a, double p99_ms);

// Returns the row's cell of a speed.
struct cell *cell_of_speed(struct field_run *f, size_t row, enum speed speed);

// Writes a figure into a cell, with the load's rate if that is not EXPERIMENT_RATE; NAN: not
// measured.
void cell_show_figure(struct cell *c, double value, int decimals, const char *unit, int rate);

// Writes into the cell why a run could not be made. False when the reason is a signal, which ends
// the whole table.
bool cell_note_failure(struct cell *c, const struct err *e);
