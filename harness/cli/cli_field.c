// mailproof field: runs the same plans and faults against several subjects, and shows the results
// as one table.
#include "cli/cli.h"

#include <time.h>

#include "field/cells.h"
#include "options/options.h"
#include "field/reproduction.h"
#include "options/command_record.h"
#include "field/site.h"
#include "report/files/environment.h"
#include "report/files/parse_json.h"
#include "scenario/scenario.h"
#include "subject/manifest.h"

#define TABLE_MAX (4u << 20)
#define COLUMNS_MAX 32
#define DRAIN_LEAST_S 15
#define DRAIN_MOST_S 60

// Fills in how a subject is run, from its manifest. The drain lasts until a failed job is retried,
// but DRAIN_LEAST_S at least. A retry that comes later than DRAIN_MOST_S is not waited for; only
// then terms.retry_s is set, and the table says when the retry comes.
static void describe_manner(struct grid_row *row, struct manner *manner, const struct manifest *m)
{
    double retry_s = (double)m->retry_within_ns / NS_PER_S;

    manner->terms.promises = m->promises.flags;
    // Rounded up, because 0 stands for a claim that lasts for ever.
    manner->claim_s = (int)((m->claim_ns + NS_PER_S - 1) / NS_PER_S);
    if (strcmp(m->retry_default, MANIFEST_NONE) != 0)
        manner->terms.retry_default = m->retry_default;
    manner->terms.retry_s = retry_s > DRAIN_MOST_S ? retry_s : 0;
    manner->drain_s =
        retry_s > DRAIN_LEAST_S && retry_s <= DRAIN_MOST_S ? (int)retry_s : DRAIN_LEAST_S;
    snprintf(row->version, sizeof row->version, "%s", m->version);
    snprintf(row->mode, sizeof row->mode, "%s", m->mode);
}

// Gives the row of our own collector its promises, as quotes that everybody can look up.
static void promise_ours(struct quoted_flags *promises)
{
    static const struct {
        int flag;
        const char *quote;
    } words[] = {
        {PROMISE_NO_LOSS, "Three rules keep mail from being lost or duplicated"},
        {PROMISE_RECONNECT, "a session that is opened again when it is lost"},
    };
    const size_t count = sizeof words / sizeof *words;

    promises->items = memory_zeroed(count, sizeof *promises->items);
    for (size_t i = 0; i < count; i++) {
        promises->items[promises->count++] = (struct quoted){
            words[i].flag, memory_copy(words[i].quote), memory_copy("collector/README.md")};
        promises->flags |= words[i].flag;
    }
}

// Fills in the row of our own collector, which has no manifest. The mode tells that each token is
// inserted with an account, which costs more writes than a job of another queue.
static void describe_ours(struct grid_row *row, struct manner *manner)
{
    promise_ours(&row->manifest.promises);
    row->ours = true;
    row->manifest.wakes = memory_copy("LISTEN");
    row->manifest.concurrency = memory_copy("batches of 10");
    manner->terms.promises = row->manifest.promises.flags;
    snprintf(row->version, sizeof row->version, "%s", MAILPROOF_VERSION);
    snprintf(row->mode, sizeof row->mode,
        "one collector of mail lines, batches of 10 or 100 ms; its row holds an account, too");
}

// Makes the record's line of a row: what is known only on the machine that has looked for the
// subject.
static json_t *row_line(const struct field_run *f, size_t i)
{
    const struct grid_row *row = &f->grid.rows[i];

    return json_pack("{s:I, s:s, s:s, s:s, s:s, s:s}", "n", (json_int_t)f->items[i], "row",
        row->name, "absent", row->absent, "runtime", row->runtime, "machine", f->grid.machine,
        "when", f->grid.when);
}

// Finds the record's line of a row; NULL when there is none.
static const json_t *known_row(const struct field_run *f, uint64_t item)
{
    size_t i;
    json_t *line;

    json_array_foreach(f->record.lines, i, line)
    {
        if (json_object_get(line, "row") && parse_integer(line, "n") == (int64_t)item)
            return line;
    }
    return NULL;
}

