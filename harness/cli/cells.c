#include "cli/cells.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/asking.h"
#include "measure/stats.h"

#define RATE_LEAST 100
#define RATE_MOST 6400
#define PACE_LEAST 12
#define ROUNDS 3
#define PACED_P99_MS 2000

enum column { P50, P99, WAL, CPU, DEAD, RATE, FIRST_FAULT };

static const struct question paced = {"paced", "steady", {"load.0.for=6s"}, false};

#define LOAD "load=[{name: paced, for: 6s, rate: 100/s}]"

static const struct question faults[] = {
    {"backend ended 3 times", "backend-kill-storm",
        {LOAD, "faults=[{at: 1s, every: 2s, until: 5500ms, do: terminate-backend, target: "
               "collector}]"},
        true},
    {"consumer killed 3 times", "collector-killed",
        {LOAD, "faults=[{at: 1s, every: 2s, until: 5500ms, do: kill-collector}]"}, true},
    // Ends only the session that listens. Some queues never notice new jobs after that.
    {"listener ended", "backend-kill-storm",
        {LOAD, "faults=[{at: 2s, do: terminate-backend, target: listener}]"}, true},
    {"server killed for 0.5 s", "server-crash",
        {LOAD, "faults=[{at: 2s, do: kill-server, for: 500ms}]"}, true},
    // The client reaches the primary always at the same address, that of a proxy.
    {"standby takes over", "failover-async", {LOAD, "faults=[{at: 2s, do: promote-standby}]"},
        true},
    {"silence for 2 s", "partition",
        {LOAD, "faults=[{at: 1s, do: partition, for: 2s, reset: true}]"}, true},
    {"commits out of order", "late-commits",
        {"load=[{name: paced, for: 6s, rate: 100/s, connections: 24, hold_open: {share: 0.1, for: "
         "500ms}, rollback: 0.05}]"},
        true},
    {"a snapshot stays open", "old-snapshot",
        {LOAD, "faults=[{at: 500ms, do: old-snapshot, for: 5s}]"}, true},
};

#define FAULTS (sizeof faults / sizeof *faults)
#define COLUMNS (FIRST_FAULT + FAULTS)

const char *cells_title(size_t column)
{
    static const char *const titles[FIRST_FAULT] = {[P50] = "p50",
        [P99] = "p99",
        [WAL] = "WAL per job",
        [CPU] = "server CPU per job",
        [DEAD] = "dead tuples",
        [RATE] = "highest rate"};

    if (column < FIRST_FAULT)
        return titles[column];
    return column < COLUMNS ? faults[column - FIRST_FAULT].title : NULL;
}

// --- the questions ----------------------------------------------------------------------

static struct asking asking_of(struct field *f, size_t row, const struct question *q, int seed)
{
    const struct grid_row *r = &f->grid.rows[row];
    const struct manner *m = &f->manners[row];

    return (struct asking){.question = q,
        .subject = r->name,
        .version = r->version,
        .rate = m->rate,
        .drain_s = m->drain_s,
        .seed = seed};
}

static bool ask(struct field *f, const struct asking *a, struct answer *answer, struct err *e)
{
    return asking_ask(a, f->options, &f->answers, answer, e);
}

static void show(struct cell *c, double value, int decimals, const char *unit, int rate)
{
    size_t len;

    c->mark = isnan(value) ? CELL_EMPTY : CELL_FIGURE;
    if (isnan(value))
        snprintf(c->text, sizeof c->text, "not measured");
    else
        snprintf(c->text, sizeof c->text, "%.*f%s", decimals, value, unit);
    len = strlen(c->text);
    if (rate != ASKING_RATE)
        snprintf(c->text + len, sizeof c->text - len, " at %d/s", rate);
}

// Writes the reason into the cell when a run could not be made. False after a signal, which ends
// the whole table.
static bool note_failure(struct cell *c, const struct err *e)
{
    snprintf(c->text, sizeof c->text, "%.100s", e->text);
    return e->kind != ERR_INTERRUPTED;
}

// --- the paced load ---------------------------------------------------------------------

static bool is_sustained(const struct answer *a, double p99_ms)
{
    return a->lost == 0 && !(a->left > 0) && a->p99 < p99_ms;
}

