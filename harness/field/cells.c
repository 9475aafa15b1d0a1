// Asks the questions in their order, and makes cells of the answers.
//
// First each subject gets its pace, the load that it sustains without a fault: the load is halved
// until the subject sustains it. Then each question in turn is put to all subjects before the next
// question follows, so that a machine which gets slower does so for all subjects. If a cell's first
// run breaks a promise, the question is asked again with further seeds, because one broken run may
// be chance. If the first run keeps the promises, there are no further runs, because ten times as
// many runs would take a day.
//
// Each answer is stored under a key that says what was run (experiment_key). So a table that was
// interrupted, or whose questions were changed, makes only the runs that are missing.
//
// All parts stay together in this file, because the pace decides the load of the other runs, and
// plan_runs must count what each part will ask.
#include "field/cells.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "field/experiment.h"
#include "field/prose.h"
#include "options/command_record.h"
#include "measure/stats.h"
#include "report/forecast.h"

#define RATE_LEAST 100    // the search for the highest rate begins with this rate
#define RATE_MOST 6400    // and multiplies it by four up to this rate
#define PACE_LEAST 12     // no lower rate is tried as a pace
#define ROUNDS 3          // number of paced runs, whose medians are shown
#define PACED_P99_MS 2000 // a paced run with a p99 from here on does not count as sustained
#define CLAIM_MOST_S 60   // longest claim that a run can outlast

#define SEEDS 10 // most runs of a cell whose first run broke a promise
#define SEEDS_QUICK 3

enum speed { P50, P99, WAL, CPU, DEAD, RATE, SPEEDS };

static const char *const speed_titles[SPEEDS] = {[P50] = "p50",
    [P99] = "p99",
    [WAL] = "WAL per job",
    [CPU] = "server CPU per job",
    [DEAD] = "dead tuples",
    [RATE] = "highest rate"};

const size_t cells_speeds = SPEEDS;

const char *cells_title(size_t column)
{
    if (column < question_count)
        return questions[column].title;
    return column < question_count + SPEEDS ? speed_titles[column - question_count] : NULL;
}

// Returns the cell of a speed; the speeds are the columns after the questions.
static struct cell *speed_cell(struct field_run *f, size_t row, enum speed speed)
{
    return &f->grid.rows[row].cells[question_count + speed];
}

// --- the questions ----------------------------------------------------------------------

static struct experiment experiment_of(
    struct field_run *f, size_t row, const struct question *q, int seed)
{
    const struct grid_row *r = &f->grid.rows[row];
    const struct manner *m = &f->manners[row];

    return (struct experiment){.question = q,
        .subject = r->name,
        .version = r->version,
        .rate = m->rate,
        .drain_s = m->drain_s,
        .claim_s = m->claim_s,
        .seed = seed};
}

// Returns what an answer says about its question. Jobs that always fail do not count as left,
// because a queue need not finish them; their cell tells what became of them.
static struct seen seen_of(const struct answer *a, enum asks asks)
{
    const double failing = a->failing > 0 ? a->failing : 0;
    // No job was in the hand of the worker when it died, so nothing could be run again.
    const bool none_in_hand = asks == ASKS_RERUN && !(a->in_hand > 0);

    return (struct seen){
        .lost = a->lost,
        .left = a->left - failing,
        .rerun_ms = a->again_ms,
        .at_once = a->at_once,
        .attempts = a->attempts,
        .gap_min_ms = a->gap_min_ms,
        .gap_max_ms = a->gap_max_ms,
        .failing = failing,
        .failed = a->failed,
        .retried = a->left,
        .taken = a->taken,
        .again = a->again,
        .exits = a->exits,
        .recovery_ms = a->recovery_ms,
        .judged = a->judged > 0,
        .deaf = a->deaf > 0,
        .missed = (a->planned > 0 && a->struck == 0) || none_in_hand,
    };
}