// Fills in a row from its line in a shard's record. Speeds from different kinds of machines do not
// compare, so the table says when there are several.
static void take_row(struct field_run *f, size_t i, const json_t *line)
{
    struct grid_row *row = &f->grid.rows[i];
    char machine[200];

    parse_text(line, "absent", row->absent, sizeof row->absent);
    parse_text(line, "runtime", row->runtime, sizeof row->runtime);
    parse_text(line, "machine", machine, sizeof machine);
    parse_text(line, "when", f->grid.when, sizeof f->grid.when);
    // The first row replaces the name of this machine, on which no run was made.
    if (i == 0)
        snprintf(f->grid.machine, sizeof f->grid.machine, "%s", machine);
    else if (strcmp(f->grid.machine, machine) != 0)
        snprintf(f->grid.machine, sizeof f->grid.machine,
            "several kinds of machines (compare the speeds of one row, not of several)");
}

// Fills in row i, for the subject `name`, from its manifest and from what is installed here or, in
// a merge, from the record. Adds the row to the record if it is not in there.
static bool describe_row(struct field_run *f, size_t i, const char *name, struct err *e)
{
    const json_t *known = f->options->merged ? known_row(f, f->items[i]) : NULL;
    struct grid_row *row = &f->grid.rows[i];
    struct manifest *m = &row->manifest;
    struct err why = {0};

    snprintf(row->name, sizeof row->name, "%s", name);
    f->manners[i] = (struct manner){.drain_s = DRAIN_LEAST_S};
    if (strcmp(name, SUBJECT_MAILROOM) == 0) {
        describe_ours(row, &f->manners[i]);
    } else {
        if (!manifest_load(m, name, e) || !manifest_quoted(m, e))
            return false;
        describe_manner(row, &f->manners[i], m);
        // A shard has looked at its own machine, where the runs were made. What is installed on
        // this machine does not matter then.
        if (!known && !manifest_installed(m, &why))
            snprintf(row->absent, sizeof row->absent, "%.299s", why.text);
        else if (!known)
            manifest_runtime(m, row->runtime, sizeof row->runtime);
    }
    if (known)
        take_row(f, i, known);
    return known || known_row(f, f->items[i]) || record_add(&f->record, row_line(f, i), e);
}

// Fills in when, on what machine and by what program the table is made.
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

static bool write_field_markdown(const struct grid *g, const char *path, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TABLE_MAX);

    if (!path)
        return true;
    grid_markdown(g, &text);
    bool ok = file_write("markdown", path, &text, e);
    if (ok)
        printf("markdown  %s\n", path);
    return ok;
}

// Writes the pages into the folder of --site, or else of the record.
static bool write_pages(const struct field_run *f, struct err *e)
{
    const char *dir = f->options->field.site;
    bool is_shard = !f->record.temporary;

    // A shard has only a part of the rows, and the record of a merge has no folder.
    if (!dir && (is_shard || !f->record.folder[0]))
        return true;
    dir = dir ? dir : f->record.folder;
    bool ok = site_write(&f->grid, &f->answers, dir, e);
    if (ok)
        printf("pages     %s/index.html\n", dir);
    return ok;
}

// Ends the record. The record of a single machine stays, so that the same command with --resume can
// write the pages elsewhere, or Markdown, without making runs.
static bool end_field_record(struct record *r, struct err *e)
{
    if (!r->temporary)
        return record_finish(r, e);
    record_suspend(r);
    return true;
}

static void print_field_table(const struct grid *g, bool commands)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TABLE_MAX);

    grid_text(g, commands, &text);
    fwrite(text.data, 1, text.len, stdout);
}

// Opens the record. An item is a place in the list of names, so `about` holds the whole list.
static bool open_field_record(struct field_run *f, char *const *names, struct err *e)
{
    char about[COMMAND_RECORD_ABOUT_MAX];
    size_t len;

    if (!command_record_about(about, f->options, NULL, 0, e))
        return false;
    for (len = strlen(about); *names && len < sizeof about; names++)
        len += (size_t)snprintf(about + len, sizeof about - len, " %s", *names);
    if (len >= sizeof about)
        return err_set(e, ERR_USAGE, "field: the names of the subjects are too long");
    return command_record_open(&f->record, f->options, "field", about, true, e);
}