// Finds a load that the queue sustains without a fault. It halves the load until that is so,
// because a fault says nothing about a queue that is overloaded anyway.
static bool find_pace(struct field *f, size_t row, struct err *e)
{
    struct manner *m = &f->manners[row];
    struct answer a = {0};

    for (m->rate = ASKING_RATE; m->rate >= PACE_LEAST; m->rate /= 2) {
        struct asking asking = asking_of(f, row, &paced, 1);
        if (!ask(f, &asking, &a, e)) {
            m->unreachable = true;
            return note_failure(&f->grid.rows[row].cells[P50], e);
        }
        if (is_sustained(&a, PACED_P99_MS))
            return true;
    }
    m->rate = 0;
    return true;
}

static bool is_asked(const struct field *f, size_t row)
{
    return !f->grid.rows[row].absent[0] && !f->manners[row].unreachable && f->manners[row].rate > 0;
}

static void show_paced(struct field *f, size_t row, struct answer *rounds, size_t count)
{
    static const struct {
        size_t at;
        int decimals;
        const char *unit;
    } columns[] = {[P50] = {offsetof(struct answer, p50), 1, " ms"},
        [P99] = {offsetof(struct answer, p99), 1, " ms"},
        [WAL] = {offsetof(struct answer, wal), 0, " B"},
        [CPU] = {offsetof(struct answer, cpu_ms), 2, " ms"},
        [DEAD] = {offsetof(struct answer, dead), 0, ""}};
    struct asking asking = asking_of(f, row, &paced, 1);
    struct cell *cells = f->grid.rows[row].cells;
    double values[ROUNDS];

    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        for (size_t i = 0; i < count; i++)
            values[i] = *(double *)(void *)((char *)&rounds[i] + columns[c].at);
        show(&cells[c], stats_median(values, count), columns[c].decimals, columns[c].unit,
            asking.rate);
        asking_command(&asking, cells[c].command, sizeof cells[c].command);
    }
}

// Makes the further rounds of the paced run. All subjects have had the first round before, which
// found the pace.
static bool ask_rounds(struct field *f, struct err *e)
{
    const int rounds = f->options->field.quick ? 1 : ROUNDS;
    struct answer answers[ROUNDS];

    for (int round = 2; round <= rounds; round++) {
        for (size_t row = 0; row < f->grid.row_count; row++) {
            struct asking asking = asking_of(f, row, &paced, round);
            if (is_asked(f, row) && !ask(f, &asking, &answers[0], e))
                return false;
        }
    }
    for (size_t row = 0; row < f->grid.row_count; row++) {
        for (int round = 1; is_asked(f, row) && round <= rounds; round++) {
            struct asking asking = asking_of(f, row, &paced, round);
            if (!ask(f, &asking, &answers[round - 1], e))
                return false;
        }
        if (is_asked(f, row))
            show_paced(f, row, answers, (size_t)rounds);
    }
    return true;
}

// --- the faults -------------------------------------------------------------------------

static struct fault_outcome outcome_of(const struct answer *a, const struct manner *m)
{
    return (struct fault_outcome){
        .lost = a->lost,
        .again = a->again,
        .left = a->left,
        .exits = a->exits,
        .recovery_ms = a->recovery_ms,
        .judged = a->judged > 0,
        .missed = a->planned > 0 && a->struck == 0,
        .may_exit = m->may_exit,
        .retry_s = m->retry_s,
    };
}

static void tell(struct cell *c, int seed, const struct fault_outcome *o)
{
    size_t len = strlen(c->told);

    len += (size_t)snprintf(
        c->told + len, sizeof c->told - len, "%sseed %d: ", seed == 1 ? "" : "; ", seed);
    if (len < sizeof c->told)
        fault_outcome_tell(o, c->told + len, sizeof c->told - len);
}

// Repeats a bad result with two other seeds, and reports all three.
static bool try_again(struct field *f, size_t row, const struct question *q, struct cell *c,
    struct fault_outcome *first, struct err *e)
{
    struct answer a;

    tell(c, 1, first);
    first->runs = first->bad = 1;
    for (int seed = 2; seed <= ROUNDS; seed++) {
        struct asking asking = asking_of(f, row, q, seed);
        if (!ask(f, &asking, &a, e))
            return false;
        struct fault_outcome again = outcome_of(&a, &f->manners[row]);
        first->runs++;
        first->bad += fault_outcome_is_bad(&again);
        tell(c, seed, &again);
    }
    return true;
}

