// Asks the questions in their order, and makes cells of the answers.
//
// First each subject gets its pace, the load that it sustains without a fault: the load is halved
// until the subject sustains it. Then each question in turn is put to all subjects before the next
// question follows, so that a machine which gets slower does so for all subjects. If a cell's run
// breaks a promise, the question is asked again with further seeds, because one broken run may be
// chance. If the first run keeps the promises, there are no further runs unless --repeat asks for
// them, because ten times as many runs would take a day.
//
// Each answer is stored under a key that says what was run (experiment_key). So a table that was
// interrupted, or whose questions were changed, makes only the runs that are missing.
//
// The pace and the faults stay together in this file, because the pace decides the load of the
// other runs, and plan_runs must count what each part will ask. The search for the highest rate
// cannot be counted before, so it is apart (rates.c).
#include "field/cells.h"

#include <math.h>

#include "field/asking.h"
#include "field/rates.h"
#include "measure/stats.h"
#include "report/forecast.h"

#define PACE_LEAST 12     // no lower rate is tried as a pace
#define ROUNDS 3          // number of paced runs, whose medians are shown
#define PACED_P99_MS 2000 // a paced run is sustained only with a p99 below this
#define CLAIM_MOST_S 60   // longest claim that a run can outlast

#define SEEDS 10      // runs of a cell in which a run broke a promise
#define SEEDS_QUICK 3 // the same with --quick

static const char *const speed_titles[SPEEDS] = {[SPEED_P50] = "p50",
    [SPEED_P99] = "p99",
    [SPEED_WAL] = "WAL per job",
    [SPEED_CPU] = "server CPU per job",
    [SPEED_DEAD] = "dead tuples",
    [SPEED_RATE] = "highest rate"};

const size_t cells_speeds = SPEEDS;

const char *cells_title(size_t column)
{
    if (column < question_count)
        return questions[column].title;
    return column < question_count + SPEEDS ? speed_titles[column - question_count] : NULL;
}

// Finds the answer of a run in the stored ones. False: the run is still to be made.
static bool find_stored_answer(
    const struct field_run *f, const struct experiment *x, struct answer *answer)
{
    char key[ANSWERS_KEY_MAX];

    experiment_key(x, key);
    return answer_file_find(&f->answers, key, answer);
}

// --- the paced load ---------------------------------------------------------------------

// Finds the subject's pace: halves m->rate until the subject sustains this rate without a fault. A
// fault would say nothing about a queue that is overloaded anyway. m->rate becomes 0 when even the
// lowest rate is too high. False only after a signal.
static bool find_pace(struct field_run *f, size_t row, struct err *e)
{
    struct manner *m = &f->manners[row];
    struct answer a = {0};

    for (m->rate = EXPERIMENT_RATE; m->rate >= PACE_LEAST; m->rate /= 2) {
        struct experiment x = asking_experiment(f, row, question_paced, 1);
        if (!asking_answer(f, row, &x, m->rate == EXPERIMENT_RATE, &a, e)) {
            struct cell *c = cell_of_speed(f, row, SPEED_P50);
            // When shards are merged, a shard that did not finish may lack this answer and still
            // have others, so go on asking for them.
            m->unreachable = !f->options->merged;
            experiment_command(&x, c->command, sizeof c->command);
            // Tell the reason in both tables, that of the speeds and that of the verdicts.
            return cell_note_failure(c, e) && cell_note_failure(&f->grid.rows[row].cells[0], e);
        }
        // The first rate that is sustained ends the search. Its run counts as the first paced round
        // and is not repeated.
        if (answer_is_sustained(&a, PACED_P99_MS))
            return true;
    }
    m->rate = 0;
    return true;
}