// Takes the answers that the record already has.
static bool take_answers(struct field_run *f, struct err *e)
{
    char folder[PATH_MAX];
    json_t *line;
    size_t i;

    json_array_foreach(f->record.lines, i, line)
    {
        const char *run = json_string_value(json_object_get(line, "run"));
        if (!run) // the line of a row
            continue;
        if (!command_record_path(folder, &f->record, line, "folder", e))
            return false;
        json_t *taken = json_copy(line);
        bool ok = json_object_set_new(taken, "folder", json_string(folder)) == 0;
        json_object_set_new(f->answers.all, run, taken);
        if (!ok)
            return err_set(e, ERR_USAGE, "the path %.500s is not UTF-8", folder);
    }
    return true;
}

// Makes a row for each subject of this shard, or of all shards whose records were merged.
static bool make_rows(struct field_run *f, char *const *names, size_t count, struct err *e)
{
    static const char *titles[COLUMNS_MAX]; // static, because the grid borrows them
    size_t columns = 0, rows = 0;

    for (; columns < COLUMNS_MAX && cells_title(columns); columns++)
        titles[columns] = cells_title(columns);
    f->manners = memory_zeroed(count, sizeof *f->manners);
    f->items = memory_zeroed(count, sizeof *f->items);
    for (uint64_t i = 0; i < count; i++) {
        if (record_wants(&f->record, i) || known_row(f, i))
            f->items[rows++] = i;
    }
    grid_init(&f->grid, titles, columns, rows);
    f->grid.speeds = cells_speeds;
    f->grid.gaps = record_gaps(&f->record);
    describe_run(f);
    for (size_t i = 0; i < rows; i++) {
        if (!describe_row(f, i, names[f->items[i]], e))
            return false;
    }
    return true;
}

// Fills the table of these subjects, prints it, and writes the files. The table is printed and
// written even if it could not be filled completely; the result is false then.
static bool make_field_table(struct field_run *f, char *const *names, size_t count, struct err *e)
{
    if (!open_field_record(f, names, e) ||
        !answer_file_open(&f->answers, f->options->field.answers, e) || !take_answers(f, e) ||
        !make_rows(f, names, count, e))
        return false;
    bool ok = cells_fill(f, e) && (f->options->merged || end_field_record(&f->record, e));
    print_field_table(&f->grid, f->options->field.commands);
    return write_field_markdown(&f->grid, f->options->markdown, e) && write_pages(f, e) && ok;
}

// Reproduces the finding of --finding, and returns the exit code.
static int field_finding(const struct options *o)
{
    struct err e = {0};
    int code;

    if (finding_reproduce(o, o->field.finding, &code, &e))
        return code;
    if (e.kind != ERR_SKIP)
        return cli_fail(&e);
    printf("skipped: %s\n", e.text);
    return EXIT_SKIPPED;
}

int cli_field(const struct options *o)
{
    struct field_run f = {.options = o};
    struct err e = {0};
    char **all = NULL, *with_ours[256] = {(char *)SUBJECT_MAILROOM};
    char *const *names = o->args;
    size_t count = 0;
    bool ok = true;

    if (o->field.finding && o->shard.of) {
        err_set(&e, ERR_USAGE, "--shard does not go with --finding");
        return cli_fail(&e);
    }
    if (o->field.answers && o->shard.of) {
        err_set(&e, ERR_USAGE, "--answers does not go with --shard, which keeps them by itself");
        return cli_fail(&e);
    }
    if (o->field.finding)
        return field_finding(o);
    // Without names, all subjects are judged, and our own collector, which has no folder among
    // them. i + 2: the list also holds our own name and the NULL at its end.
    if (!*names) {
        ok = manifest_names(&all, &e);
        for (size_t i = 0; ok && all[i] && i + 2 < sizeof with_ours / sizeof *with_ours; i++)
            with_ours[i + 1] = all[i];
        names = with_ours;
    }
    while (names[count])
        count++;
    ok = ok && make_field_table(&f, names, count, &e);
    grid_fini(&f.grid);
    command_record_close(&f.record);
    free(f.items);
    answer_file_close(&f.answers);
    free(f.manners);
    memory_free_texts(all);
    return ok ? EXIT_OK : cli_fail(&e);
}
