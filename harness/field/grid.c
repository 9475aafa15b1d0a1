#include "field/grid.h"

#include "scenario/grammar.h"

void grid_init(struct grid *g, const char *const *titles, size_t columns, size_t rows)
{
    *g = (struct grid){.titles = titles, .columns = columns, .row_count = rows};
    g->rows = memory_zeroed(rows, sizeof *g->rows);
    for (size_t i = 0; i < rows; i++)
        g->rows[i].cells = memory_zeroed(columns, sizeof *g->rows[i].cells);
}

void grid_fini(struct grid *g)
{
    for (size_t i = 0; i < g->row_count; i++) {
        manifest_fini(&g->rows[i].manifest);
        free(g->rows[i].cells);
    }
    free(g->rows);
    *g = (struct grid){0};
}

// Appends the version that was judged; if it is Debian's older one, also the newest release.
static void grid_version(const struct grid_row *r, struct buf *out)
{
    const char *newest = r->manifest.newest;

    buf_append_str(out, r->version);
    if (newest && strcmp(newest, MANIFEST_NONE) != 0)
        buf_printf(out, " (Debian's; %s is newer)", newest);
}

// Appends a line for each promise in `which` (bits of enum promise): `before`, the promise, the
// words of the documentation, and their address.
static void grid_promises(const struct grid_row *r, int which, const char *before, struct buf *out)
{
    for (const struct word *w = promise_words; w->name; w++) {
        const struct quoted *q = quoted_find(&r->manifest.promises, (int)w->value);
        if (q && (q->flag & which))
            buf_printf(out, "%s%s: \"%s\" (%s)\n", before, w->name, q->quote, q->url);
    }
}

// --- text -------------------------------------------------------------------------------

void grid_text(const struct grid *g, bool commands, struct buf *out)
{
    size_t widest = 0;

    for (size_t c = 0; c < g->columns; c++)
        widest = strlen(g->titles[c]) > widest ? strlen(g->titles[c]) : widest;
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        buf_printf(out, "%s ", r->name);
        grid_version(r, out);
        buf_printf(out, "%s%s\n", r->absent[0] ? ": not installed: " : "", r->absent);
        // Each cell gets its own line, because a line with all cells of a row would be too long for
        // a terminal.
        for (size_t c = 0; !r->absent[0] && c < g->columns; c++) {
            buf_printf(out, "  %-*s  %s\n", (int)widest, g->titles[c], r->cells[c].text);
            if (commands && r->cells[c].command[0])
                buf_printf(out, "    %s\n", r->cells[c].command);
        }
    }
}

// --- markdown ---------------------------------------------------------------------------

// True when the cell has a command, and no earlier cell of the row has the same one.
static bool has_new_command(const struct grid_row *r, size_t cell)
{
    for (size_t i = 0; i < cell; i++) {
        if (strcmp(r->cells[i].command, r->cells[cell].command) == 0)
            return false;
    }
    return r->cells[cell].command[0] != '\0';
}

// Appends the titles of all cells of the row that have the same command as this cell, such as "p50,
// p99".
static void markdown_titles(
    const struct grid *g, const struct grid_row *r, size_t cell, struct buf *out)
{
    const char *before = "";

    for (size_t i = cell; i < g->columns; i++) {
        if (strcmp(r->cells[i].command, r->cells[cell].command) != 0)
            continue;
        buf_printf(out, "%s%s", before, g->titles[i]);
        before = ", ";
    }
}

// Appends for each row a list of its commands, each with the titles of its cells.
static void markdown_commands(const struct grid *g, struct buf *out)
{
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        if (r->absent[0])
            continue;
        buf_printf(out, "\n<details><summary>%s</summary>\n\n%s.\n\n", r->name, r->mode);
        for (size_t c = 0; c < g->columns; c++) {
            if (!has_new_command(r, c))
                continue;
            buf_append_str(out, "- ");
            markdown_titles(g, r, c, out);
            buf_printf(out, ": `%s`\n", r->cells[c].command);
        }
        buf_append_str(out, "\n</details>\n");
    }
}

