// mailproof field: the same plans and faults against several subjects, as one table.
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/locate.h"
#include "cli/subjects.h"
#include "field/grid.h"
#include "os/interrupt.h"
#include "report/environment.h"
#include "report/parse.h"
#include "runner.h"
#include "subject/manifest.h"

#define SETS_MAX 6
#define TABLE_MAX (4u << 20)
#define RATE_LEAST 100
#define RATE_MOST 6400

// Overrides of every run: no objectives, and time for a queue that notices a death late.
#define COMMON "expect={}", "drain=15s", "recovery_limit=15s"

enum column { P50, P99, WAL, CPU, DEAD, RATE, FIRST_FAULT };

struct question {
    const char *title;
    const char *scenario;
    const char *sets[SETS_MAX]; // NULL-terminated
};

static const struct question paced = {
    "paced", "steady", {COMMON, "load.0.rate=100/s", "load.0.for=6s"}};

static const struct question faults[] = {
    {"backend ended 3 times", "backend-kill-storm",
        {COMMON, "load=[{name: paced, for: 6s, rate: 100/s}]",
            "faults=[{at: 1s, every: 2s, until: 5500ms, do: terminate-backend, target: "
            "collector}]"}},
    {"consumer killed 3 times", "collector-killed",
        {COMMON, "load=[{name: paced, for: 6s, rate: 100/s}]",
            "faults=[{at: 1s, every: 2s, until: 5500ms, do: kill-collector}]"}},
    // Only the session that LISTENs: some queues never wake again.
    {"listener ended", "backend-kill-storm",
        {COMMON, "load=[{name: paced, for: 6s, rate: 100/s}]",
            "faults=[{at: 2s, do: terminate-backend, target: listener}]"}},
    {"server killed for 0.5 s", "server-crash",
        {COMMON, "load=[{name: paced, for: 6s, rate: 100/s}]",
            "faults=[{at: 2s, do: kill-server, for: 500ms}]"}},
    {"silence for 2 s", "partition",
        {COMMON, "load=[{name: paced, for: 6s, rate: 100/s}]",
            "faults=[{at: 1s, do: partition, for: 2s, reset: true}]"}},
    {"commits out of order", "late-commits",
        {COMMON, "load=[{name: paced, for: 6s, rate: 100/s, connections: 24, hold_open: {share: "
                 "0.1, for: 500ms}, rollback: 0.05}]"}},
    {"a snapshot stays open", "old-snapshot",
        {COMMON, "load=[{name: paced, for: 6s, rate: 100/s}]",
            "faults=[{at: 500ms, do: old-snapshot, for: 5s}]"}},
};

#define FAULTS (sizeof faults / sizeof *faults)
#define COLUMNS (FIRST_FAULT + FAULTS)

struct field {
    const struct options *options;
    const char *subject; // of the row that is being filled
    struct grid grid;
};

// Summarises one run.
struct answer {
    struct run_outcome outcome;
    double p50, p99, wal, cpu_ms, dead, lost, exits, recovery;
    size_t planned, struck; // faults, and those that took effect
};

// --- one run --------------------------------------------------------------------------

static double number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void read_faults(struct answer *a, const json_t *all)
{
    const json_t *fault;
    size_t i;

    a->planned = json_array_size(all);
    json_array_foreach(all, i, fault) a->struck +=
        json_is_true(json_object_get(fault, "ok")) &&
        !json_is_true(json_object_get(fault, "left_out"));
}

static bool read_answer(struct answer *a, struct err *e)
{
    json_t *result = parse_file(a->outcome.folder, "result.json", e);
    const json_t *figures = json_object_get(result, "metrics");
    const json_t *server = json_object_get(result, "server");
    const json_t *cpu = json_object_get(result, "cpu_s");
    double backends = number_at(cpu, "collector_backends") + number_at(cpu, "load_backends") +
                      number_at(cpu, "server");

    if (!result)
        return false;
    a->p50 = number_at(figures, "latency.p50");
    a->p99 = number_at(figures, "latency.p99");
    a->lost = number_at(figures, "lost");
    a->exits = number_at(figures, "unplanned_exit");
    a->recovery = number_at(figures, "recovery.max");
    a->wal = number_at(server, "wal_bytes_per_token");
    a->dead = number_at(server, "dead_tuples_max");
    a->cpu_ms = backends * 1000 / number_at(figures, "committed");
    read_faults(a, json_object_get(result, "faults"));
    json_decref(result);
    return true;
}