// Writes to standard error how far the table is, such as "3/28 pg-boss, server killed for 0.5 s,
// seed 1: kept; 4 min left".
static void tell_progress(struct field_run *f, size_t row, const struct experiment *x,
    const struct answer *answer, int64_t took_ns)
{
    struct seen seen = seen_of(answer, x->question->asks);
    char text[200] = "";

    f->spent_ns += took_ns;
    f->runs++;
    size_t left = f->planned > f->done ? f->planned - f->done : 0;
    outcome_tell(&seen, &f->manners[row].terms, text, sizeof text);
    fprintf(stderr, "%zu/%zu %s, %s, seed %d: %s; %.0f min left\n", f->done, f->planned, x->subject,
        x->question->title, x->seed, seen.missed ? "no target" : text,
        ceil((double)f->spent_ns / (double)f->runs * (double)left / 60 / NS_PER_S));
}

// Adds the answer of a run that was made now to the shard's record. The path of the result folder
// is written relative to --out.
static bool record_answer(struct field_run *f, size_t row, const struct experiment *x,
    const struct answer *answer, struct err *e)
{
    struct answer relative = *answer;
    char key[EXPERIMENT_KEY_MAX];

    experiment_key(x, key);
    snprintf(relative.folder, sizeof relative.folder, "%s",
        command_record_below(answer->folder, f->options->out));
    json_t *line = answers_line(key, &relative);
    if (line)
        json_object_set_new(line, "n", json_integer((json_int_t)f->items[row]));
    return record_add(&f->record, line, e);
}

// Adds to the table's head the day and the version of mailproof that an answer comes from.
static void tell_origin(struct grid *g, const struct answer *a)
{
    if (!a->day[0])
        return;
    // Until the first answer the head names this version and today.
    if (!g->since[0]) {
        snprintf(g->program, sizeof g->program, "mailproof %s", a->program);
        snprintf(g->since, sizeof g->since, "%s", a->day);
    }
    if (strcmp(a->day, g->since) < 0)
        snprintf(g->since, sizeof g->since, "%s", a->day);
    if (strcmp(a->day, g->until) > 0)
        snprintf(g->until, sizeof g->until, "%s", a->day);
    size_t len = strlen(g->program);
    if (!strstr(g->program, a->program))
        snprintf(g->program + len, sizeof g->program - len, ", %s", a->program);
    bool one_day = strcmp(g->since, g->until) == 0;
    snprintf(g->when, sizeof g->when, "%s%s%s", g->since, one_day ? "" : " to ",
        one_day ? "" : g->until);
}

// Finds the stored answer to a question, or makes the run. A run that plan_runs did not foresee,
// because an earlier run went badly or a rate is searched, adds to the number of planned runs.
// False when the run could not be made.
static bool ask_question(struct field_run *f, size_t row, const struct experiment *x, bool planned,
    struct answer *answer, struct err *e)
{
    int64_t began_ns = clock_now_ns();
    bool fresh;

    f->planned += !planned;
    f->done++;
    if (!experiment_answer(x, f->options, &f->answers, answer, &fresh, e))
        return false;
    if (fresh && !record_answer(f, row, x, answer, e))
        return false;
    tell_origin(&f->grid, answer);
    if (answer->postgres > 0)
        snprintf(f->grid.postgres, sizeof f->grid.postgres, "%d.%d", (int)answer->postgres / 10000,
            (int)answer->postgres % 10000);
    if (fresh && !f->options->quiet)
        tell_progress(f, row, x, answer, clock_now_ns() - began_ns);
    return true;
}

// Writes a figure into one cell, with the rate if that is not the usual one; NAN: not measured.
static void show_figure(struct cell *c, double value, int decimals, const char *unit, int rate)
{
    size_t len;

    c->mark = isnan(value) ? CELL_EMPTY : CELL_FIGURE;
    if (isnan(value))
        snprintf(c->text, sizeof c->text, "not measured");
    else
        snprintf(c->text, sizeof c->text, "%.*f%s", decimals, value, unit);
    len = strlen(c->text);
    if (rate != EXPERIMENT_RATE)
        snprintf(c->text + len, sizeof c->text - len, " at %d/s", rate);
}