// Fills in the row's speeds without a fault: the medians of `count` rounds.
static void show_paced(struct field_run *f, size_t row, struct answer *rounds, size_t count)
{
    static const struct {
        size_t at;
        int decimals;
        const char *unit;
    } columns[] = {[SPEED_P50] = {offsetof(struct answer, p50), 1, " ms"},
        [SPEED_P99] = {offsetof(struct answer, p99), 1, " ms"},
        [SPEED_WAL] = {offsetof(struct answer, wal), 0, " B"},
        [SPEED_CPU] = {offsetof(struct answer, cpu_ms), 2, " ms"},
        [SPEED_DEAD] = {offsetof(struct answer, dead), 0, ""}};
    struct experiment x = asking_experiment(f, row, question_paced, 1);
    struct cell *cells = cell_of_speed(f, row, SPEED_P50);
    double values[ROUNDS];

    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        // The median is taken for each figure separately, because a round that was disturbed in one
        // figure may be good in another.
        for (size_t i = 0; i < count; i++)
            values[i] = *(double *)(void *)((char *)&rounds[i] + columns[c].at);
        cell_show_figure(
            &cells[c], stats_median(values, count), columns[c].decimals, columns[c].unit, x.rate);
        experiment_command(&x, cells[c].command, sizeof cells[c].command);
    }
}