static bool fill_fault(struct field *f, size_t row, size_t i, struct err *e)
{
    struct cell *c = &f->grid.rows[row].cells[FIRST_FAULT + i];
    struct asking asking = asking_of(f, row, &faults[i], 1);
    struct answer a;

    asking_command(&asking, c->command, sizeof c->command);
    if (!ask(f, &asking, &a, e))
        return note_failure(c, e);
    struct fault_outcome outcome = outcome_of(&a, &f->manners[row]);
    if (fault_outcome_is_bad(&outcome) && !try_again(f, row, &faults[i], c, &outcome, e))
        return note_failure(c, e);
    grid_fault_cell(c, &outcome);
    if (c->mark != CELL_BAD)
        c->told[0] = '\0';
    return true;
}

static bool fill_faults(struct field *f, struct err *e)
{
    for (size_t i = 0; i < FAULTS; i++) {
        for (size_t row = 0; row < f->grid.row_count; row++) {
            if (is_asked(f, row) && !fill_fault(f, row, i, e))
                return false;
        }
    }
    return true;
}

// --- the highest rate -------------------------------------------------------------------

// A rate is sustained when nothing is left 3 s after the load and p99 is below a second.
static bool sustains(
    struct field *f, size_t row, int rate, int seed, bool *sustained, struct err *e)
{
    static const struct question burst = {"highest rate", "steady", {"load.0.for=4s"}, false};
    struct cell *c = &f->grid.rows[row].cells[RATE];
    struct asking asking = asking_of(f, row, &burst, seed);
    struct answer a;

    asking.rate = rate;
    asking.drain_s = 3;
    if (!ask(f, &asking, &a, e))
        return false;
    *sustained = is_sustained(&a, 1000);
    if (*sustained) {
        asking_command(&asking, c->command, sizeof c->command);
        show(c, rate, 0, "/s", ASKING_RATE);
    }
    return true;
}

// Finds the highest rate: multiplies by four until a rate fails, then halves the gap twice. The
// highest rate must hold with another seed, too; otherwise the rate below it counts.
static bool search_rate(struct field *f, size_t row, int *good, int *before, struct err *e)
{
    int bad = RATE_MOST * 4;
    bool sustained = true;

    for (int rate = RATE_LEAST; sustained && rate <= RATE_MOST; rate *= 4) {
        if (!sustains(f, row, rate, 1, &sustained, e))
            return false;
        *before = sustained ? *good : *before;
        *(sustained ? good : &bad) = rate;
    }
    for (int i = 0; *good > 0 && i < 2; i++) {
        int rate = *good + (bad - *good) / 2;
        if (!sustains(f, row, rate, 1, &sustained, e))
            return false;
        *before = sustained ? *good : *before;
        *(sustained ? good : &bad) = rate;
    }
    return true;
}

static bool fill_rate(struct field *f, size_t row, struct err *e)
{
    struct cell *c = &f->grid.rows[row].cells[RATE];
    int good = 0, before = 0;
    bool again = true;

    if (!search_rate(f, row, &good, &before, e) ||
        (good > 0 && !sustains(f, row, good, 2, &again, e)))
        return note_failure(c, e);
    if (!again && before > 0 && !sustains(f, row, before, 2, &again, e))
        return note_failure(c, e);
    if (good == 0 || !again) {
        c->command[0] = '\0';
        snprintf(c->text, sizeof c->text, "below %d/s", good == 0 ? RATE_LEAST : good);
    }
    return true;
}

static bool fill_rates(struct field *f, struct err *e)
{
    for (size_t row = 0; row < f->grid.row_count; row++) {
        snprintf(f->grid.rows[row].cells[RATE].text, sizeof f->grid.rows[row].cells[RATE].text,
            "not asked");
        if (is_asked(f, row) && !f->options->field.quick && !fill_rate(f, row, e))
            return false;
    }
    return true;
}

// --- all of them ------------------------------------------------------------------------

// Fills in the cells. After an interrupt those that are filled in stay.
bool cells_fill(struct field *f, struct err *e)
{
    for (size_t row = 0; row < f->grid.row_count; row++) {
        if (!f->grid.rows[row].absent[0] && !find_pace(f, row, e))
            return false;
        if (!f->grid.rows[row].absent[0] && f->manners[row].rate == 0)
            snprintf(f->grid.rows[row].cells[P50].text, sizeof f->grid.rows[row].cells[P50].text,
                "does not sustain %d/s here", PACE_LEAST);
    }
    return ask_rounds(f, e) && fill_faults(f, e) && fill_rates(f, e);
}