// Writes into the cell why a run could not be made. False when the reason is a signal, which ends
// the whole table.
static bool note_failure(struct cell *c, const struct err *e)
{
    const char *before = e->kind == ERR_SKIP ? "not asked: " : "not run: ";
    char why[sizeof e->text];

    snprintf(why, sizeof why, "%s",
        e->kind == ERR_INTERRUPTED ? "the record was ended before" : e->text);
    prose_drop_folders(why);
    snprintf(c->text, sizeof c->text, "%s%.150s", before, why);
    return e->kind != ERR_INTERRUPTED;
}

// --- the paced load ---------------------------------------------------------------------

// True when no job was lost or left over after the load.
static bool keeps_up(const struct answer *a)
{
    return a->lost == 0 && !(a->left > 0);
}

// True when the subject kept up with the load, and p99 was below a limit.
static bool is_sustained(const struct answer *a, double p99_ms)
{
    return keeps_up(a) && a->p99 < p99_ms;
}

// Finds the subject's pace: halves m->rate until the subject sustains this rate without a fault. A
// fault would say nothing about a queue that is overloaded anyway. m->rate becomes 0 when even the
// lowest rate is too high. False only after a signal.
static bool find_pace(struct field_run *f, size_t row, struct err *e)
{
    struct manner *m = &f->manners[row];
    struct answer a = {0};

    for (m->rate = EXPERIMENT_RATE; m->rate >= PACE_LEAST; m->rate /= 2) {
        struct experiment x = experiment_of(f, row, question_paced, 1);
        if (!ask_question(f, row, &x, m->rate == EXPERIMENT_RATE, &a, e)) {
            struct cell *c = speed_cell(f, row, P50);
            // When shards are merged, a shard that did not finish may lack this answer and still
            // have others, so go on asking for them.
            m->unreachable = !f->options->merged;
            experiment_command(&x, c->command, sizeof c->command);
            return note_failure(c, e) && note_failure(&f->grid.rows[row].cells[0], e);
        }
        // The first rate that is sustained ends the search. Its run counts as the first paced round
        // and is not repeated.
        if (is_sustained(&a, PACED_P99_MS))
            return true;
    }
    m->rate = 0;
    return true;
}

// True when the subject of a row is installed and has a pace, so it can be asked.
static bool can_ask(const struct field_run *f, size_t row)
{
    return !f->grid.rows[row].absent[0] && !f->manners[row].unreachable && f->manners[row].rate > 0;
}

// Fills in the cells of the paced load with the medians of the rounds.
static void show_paced(struct field_run *f, size_t row, struct answer *rounds, size_t count)
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
    struct experiment x = experiment_of(f, row, question_paced, 1);
    struct cell *cells = speed_cell(f, row, P50);
    double values[ROUNDS];

    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        // The median is taken for each figure separately, because a round that was disturbed in one
        // figure may be good in another.
        for (size_t i = 0; i < count; i++)
            values[i] = *(double *)(void *)((char *)&rounds[i] + columns[c].at);
        show_figure(
            &cells[c], stats_median(values, count), columns[c].decimals, columns[c].unit, x.rate);
        experiment_command(&x, cells[c].command, sizeof cells[c].command);
    }
}

// Asks for one round of the paced run. If the answer is missing because a merged shard did not
// finish, the row gets no speeds and the table goes on. False: the table cannot go on.
static bool ask_round(struct field_run *f, size_t row, const struct experiment *x,
    struct answer *answer, struct err *e)
{
    if (ask_question(f, row, x, true, answer, e))
        return true;
    f->manners[row].unreachable = true;
    return f->options->merged && e->kind == ERR_SKIP;
}