static bool run_loaded(const struct field *f, const char *path, const struct overrides *sets,
    struct answer *a, struct err *e)
{
    struct run_options how = {
        .collector = f->options->collector,
        .postgres = f->options->conninfo,
        .out = f->options->out,
        .quiet = true,
        .silent = true,
    };
    struct scenario s = {0};

    *a = (struct answer){0};
    bool ok = scenario_load(&s, path, sets, e);
    if (ok)
        subjects_suit(&s);
    ok = ok && run_scenario(&s, &how, &a->outcome, e) && read_answer(a, e);
    scenario_fini(&s);
    return ok;
}

// Options of the same kind as the user's: the question's sets, then `further`.
static bool ask(
    struct field *f, const struct question *q, const char *further, struct answer *a, struct err *e)
{
    const char *items[SETS_MAX + 2];
    struct options o = *f->options;
    struct subject_sets sets = {0};
    struct paths paths = {0};
    size_t count = 0;

    for (size_t i = 0; i < SETS_MAX && q->sets[i]; i++)
        items[count++] = q->sets[i];
    if (further)
        items[count++] = further;
    o.subject = f->subject;
    o.sets = items;
    o.set_count = count;
    o.provider = NULL;
    o.seed[0] = '\0';
    bool ok = subjects_sets(&sets, &o, e) && locate_scenarios(&paths, q->scenario, e) &&
              run_loaded(f, paths.items[0], &sets.overrides, a, e);
    subjects_sets_fini(&sets);
    locate_fini(&paths);
    return ok;
}

static void write_command(
    const struct field *f, const struct question *q, const char *further, struct cell *c)
{
    size_t len = 0, size = sizeof c->command;

    len += (size_t)snprintf(
        c->command, size, "mailproof run %s --subject %s", q->scenario, f->subject);
    for (size_t i = 0; i < SETS_MAX && q->sets[i] && len < size; i++)
        len += (size_t)snprintf(c->command + len, size - len, " --set '%s'", q->sets[i]);
    if (further && len < size)
        snprintf(c->command + len, size - len, " --set '%s'", further);
}

// --- the cells --------------------------------------------------------------------------

static void show(struct cell *c, const char *command, double value, int decimals, const char *unit)
{
    c->mark = isnan(value) ? CELL_EMPTY : CELL_FIGURE;
    snprintf(c->command, sizeof c->command, "%s", command);
    if (isnan(value))
        snprintf(c->text, sizeof c->text, "not measured");
    else
        snprintf(c->text, sizeof c->text, "%.*f%s", decimals, value, unit);
}

// A run that could not be made leaves its reason in the cell; false: the end of all.
static bool note_failure(struct cell *c, const struct err *e)
{
    snprintf(c->text, sizeof c->text, "%.70s", e->text);
    return e->kind != ERR_INTERRUPTED;
}

static bool fill_paced(struct field *f, struct grid_row *row, struct err *e)
{
    struct cell *cells = row->cells, asked = {0};
    struct answer a;

    write_command(f, &paced, NULL, &asked);
    if (!ask(f, &paced, NULL, &a, e))
        return note_failure(&cells[P50], e);
    show(&cells[P50], asked.command, a.p50, 1, " ms");
    show(&cells[P99], asked.command, a.p99, 1, " ms");
    show(&cells[WAL], asked.command, a.wal, 0, " B");
    show(&cells[CPU], asked.command, a.cpu_ms, 2, " ms");
    show(&cells[DEAD], asked.command, a.dead, 0, "");
    return true;
}

static struct fault_outcome outcome_of(const struct answer *a)
{
    return (struct fault_outcome){
        .lost = a->lost,
        .again = a->outcome.again,
        .left = a->outcome.left,
        .exits = a->exits,
        .recovery_ms = a->recovery,
        .judged = a->outcome.verdict != VERDICT_INCONCLUSIVE,
        .missed = a->planned > 0 && a->struck == 0,
    };
}

