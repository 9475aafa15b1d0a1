#include "field/asking.h"

#include <math.h>

#include "field/prose.h"
#include "options/command_record.h"

struct cell *cell_of_speed(struct field_run *f, size_t row, enum speed speed)
{
    return &f->grid.rows[row].cells[question_count + speed];
}

struct experiment asking_experiment(
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

// Jobs that always fail do not count as left, because a queue need not finish them; the cell of
// that question tells what became of them.
struct seen answer_seen(const struct answer *a, const struct question *q)
{
    const double failing = a->failing > 0 ? a->failing : 0;
    const double failed = a->failed > 0 ? a->failed : 0;
    // The question is about the job of a dead worker. If the worker had none when it died, nothing
    // could be run again.
    const bool none_in_hand = q->asks == ASKS_RERUN && !(a->in_hand > 0);

    return (struct seen){
        .lost = a->lost,
        .left = a->left - failing,
        .rerun_ms = a->rerun_ms,
        .at_once = a->at_once,
        .attempts = a->attempts,
        .gap_min_ms = a->gap_min_ms,
        .gap_max_ms = a->gap_max_ms,
        .failing = failing,
        .failed = a->failed,
        .retried = a->left - failed, // `left` counts the jobs that are kept as failed, too
        .taken = a->taken,
        .again = a->again,
        .exits = a->exits,
        .recovery_ms = a->recovery_ms,
        .judged = a->judged > 0,
        .deaf = a->deaf > 0,
        .died = q->ends_workers || a->exits > 0,
        .missed = (a->planned > 0 && a->struck == 0) || none_in_hand,
    };
}

// Writes to standard error how far the table is, such as "3/28 pg-boss, server killed for 0.5 s,
// seed 1: kept; 4 min left".
static void tell_progress(struct field_run *f, size_t row, const struct experiment *x,
    const struct answer *answer, int64_t took_ns)
{
    struct seen seen = answer_seen(answer, x->question);
    char text[200] = "";

    f->spent_ns += took_ns;
    f->runs++;
    size_t left = f->planned > f->done ? f->planned - f->done : 0;
    outcome_tell(&seen, &f->manners[row].terms, text, sizeof text);
    fprintf(stderr, "%zu/%zu %s, %s, seed %d: %s; %.0f min left\n", f->done, f->planned, x->subject,
        x->question->title, x->seed, text,
        ceil((double)f->spent_ns / (double)f->runs * (double)left / 60 / NS_PER_S));
}

// Adds the answer of a run that was made just now to the shard's record. The path of the result
// folder is written relative to --out.
static bool record_answer(struct field_run *f, size_t row, const struct experiment *x,
    const struct answer *answer, struct err *e)
{
    struct answer relative = *answer;
    char key[ANSWERS_KEY_MAX];

    experiment_key(x, key);
    snprintf(relative.folder, sizeof relative.folder, "%s",
        command_record_below(answer->folder, f->options->out));
    json_t *line = answer_file_line(key, &relative);
    json_object_set_new(line, "n", json_integer((json_int_t)f->items[row]));
    return record_add(&f->record, line, e);
}

// Adds to the table's head the day and the version of mailproof that an answer comes from, if it
// says so. The answers of a table may have several of both.
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

bool asking_answer(struct field_run *f, size_t row, const struct experiment *x, bool planned,
    struct answer *answer, struct err *e)
{
    int64_t began_ns = clock_now_ns();
    bool fresh;

    f->planned += !planned; // the progress shows how many of the planned runs are done
    f->done++;
    if (!experiment_answer(x, f->options, &f->answers, answer, &fresh, e))
        return false;
    if (fresh && !record_answer(f, row, x, answer, e))
        return false;
    tell_origin(&f->grid, answer);
    // A server_version_num such as 150004 stands for 15.4.
    if (answer->postgres > 0)
        snprintf(f->grid.postgres, sizeof f->grid.postgres, "%d.%d", (int)answer->postgres / 10000,
            (int)answer->postgres % 10000);
    if (fresh && !f->options->quiet)
        tell_progress(f, row, x, answer, clock_now_ns() - began_ns);
    return true;
}

void cell_show_figure(struct cell *c, double value, int decimals, const char *unit, int rate)
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

bool cell_note_failure(struct cell *c, const struct err *e)
{
    const char *before = e->kind == ERR_SKIP ? "not asked: " : "not run: ";
    char why[sizeof e->text];

    snprintf(why, sizeof why, "%s",
        e->kind == ERR_INTERRUPTED ? "the command was interrupted" : e->text);
    prose_drop_folders(why);
    c->mark = CELL_EMPTY; // an earlier run may have left a figure
    snprintf(c->text, sizeof c->text, "%s%.150s", before, why); // a cell has room for few words
    return e->kind != ERR_INTERRUPTED;
}

bool answer_keeps_up(const struct answer *a)
{
    return a->lost == 0 && !(a->left > 0);
}

bool answer_is_sustained(const struct answer *a, double p99_ms)
{
    return answer_keeps_up(a) && a->p99 < p99_ms;
}

bool asking_possible(const struct field_run *f, size_t row)
{
    return !f->grid.rows[row].absent[0] && !f->manners[row].unreachable && f->manners[row].rate > 0;
}