// Makes the rounds of the paced run from the second on, then shows the medians of all rounds.
// find_pace has made the first round. False only after a signal.
static bool ask_rounds(struct field_run *f, struct err *e)
{
    const int rounds = f->options->field.quick ? 1 : ROUNDS;
    struct answer answers[ROUNDS] = {0};

    for (int round = 2; round <= rounds; round++) {
        for (size_t row = 0; row < f->grid.row_count; row++) {
            struct experiment x = asking_experiment(f, row, question_paced, round);
            struct cell *c = cell_of_speed(f, row, SPEED_P50);
            // The answer is stored and found again below, so here it is not needed. It is missing
            // when a merged shard did not finish.
            if (!asking_possible(f, row) || asking_answer(f, row, &x, true, &answers[0], e) ||
                (f->options->merged && e->kind == ERR_SKIP))
                continue;
            // The speeds are medians of all rounds, so a queue that lacks one gets none.
            f->manners[row].unreachable = true;
            experiment_command(&x, c->command, sizeof c->command);
            if (!cell_note_failure(c, e))
                return false;
        }
    }
    for (size_t row = 0; row < f->grid.row_count; row++) {
        bool found = asking_possible(f, row);
        for (int round = 1; found && round <= rounds; round++) {
            struct experiment x = asking_experiment(f, row, question_paced, round);
            found = find_stored_answer(f, &x, &answers[round - 1]);
        }
        // A row without all rounds gets no speeds, and the search for its rate leaves it out.
        if (found)
            show_paced(f, row, answers, (size_t)rounds);
        else
            f->manners[row].unreachable = true;
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

// Returns why a question does not apply to a subject; NULL: it applies. Only the questions about
// recovery can be asked of mailproof's own collector, which has no handlers.
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

// True when a cell wants a run with this seed: --repeat asks for it, or an earlier run broke a
// promise, or the answer is stored (an earlier command may have asked for more seeds).
static bool wants_seed(struct field_run *f, size_t row, const struct question *q, int seed,
    const struct outcome *outcome)
{
    const struct experiment x = asking_experiment(f, row, q, seed);
    int wanted = f->options->repeat > 1 ? f->options->repeat : 1;
    int when_broken = f->options->field.quick ? SEEDS_QUICK : SEEDS;
    struct answer stored;

    // A fault that finds no target in this queue finds none with another seed.
    if (outcome->missed && outcome->judged == 0)
        return false;
    if (outcome->broken > 0 && wanted < when_broken)
        wanted = when_broken;
    return seed <= wanted || find_stored_answer(f, &x, &stored);
}

// Asks one subject one question, once or with several seeds. The cell tells in how many runs a
// promise was broken. False only after a signal.
static bool fill_fault(struct field_run *f, size_t row, size_t i, struct err *e)
{
    const struct question *q = &questions[i];
    const struct terms *terms = &f->manners[row].terms;
    const char *why = why_not_asked(f, row, q);
    struct cell *c = &f->grid.rows[row].cells[i];
    struct outcome outcome = OUTCOME_INIT;
    struct answer a = {0};
    bool made = true, goes_on = true;

    outcome.asks = q->asks;
    if (why) {
        snprintf(c->text, sizeof c->text, "not asked: %s", why);
        return true;
    }
    for (int seed = 1; wants_seed(f, row, q, seed, &outcome); seed++) {
        struct experiment x = asking_experiment(f, row, q, seed);
        bool planned = seed <= f->options->repeat || seed == 1; // plan_row has counted this run
        if (seed == 1)
            experiment_command(&x, c->command, sizeof c->command);
        made = asking_answer(f, row, &x, planned, &a, e);
        if (!made) {
            goes_on = cell_note_failure(c, e);
            break;
        }
        struct seen seen = answer_seen(&a, q);
        outcome_add(&outcome, &seen, terms);
        tell_seed(c, seed, &seen, terms);
    }
    // A cell without a broken promise does not list its seeds.
    if (outcome.broken == 0)
        c->told[0] = '\0';
    // If the last run could not be made, the cell shows the runs before it. If none of these was
    // judged, it keeps the note of the failure.
    if (made || outcome.judged > 0)
        outcome_cell(&outcome, terms, c);
    return goes_on;
}

static bool fill_faults(struct field_run *f, struct err *e)
{
    for (size_t i = 0; i < question_count; i++) {
        for (size_t row = 0; row < f->grid.row_count; row++) {
            if (asking_possible(f, row) && !fill_fault(f, row, i, e))
                return false;
        }
    }
    return true;
}

// --- all cells ----------------------------------------------------------------------------

// Writes "not asked" or "not measured" into each cell that is still empty.
static void label_empty_cells(struct field_run *f)
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

// Counts a run as planned. Returns how many runs are to be made for it: 0 if its answer is stored,
// else 1.
static size_t plan_run(struct field_run *f, size_t row, const struct question *q, int seed)
{
    struct experiment x = asking_experiment(f, row, q, seed);
    struct answer stored;

    f->planned++;
    return !find_stored_answer(f, &x, &stored);
}

// Adds the runs of one row, a queue, to f->planned. Returns how many of them have no stored answer.
static size_t plan_row(struct field_run *f, size_t row, int rounds)
{
    struct manner *m = &f->manners[row];
    struct answer paced = {0};
    const int seeds = f->options->repeat > 1 ? f->options->repeat : 1;
    size_t left = 0;

    // Find the rate as find_pace does, but by stored answers only: halve it until the queue
    // sustains it, or until no answer is stored for it.
    for (m->rate = EXPERIMENT_RATE; m->rate >= PACE_LEAST; m->rate /= 2) {
        struct experiment x = asking_experiment(f, row, question_paced, 1);
        if (!find_stored_answer(f, &x, &paced) || answer_is_sustained(&paced, PACED_P99_MS))
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
        for (int seed = 1; !why_not_asked(f, row, &questions[i]) && seed <= seeds; seed++)
            left += plan_run(f, row, &questions[i], seed);
    }
    return left;
}

// Counts the planned runs of installed subjects, which are rounds of the paced run and questions,
// and forecasts those without a stored answer.
static void plan_runs(struct field_run *f)
{
    // The first round finds the pace. The speeds are medians of all rounds; --quick measures them
    // in one, and --verdicts wants none.
    const bool one_round = f->options->field.quick || f->options->field.verdicts;
    struct forecast forecast = {0};
    size_t left = 0;

    for (size_t row = 0; row < f->grid.row_count; row++) {
        if (!f->grid.rows[row].absent[0])
            left += plan_row(f, row, one_round ? 1 : ROUNDS);
    }
    // The forecast leaves out the search for the highest rate, because its number of runs cannot be
    // foreseen.
    forecast_add(
        &forecast, left, QUESTION_NS, QUESTION_TOKENS, options_start_servers(f->options) ? 1 : 0);
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

// Fills all columns of the rows that are installed. The load comes first: each row is asked at a
// rate that it sustains (find_pace), and 0 means that it sustains none.
static bool ask_all(struct field_run *f, struct err *e)
{
    for (size_t row = 0; row < f->grid.row_count; row++) {
        if (f->grid.rows[row].absent[0])
            continue;
        if (!find_pace(f, row, e))
            return false;
        if (f->manners[row].rate == 0)
            note_too_slow(&f->grid.rows[row].cells[0], cell_of_speed(f, row, SPEED_P50));
    }
    return fill_faults(f, e) &&
           (f->options->field.verdicts || (ask_rounds(f, e) && rates_fill(f, e)));
}

// Even after a signal, the empty cells get a text.
bool cells_fill(struct field_run *f, struct err *e)
{
    plan_runs(f);
    bool ok = ask_all(f, e);
    label_empty_cells(f);
    return ok;
}