// Makes the rounds of the paced run from the second on, then shows the medians of all rounds. The
// first round was made before for all subjects, to find their pace.
static bool ask_rounds(struct field_run *f, struct err *e)
{
    const int rounds = f->options->field.quick ? 1 : ROUNDS;
    struct answer answers[ROUNDS];

    for (int round = 2; round <= rounds; round++) {
        for (size_t row = 0; row < f->grid.row_count; row++) {
            struct experiment x = experiment_of(f, row, question_paced, round);
            // The answer is stored and asked for again below, so here it is not needed.
            if (can_ask(f, row) && !ask_round(f, row, &x, &answers[0], e))
                return false;
        }
    }
    for (size_t row = 0; row < f->grid.row_count; row++) {
        for (int round = 1; can_ask(f, row) && round <= rounds; round++) {
            struct experiment x = experiment_of(f, row, question_paced, round);
            if (!ask_round(f, row, &x, &answers[round - 1], e))
                return false;
        }
        if (can_ask(f, row))
            show_paced(f, row, answers, (size_t)rounds);
    }
    return true;
}

// --- the faults -------------------------------------------------------------------------

// Appends to the cell's `told` what the run with this seed showed.
static void tell_seed(struct cell *c, int seed, const struct seen *seen, const struct terms *t)
{
    size_t len = strlen(c->told);

    len += (size_t)snprintf(
        c->told + len, sizeof c->told - len, "%sseed %d: ", seed == 1 ? "" : "; ", seed);
    if (len < sizeof c->told)
        outcome_tell(seen, t, c->told + len, sizeof c->told - len);
}

// Returns why a question does not apply to a subject; NULL: it applies.
static const char *why_not_asked(const struct field_run *f, size_t row, const struct question *q)
{
    const int claim_s = f->manners[row].claim_s;

    if (q->asks != ASKS_RECOVERY && f->grid.rows[row].ours)
        return "its reader is no handler";
    // claim_s 0: a job belongs for ever to the worker that took it.
    if (q->asks == ASKS_AT_ONCE && claim_s == 0)
        return "no other worker gets a job while its handler runs";
    return q->asks == ASKS_AT_ONCE && claim_s > CLAIM_MOST_S ? "its claim lasts longer than a run"
                                                             : NULL;
}

// Asks one subject one question. If the first run breaks a promise, further runs with other seeds
// follow, and the cell tells in how many runs a promise was broken. False only after a signal.
static bool fill_fault(struct field_run *f, size_t row, size_t i, struct err *e)
{
    const int seeds = f->options->field.quick ? SEEDS_QUICK : SEEDS;
    const struct terms *terms = &f->manners[row].terms;
    const char *why = why_not_asked(f, row, &questions[i]);
    struct cell *c = &f->grid.rows[row].cells[i];
    struct outcome outcome = OUTCOME_INIT;
    struct answer a = {0};

    outcome.asks = questions[i].asks;
    if (why) {
        snprintf(c->text, sizeof c->text, "not asked: %s", why);
        return true;
    }
    // Once a run has broken a promise, all seeds are run; without that, only the first.
    for (int seed = 1; seed <= seeds && (seed == 1 || outcome.broken > 0); seed++) {
        struct experiment x = experiment_of(f, row, &questions[i], seed);
        if (seed == 1)
            experiment_command(&x, c->command, sizeof c->command);
        if (!ask_question(f, row, &x, seed == 1, &a, e))
            return note_failure(c, e);
        struct seen seen = seen_of(&a, questions[i].asks);
        outcome_add(&outcome, &seen, terms);
        if (outcome.broken > 0)
            tell_seed(c, seed, &seen, terms);
    }
    outcome_cell(&outcome, terms, c);
    return true;
}

static bool fill_faults(struct field_run *f, struct err *e)
{
    for (size_t i = 0; i < question_count; i++) {
        for (size_t row = 0; row < f->grid.row_count; row++) {
            if (can_ask(f, row) && !fill_fault(f, row, i, e))
                return false;
        }
    }
    return true;
}

// --- the highest rate -------------------------------------------------------------------

#define KEPT_UP " or more"

// Finds out whether a rate is sustained: no job is lost or left 3 s after the load, and p99 is
// below a second. Shows the rate in the cell if so. False when the run could not be made.
static bool try_rate(
    struct field_run *f, size_t row, int rate, int seed, bool *sustained, struct err *e)
{
    struct cell *c = speed_cell(f, row, RATE);
    struct experiment x = experiment_of(f, row, question_burst, seed);
    struct answer a;

