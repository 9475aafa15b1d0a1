// mailproof field: runs the same plans and faults against several subjects, and shows the outcomes
// as one table.
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cells.h"
#include "cli/files.h"
#include "cli/finding.h"
#include "field/site.h"
#include "os/interrupt.h"
#include "report/environment.h"
#include "scenario/scenario.h"
#include "subject/manifest.h"

#define TABLE_MAX (4u << 20)
#define COLUMNS_MAX 32
#define DRAIN_LEAST_S 15
#define DRAIN_MOST_S 60

static void describe_manner(struct grid_row *row, struct manner *manner, const struct manifest *m)
{
    double retry_s = (double)m->retry_within_ns / NS_PER_S;

    manner->terms.promises = m->promises.flags;
    manner->terms.retry_s = retry_s > DRAIN_MOST_S ? retry_s : 0;
    manner->drain_s =
        retry_s > DRAIN_LEAST_S && retry_s <= DRAIN_MOST_S ? (int)retry_s : DRAIN_LEAST_S;
    snprintf(row->version, sizeof row->version, "%s", m->version);
    snprintf(row->mode, sizeof row->mode, "%s", m->mode);
}

// Our own collector promises more than most queues. It is judged by the same words.
static void describe_ours(struct grid_row *row, struct manner *manner)
{
    row->ours = true;
    manner->terms.promises = PROMISE_NO_LOSS | PROMISE_RECONNECT;
    snprintf(row->version, sizeof row->version, "%s", MAILPROOF_VERSION);
    snprintf(row->mode, sizeof row->mode,
        "one collector of mail lines, batches of 10 or 100 ms; its row holds an account, too");
}

static bool describe(struct field_run *f, size_t i, const char *name, struct err *e)
{
    struct grid_row *row = &f->grid.rows[i];
    struct manifest *m = &row->manifest;
    struct err why = {0};

    snprintf(row->name, sizeof row->name, "%s", name);
    f->manners[i] = (struct manner){.drain_s = DRAIN_LEAST_S};
    if (strcmp(name, SUBJECT_MAILROOM) == 0) {
        describe_ours(row, &f->manners[i]);
        return true;
    }
    if (!manifest_load(m, name, e) || !manifest_quoted(m, e))
        return false;
    describe_manner(row, &f->manners[i], m);
    if (!manifest_installed(m, &why))
        snprintf(row->absent, sizeof row->absent, "%.299s", why.text);
    else
        manifest_runtime(m, row->runtime, sizeof row->runtime);
    return true;
}

static void describe_run(struct field_run *f)
{
    struct environment here = {0};
    struct durability_proof none = {0};
    time_t now = time(NULL);
    struct tm utc;

    environment_take(&here, &none, 0);
    strftime(f->grid.when, sizeof f->grid.when, "%Y-%m-%d", gmtime_r(&now, &utc));
    snprintf(f->grid.machine, sizeof f->grid.machine, "%s, %d CPUs, %d MiB", here.machine,
        here.cpus, here.memory_mb);
    snprintf(
        f->grid.program, sizeof f->grid.program, "mailproof %s (%s)", here.mailproof, here.commit);
}

static bool write_file(const char *option, const char *path,
    void (*print)(const struct grid *, struct buf *), const struct grid *g, struct err *e)
{
    struct buf text;

    if (!path)
        return true;
    buf_init(&text, TABLE_MAX);
    print(g, &text);
    bool ok = file_write(option, path, &text, e);
    buf_fini(&text);
    return ok;
}

static void print_table(const struct grid *g, bool commands)
{
    struct buf text;

    buf_init(&text, TABLE_MAX);
    grid_text(g, commands, &text);
    fwrite(text.data, 1, text.len, stdout);
    buf_fini(&text);
}

static bool field(struct field_run *f, char *const *names, size_t count, struct err *e)
{
    static const char *titles[COLUMNS_MAX];
    size_t columns = 0;

    for (; columns < COLUMNS_MAX && cells_title(columns); columns++)
        titles[columns] = cells_title(columns);
    f->manners = calloc(count + 1, sizeof *f->manners);
    if (!f->manners)
        return err_memory(e);
    if (!grid_init(&f->grid, titles, columns, count, e) ||
        !answers_open(&f->answers, f->options->field.answers, e))
        return false;
    f->grid.speeds = cells_speeds;
    for (size_t i = 0; i < count; i++) {
        if (!describe(f, i, names[i], e))
            return false;
    }
    describe_run(f);
    bool ok = cells_fill(f, e);
    print_table(&f->grid, f->options->field.commands);
    const char *site = f->options->field.site;
    return write_file("markdown", f->options->markdown, grid_markdown, &f->grid, e) &&
           (!site || site_write(&f->grid, &f->answers, site, e)) && ok;
}

int cli_field(const struct options *o)
{
    struct field_run f = {.options = o};
    struct err e = {0};
    char **all = NULL, *with_ours[256] = {(char *)SUBJECT_MAILROOM};
    char *const *names = o->args;
    size_t count = 0;
    bool ok = true;

    if (o->field.finding)
        return finding_run(o, o->field.finding);
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
    answers_close(&f.answers);
    free(f.manners);
    manifest_names_free(all);
    return ok ? EXIT_OK : cli_fail(&e);
}