// A bad result is tried with two other seeds before it is told.
static bool try_again(
    struct field *f, const struct question *q, struct fault_outcome *first, struct err *e)
{
    static const char *const seeds[] = {"seed=2", "seed=3"};
    struct answer a;

    first->runs = first->bad = 1;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        if (!ask(f, q, seeds[i], &a, e))
            return false;
        struct fault_outcome again = outcome_of(&a);
        first->runs++;
        first->bad += fault_outcome_is_bad(&again);
    }
    return true;
}

static bool fill_fault(struct field *f, struct grid_row *row, size_t i, struct err *e)
{
    struct cell *c = &row->cells[FIRST_FAULT + i];
    struct answer a;

    write_command(f, &faults[i], NULL, c);
    if (!ask(f, &faults[i], NULL, &a, e))
        return note_failure(c, e);
    struct fault_outcome outcome = outcome_of(&a);
    if (fault_outcome_is_bad(&outcome) && !f->options->quick &&
        !try_again(f, &faults[i], &outcome, e))
        return note_failure(c, e);
    grid_fault_cell(c, &outcome);
    return true;
}

// A rate is sustained when nothing is missing 3 s after the load and p99 is below a second.
static bool sustains(
    struct field *f, struct grid_row *row, int rate, bool *sustained, struct err *e)
{
    static const struct question burst = {
        "rate", "steady", {"expect={}", "drain=3s", "recovery_limit=15s", "load.0.for=4s"}};
    struct cell *c = &row->cells[RATE], tried = {0};
    struct answer a;
    char set[40];

    snprintf(set, sizeof set, "load.0.rate=%d/s", rate);
    if (!ask(f, &burst, set, &a, e))
        return false;
    *sustained = a.lost == 0 && a.p99 < 1000;
    if (*sustained) {
        write_command(f, &burst, set, &tried);
        show(c, tried.command, rate, 0, "/s");
    }
    return true;
}

// Finds the highest rate: multiplies by four until it fails, then halves the gap twice.
static bool fill_rate(struct field *f, struct grid_row *row, struct err *e)
{
    int good = 0, bad = RATE_MOST * 4;
    bool sustained = true;

    snprintf(row->cells[RATE].text, sizeof row->cells[RATE].text, "below %d/s", RATE_LEAST);
    for (int rate = RATE_LEAST; sustained && rate <= RATE_MOST; rate *= 4) {
        if (!sustains(f, row, rate, &sustained, e))
            return note_failure(&row->cells[RATE], e);
        *(sustained ? &good : &bad) = rate;
    }
    for (int i = 0; good > 0 && i < 2; i++) {
        int rate = good + (bad - good) / 2;
        if (!sustains(f, row, rate, &sustained, e))
            return note_failure(&row->cells[RATE], e);
        *(sustained ? &good : &bad) = rate;
    }
    return true;
}

static bool fill_row(struct field *f, struct grid_row *row, struct err *e)
{
    f->subject = row->name;
    fprintf(stderr, "%s: paced", row->name);
    bool ok = fill_paced(f, row, e);
    for (size_t i = 0; ok && i < FAULTS; i++) {
        fprintf(stderr, ", %s", faults[i].title);
        ok = fill_fault(f, row, i, e);
    }
    snprintf(row->cells[RATE].text, sizeof row->cells[RATE].text, "not asked");
    if (ok && !f->options->quick) {
        fprintf(stderr, ", highest rate");
        ok = fill_rate(f, row, e);
    }
    fputc('\n', stderr);
    return ok;
}

// --- the table --------------------------------------------------------------------------