// Appends what the maintainers of a queue need to see for themselves that it broke a promise in
// column `c`.
static void markdown_conviction(
    const struct grid *g, const struct grid_row *r, size_t c, struct buf *out)
{
    buf_printf(out, "\n### %s %s: %s\n\n", r->name, r->version, g->titles[c]);
    // A newer version may have mended the defect, so say that it was not tried.
    if (r->manifest.newest && strcmp(r->manifest.newest, MANIFEST_NONE) != 0)
        buf_printf(out, "In Debian's version; %s was not tried.\n\n", r->manifest.newest);
    buf_printf(out, "- %s\n- seen: %s\n", r->cells[c].text, r->cells[c].told);
    grid_promises(r, r->cells[c].broken, "- promised, ", out);
    buf_printf(out, "- see it: `%s`\n", r->cells[c].command);
}

static void markdown_convictions(const struct grid *g, struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < g->row_count; i++) {
        for (size_t c = 0; c < g->columns; c++) {
            if (g->rows[i].cells[c].mark != CELL_BROKEN)
                continue;
            if (!any)
                buf_append_str(out, "\n## What was broken\n");
            any = true;
            markdown_conviction(g, &g->rows[i], c, out);
        }
    }
}

// Appends the row of a subject with its columns from `from` up to, but not including, `to`.
static void grid_markdown_row(
    const struct grid_row *r, size_t from, size_t to, bool speeds, struct buf *out)
{
    buf_printf(out, "\n| %s ", r->name);
    grid_version(r, out);
    buf_append_str(out, " |");
    if (speeds)
        buf_printf(out, " %s | %s |", r->manifest.wakes, r->manifest.concurrency);
    else
        buf_printf(out, " %s |", r->ours ? "ours" : manifest_kind_text(r->manifest.kind));
    for (size_t c = from; c < to; c++) {
        // A Markdown table has no colours, so a broken promise is bold.
        const char *bold = r->cells[c].mark == CELL_BROKEN ? "**" : "";
        buf_printf(out, " %s%s%s |", bold, r->cells[c].text, bold);
    }
}

// Appends one table of the columns from `from` up to, but not including, `to`. mailproof's own
// collector comes last, because the authors have an interest in it.
static void markdown_table(
    const struct grid *g, size_t from, size_t to, bool speeds, struct buf *out)
{
    buf_printf(out, "\n| subject | %s |", speeds ? "how it wakes | jobs at once" : "kind");
    for (size_t c = from; c < to; c++)
        buf_printf(out, " %s |", g->titles[c]);
    buf_append_str(out, speeds ? "\n|---|---|---|" : "\n|---|---|");
    for (size_t c = from; c < to; c++)
        buf_append_str(out, "---|");
    for (int ours = 0; ours < 2; ours++) {
        for (size_t i = 0; i < g->row_count; i++) {
            if (g->rows[i].ours == (bool)ours && !g->rows[i].absent[0])
                grid_markdown_row(&g->rows[i], from, to, speeds, out);
        }
    }
    buf_append_char(out, '\n');
}

// Appends a sentence that names the subjects that could not be run.
static void markdown_absent(const struct grid *g, struct buf *out)
{
    const char *before = "\nNot installed here: ";

    for (size_t i = 0; i < g->row_count; i++) {
        if (!g->rows[i].absent[0])
            continue;
        buf_printf(out, "%s%s", before, g->rows[i].absent);
        before = "; ";
    }
    if (*before == ';')
        buf_append_str(out, ". A folder with its manifest and consumer is welcome.\n");
}

void grid_markdown(const struct grid *g, struct buf *out)
{
    const size_t verdicts = g->columns - g->speeds;

    buf_printf(out,
        "# The field\n\n%s, %s, PostgreSQL %s, %s. harness/field/README.md explains the columns "
        "and the words. Interest: mailroom is our own collector, so it stands last.\n",
        g->when, g->program, g->postgres[0] ? g->postgres : "not started", g->machine);
    // The gaps stand before the table, because a row without answers looks like one that passed.
    if (g->gaps && *g->gaps)
        buf_printf(out, "\nIncomplete: %s.\n", g->gaps);
    markdown_table(g, 0, verdicts, false, out);
    markdown_absent(g, out);
    buf_append_str(out, "\n## Speeds\n");
    markdown_table(g, verdicts, g->columns, true, out);
    markdown_convictions(g, out);
    buf_append_str(out, "\n## The commands\n");
    markdown_commands(g, out);
}