    x.rate = rate;
    x.drain_s = 3;
    if (!ask_question(f, row, &x, false, &a, e))
        return false;
    *sustained = is_sustained(&a, 1000);
    // The cell always shows the last rate that was sustained, so that it is right even if the
    // search is interrupted.
    if (*sustained) {
        experiment_command(&x, c->command, sizeof c->command);
        show_figure(c, rate, 0, "/s", EXPERIMENT_RATE);
    } else if (rate == RATE_LEAST && keeps_up(&a)) {
        // A queue that polls once a second keeps up at this rate although its p99 is above a
        // second. "below 100/s" would wrongly call it slow.
        experiment_command(&x, c->command, sizeof c->command);
        c->mark = CELL_FIGURE;
        snprintf(c->text, sizeof c->text, "%d/s" KEPT_UP ", p99 %.0f ms", rate, a.p99);
    }
    return true;
}

// Searches the highest rate with seed 1: multiplies by four until a rate fails, then halves the gap
// twice. *good becomes the highest sustained rate, *lower the one sustained before it; 0: none.
// False when a run could not be made.
static bool search_rate(struct field_run *f, size_t row, int *good, int *lower, struct err *e)
{
    int bad = RATE_MOST * 4; // the lowest rate that failed; until one has, the next one to try
    bool sustained = true;

    for (int rate = RATE_LEAST; sustained && rate <= RATE_MOST; rate *= 4) {
        if (!try_rate(f, row, rate, 1, &sustained, e))
            return false;
        // fill_rate needs the lower rate if the highest one fails with another seed.
        *lower = sustained ? *good : *lower;
        // The rate is now the highest good one or the lowest bad one.
        *(sustained ? good : &bad) = rate;
    }
    for (int i = 0; *good > 0 && i < 2; i++) {
        int rate = *good + (bad - *good) / 2;
        if (!try_rate(f, row, rate, 1, &sustained, e))
            return false;
        *lower = sustained ? *good : *lower;
        *(sustained ? good : &bad) = rate;
    }
    return true;
}

// Fills in the cell of the highest rate. This rate must be sustained with a second seed, too;
// otherwise the lower rate counts, if it is sustained with that seed. False only after a signal.
static bool fill_rate(struct field_run *f, size_t row, struct err *e)
{
    struct cell *c = speed_cell(f, row, RATE);
    int good = 0, lower = 0;
    bool confirmed = true;

    if (!search_rate(f, row, &good, &lower, e) ||
        (good > 0 && !try_rate(f, row, good, 2, &confirmed, e)))
        return note_failure(c, e);
    if (!confirmed && lower > 0 && !try_rate(f, row, lower, 2, &confirmed, e))
        return note_failure(c, e);
    // No rate counts: none was sustained, or none with both seeds. If the queue at least kept up at
    // the lowest rate, the cell says so. Otherwise all that is known is an upper bound.
    if ((good == 0 || !confirmed) && !strstr(c->text, KEPT_UP)) {
        c->command[0] = '\0';
        snprintf(c->text, sizeof c->text, "below %d/s", good == 0 ? RATE_LEAST : good);
    }
    return true;
}

static bool fill_rates(struct field_run *f, struct err *e)
{
    for (size_t row = 0; row < f->grid.row_count; row++) {
        struct cell *c = speed_cell(f, row, RATE);
        snprintf(c->text, sizeof c->text, "not asked");
        if (can_ask(f, row) && !f->options->field.quick && !fill_rate(f, row, e))
            return false;
    }
    return true;
}

// --- all of them ------------------------------------------------------------------------

// Writes "not asked" or "not measured" into each cell that is still empty.
static void name_gaps(struct field_run *f)
{
    for (size_t row = 0; row < f->grid.row_count; row++) {
        for (size_t c = 0; c < f->grid.columns; c++) {
            struct cell *cell = &f->grid.rows[row].cells[c];
            if (!cell->text[0])
                snprintf(cell->text, sizeof cell->text, "%s",
                    c < question_count ? "not asked" : "not measured");
        }
    }
}