static bool describe(struct grid_row *row, const char *name, struct err *e)
{
    struct manifest m = {0};
    struct err why = {0};

    snprintf(row->name, sizeof row->name, "%s", name);
    if (strcmp(name, SUBJECT_MAILROOM) == 0) {
        snprintf(row->version, sizeof row->version, "%s", MAILPROOF_VERSION);
        snprintf(row->mode, sizeof row->mode,
            "one collector of mail lines, batches of 10 or 100 ms; its row holds an account, too");
        return true;
    }
    bool ok = manifest_load(&m, name, e);
    if (ok) {
        snprintf(row->version, sizeof row->version, "%s", m.version);
        snprintf(row->mode, sizeof row->mode, "%s", m.mode);
        if (!manifest_installed(&m, &why))
            snprintf(row->absent, sizeof row->absent, "%.299s", why.text);
    }
    manifest_fini(&m);
    return ok;
}

static void describe_run(struct field *f)
{
    struct environment here = {0};
    struct durability_proof none = {0};
    time_t now = time(NULL);
    struct tm utc;

    environment_take(&here, &none, 0);
    strftime(f->grid.when, sizeof f->grid.when, "%Y-%m-%d", gmtime_r(&now, &utc));
    snprintf(f->grid.machine, sizeof f->grid.machine, "%s, %d CPUs, %d MiB", here.machine,
        here.cpus, here.memory_mb);
    snprintf(f->grid.server, sizeof f->grid.server, "mailproof %s", MAILPROOF_VERSION);
}

static bool write_file(const char *path, void (*print)(const struct grid *, struct buf *),
    const struct grid *g, struct err *e)
{
    struct buf text;

    if (!path)
        return true;
    buf_init(&text, TABLE_MAX);
    print(g, &text);
    FILE *file = fopen(path, "we");
    bool ok = file && buf_str(&text) && fwrite(text.data, text.len, 1, file) == 1;
    ok = file && fclose(file) == 0 && ok;
    buf_fini(&text);
    return ok || err_sys(e, ERR_SYSTEM, "cannot write %s", path);
}

static bool print_table(const struct grid *g, struct err *e)
{
    struct buf text;

    buf_init(&text, TABLE_MAX);
    grid_text(g, &text);
    bool ok = buf_str(&text) && fputs(text.data, stdout) >= 0 && fflush(stdout) == 0;
    buf_fini(&text);
    return ok || err_sys(e, ERR_OUTPUT, "cannot write the table");
}

// An interrupted field keeps the rows that it has.
static bool fill(struct field *f, struct err *e)
{
    for (size_t i = 0; i < f->grid.row_count; i++) {
        if (!f->grid.rows[i].absent[0] && !fill_row(f, &f->grid.rows[i], e))
            return false;
    }
    return true;
}

static bool field(struct field *f, char *const *names, size_t count, struct err *e)
{
    static const char *titles[COLUMNS] = {[P50] = "p50 at 100/s",
        [P99] = "p99 at 100/s",
        [WAL] = "WAL per job",
        [CPU] = "server CPU per job",
        [DEAD] = "dead tuples",
        [RATE] = "highest rate"};

    for (size_t i = 0; i < FAULTS; i++)
        titles[FIRST_FAULT + i] = faults[i].title;
    if (!grid_init(&f->grid, titles, COLUMNS, count, e))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!describe(&f->grid.rows[i], names[i], e))
            return false;
    }
    describe_run(f);
    bool ok = fill(f, e);
    return print_table(&f->grid, e) &&
           write_file(f->options->markdown, grid_markdown, &f->grid, e) &&
           write_file(f->options->html, grid_html, &f->grid, e) && ok;
}

int cli_field(const struct options *o)
{
    struct field f = {.options = o};
    struct err e = {0};
    char **all = NULL, *with_ours[256] = {(char *)SUBJECT_MAILROOM};
    char *const *names = o->args;
    size_t count = 0;
    bool ok = true;

    if (!*names) {
        ok = manifest_names(&all, &e);
        for (size_t i = 0; ok && all[i] && i + 2 < sizeof with_ours / sizeof *with_ours; i++)
            with_ours[i + 1] = all[i];
        names = with_ours;
    }
    while (names[count])
        count++;
    ok = ok && field(&f, names, count, &e);
    grid_fini(&f.grid);
    manifest_names_free(all);
    return ok ? EXIT_OK : interrupt_signal() ? EXIT_SIGNAL + interrupt_signal() : cli_fail(&e);
}