// What the run of most questions takes, for the forecast.
#define QUESTION_NS (6 * NS_PER_S)
#define QUESTION_TOKENS 1000

// Finds the stored answer. False: the run is still to be made.
static bool find_stored(
    const struct field_run *f, const struct experiment *x, struct answer *answer)
{
    char key[EXPERIMENT_KEY_MAX];

    experiment_key(x, key);
    return answers_find(&f->answers, key, answer);
}

// Counts a run as planned. Returns how many runs are to be made for it: 0 if its answer is stored,
// else 1.
static size_t plan_run(struct field_run *f, size_t row, const struct question *q, int seed)
{
    struct experiment x = experiment_of(f, row, q, seed);
    struct answer stored;

    f->planned++;
    return !find_stored(f, &x, &stored);
}

// Adds the runs of one row, a queue, to f->planned. Returns how many of them have no stored answer.
static size_t plan_row(struct field_run *f, size_t row, int rounds)
{
    struct manner *m = &f->manners[row];
    struct answer paced = {0};
    size_t left = 0;

    // Find the rate as find_pace does, but by stored answers only: halve it until the queue
    // sustains it, or until no answer is stored for it.
    for (m->rate = EXPERIMENT_RATE; m->rate >= PACE_LEAST; m->rate /= 2) {
        struct experiment x = experiment_of(f, row, question_paced, 1);
        if (!find_stored(f, &x, &paced) || is_sustained(&paced, PACED_P99_MS))
            break;
    }
    // By the stored answers the queue sustains no rate, so it is asked nothing else. The search
    // counts as one run.
    if (m->rate < PACE_LEAST) {
        f->planned++;
        return 0;
    }
    for (int round = 1; round <= rounds; round++)
        left += plan_run(f, row, question_paced, round);
    for (size_t i = 0; i < question_count; i++) {
        if (!why_not_asked(f, row, &questions[i]))
            left += plan_run(f, row, &questions[i], 1);
    }
    return left;
}

// Counts the planned runs of all subjects, and tells about how long the runs will take that are
// still to be made.
static void plan_runs(struct field_run *f)
{
    const bool one_round = f->options->field.quick || f->options->field.verdicts;
    struct forecast forecast = {0};
    size_t left = 0;

    for (size_t row = 0; row < f->grid.row_count; row++) {
        if (!f->grid.rows[row].absent[0])
            left += plan_row(f, row, one_round ? 1 : ROUNDS);
    }
    // The forecast leaves out the search for the highest rate, because its number of runs cannot be
    // foreseen.
    forecast_add(&forecast, left, QUESTION_NS, QUESTION_TOKENS, 1);
    if (left > 0 && !f->options->quiet && !f->options->merged)
        forecast_tell(&forecast, "run", "runs");
}

// Fills in the cells of a queue that sustains no load. Such a queue is asked nothing, because its
// own delays could not be told from those of a fault.
static void note_too_slow(struct cell *verdicts, struct cell *speed)
{
    for (size_t i = 0; i < question_count; i++)
        snprintf(verdicts[i].text, sizeof verdicts[i].text,
            "not asked: it does not sustain %d/s here", PACE_LEAST);
    snprintf(speed->text, sizeof speed->text, "does not sustain %d/s here", PACE_LEAST);
}

static bool ask_all(struct field_run *f, struct err *e)
{
    for (size_t row = 0; row < f->grid.row_count; row++) {
        if (f->grid.rows[row].absent[0])
            continue;
        if (!find_pace(f, row, e))
            return false;
        if (f->manners[row].rate == 0)
            note_too_slow(&f->grid.rows[row].cells[0], speed_cell(f, row, P50));
    }
    return fill_faults(f, e) &&
           (f->options->field.verdicts || (ask_rounds(f, e) && fill_rates(f, e)));
}

// Even after an error, the empty cells get a text.
bool cells_fill(struct field_run *f, struct err *e)
{
    plan_runs(f);
    bool ok = ask_all(f, e);
    name_gaps(f);
    return ok;
}
