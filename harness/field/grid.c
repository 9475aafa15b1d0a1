#include "field/grid.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field_html.h"
#include "report/escape.h"

bool grid_init(
    struct grid *g, const char *const *titles, size_t columns, size_t rows, struct err *e)
{
    *g = (struct grid){.titles = titles, .columns = columns};
    g->rows = calloc(rows + 1, sizeof *g->rows);
    for (size_t i = 0; g->rows && i < rows; i++) {
        g->rows[i].cells = calloc(columns, sizeof *g->rows[i].cells);
        if (!g->rows[i].cells)
            return err_memory(e);
        g->row_count++;
    }
    return g->rows || err_memory(e);
}

void grid_fini(struct grid *g)
{
    for (size_t i = 0; i < g->row_count; i++)
        free(g->rows[i].cells);
    free(g->rows);
    *g = (struct grid){0};
}

// --- the outcome of a run -------------------------------------------------------------

static void append(char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *fmt, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + len, size - len, fmt, args);
    va_end(args);
}

bool fault_outcome_is_bad(const struct fault_outcome *o)
{
    bool unfinished = o->retry_s == 0 && (o->lost > 0 || o->left > 0);

    return o->judged && !o->missed && (unfinished || (o->exits > 0 && !o->may_exit));
}

void fault_outcome_tell(const struct fault_outcome *o, char *text, size_t size)
{
    const struct {
        double count;
        const char *what;
    } counts[] = {
        {o->lost, "missing"}, {o->left, "left"}, {o->again, "again"}, {o->exits, "exits"}};
    bool none = true;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!(counts[i].count > 0))
            continue;
        append(text, size, "%s%.0f %s", none ? "" : ", ", counts[i].count, counts[i].what);
        none = false;
    }
    if (none)
        append(text, size, "ok");
}

static enum cell_mark mark_of(const struct fault_outcome *o)
{
    if (!o->judged || (o->runs > 1 && o->bad == 1))
        return CELL_DOUBTFUL;
    if (fault_outcome_is_bad(o))
        return CELL_BAD;
    return o->retry_s > 0 && (o->lost > 0 || o->left > 0) ? CELL_FIGURE : CELL_GOOD;
}

void grid_fault_cell(struct cell *c, const struct fault_outcome *o)
{
    size_t size = sizeof c->text;

    c->text[0] = '\0';
    if (o->missed) {
        c->mark = CELL_EMPTY;
        append(c->text, size, "no target");
        return;
    }
    c->mark = mark_of(o);
    fault_outcome_tell(o, c->text, size);
    if (c->mark == CELL_FIGURE)
        append(c->text, size, " until its retry after %.0f min", o->retry_s / 60);
    if (!isnan(o->recovery_ms))
        append(c->text, size, ", back in %.1f s", o->recovery_ms / 1000);
    if (o->runs > 1)
        append(c->text, size, ", %d of %d runs", o->bad, o->runs);
    if (!o->judged)
        append(c->text, size, " (inconclusive)");
}

// --- text -------------------------------------------------------------------------------

// Writes the table as text, with a block for each subject: a terminal is too narrow for all columns
// side by side.
void grid_text(const struct grid *g, struct buf *out)
{
    size_t widest = 0;

    for (size_t c = 0; c < g->columns; c++)
        widest = strlen(g->titles[c]) > widest ? strlen(g->titles[c]) : widest;
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        buf_printf(out, "%s %s%s%s\n", r->name, r->version, r->absent[0] ? ": not installed: " : "",
            r->absent);
        for (size_t c = 0; !r->absent[0] && c < g->columns; c++)
            buf_printf(out, "  %-*s  %-*s  %s\n", (int)widest, g->titles[c], 34, r->cells[c].text,
                r->cells[c].command);
    }
}

// --- markdown ---------------------------------------------------------------------------

// True when the cell has no command, or an earlier cell of the row has the same one.
static bool was_shown(const struct grid_row *r, size_t cell)
{
    for (size_t i = 0; i < cell; i++) {
        if (strcmp(r->cells[i].command, r->cells[cell].command) == 0)
            return true;
    }
    return r->cells[cell].command[0] == '\0';
}

// Writes the titles of all cells that this cell's command answers, such as "p50, p99".
static void titles_of(
    const struct grid *g, const struct grid_row *r, size_t cell, char *titles, size_t size)
{
    titles[0] = '\0';
    for (size_t i = cell; i < g->columns; i++) {
        if (strcmp(r->cells[i].command, r->cells[cell].command) == 0)
            append(titles, size, "%s%s", titles[0] ? ", " : "", g->titles[i]);
    }
}

static void markdown_commands(const struct grid *g, struct buf *out)
{
    char titles[300];

    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        if (r->absent[0])
            continue;
        buf_printf(out, "\n### %s\n\n%s.\n\n", r->name, r->mode);
        for (size_t c = 0; c < g->columns; c++) {
            if (was_shown(r, c))
                continue;
            titles_of(g, r, c, titles, sizeof titles);
            buf_printf(out, "- %s: `%s`\n", titles, r->cells[c].command);
        }
    }
}

// Writes what the maintainers of a queue need to see a failure for themselves.
static void markdown_convictions(const struct grid *g, struct buf *out)
{
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        for (size_t c = 0; c < g->columns; c++) {
            if (!r->cells[c].told[0])
                continue;
            buf_printf(out, "\n### %s %s: %s\n\n", r->name, r->version, g->titles[c]);
            buf_printf(out, "- seen: %s\n- judged: %s\n", r->cells[c].told,
                r->documented[0] ? r->documented : "every job that was committed is done");
            buf_printf(out, "- see it: `%s`\n", r->cells[c].command);
        }
    }
}

static bool convicts(const struct grid *g)
{
    for (size_t i = 0; i < g->row_count; i++) {
        for (size_t c = 0; c < g->columns; c++) {
            if (g->rows[i].cells[c].told[0])
                return true;
        }
    }
    return false;
}

void grid_markdown(const struct grid *g, struct buf *out)
{
    buf_printf(out,
        "# The field\n\n%s, %s, %s. The columns and the words are explained in "
        "harness/field/README.md.\n\n| subject |",
        g->when, g->server, g->machine);
    for (size_t c = 0; c < g->columns; c++)
        buf_printf(out, " %s |", g->titles[c]);
    buf_printf(out, "\n|---|");
    for (size_t c = 0; c < g->columns; c++)
        buf_printf(out, "---|");
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        buf_printf(out, "\n| %s %s |", r->name, r->version);
        for (size_t c = 0; c < g->columns; c++) {
            bool bad = r->cells[c].mark == CELL_BAD;
            buf_printf(out, " %s%s%s |", bad ? "**" : "",
                r->absent[0] ? (c == 0 ? r->absent : "") : r->cells[c].text, bad ? "**" : "");
        }
    }
    buf_printf(out, "\n");
    if (convicts(g)) {
        buf_printf(out, "\n## What was seen in at least two runs of three\n");
        markdown_convictions(g, out);
    }
    buf_printf(out, "\n## The commands\n");
    markdown_commands(g, out);
}

// --- html -------------------------------------------------------------------------------

static void html_cell(const char *title, const struct cell *c, struct buf *out)
{
    static const char *const classes[] = {"empty", "figure", "good", "bad", "doubtful"};

    buf_printf(out, "<td class=\"%s\" data-title=\"", classes[c->mark]);
    append_escaped(out, title);
    if (c->command[0]) {
        buf_printf(out, "\" title=\"");
        append_escaped(out, c->command);
    }
    buf_printf(out, "\">");
    append_escaped(out, c->text);
    buf_printf(out, "</td>");
}

static void html_row(const struct grid *g, const struct grid_row *r, struct buf *out)
{
    buf_printf(out, "<tr><th title=\"");
    append_escaped(out, r->mode);
    buf_printf(out, "\">");
    append_escaped(out, r->name);
    buf_printf(out, " <small>");
    append_escaped(out, r->version);
    buf_printf(out, "</small></th>");
    if (r->absent[0]) {
        buf_printf(out, "<td class=\"empty\" colspan=\"%zu\">", g->columns);
        append_escaped(out, r->absent);
        buf_printf(out, "</td>");
    }
    for (size_t c = 0; !r->absent[0] && c < g->columns; c++)
        html_cell(g->titles[c], &r->cells[c], out);
    buf_printf(out, "</tr>\n");
}

static void html_term(struct buf *out, const char *name, const char *what)
{
    buf_printf(out, "<dt>");
    append_escaped(out, name);
    buf_printf(out, ": ");
    append_escaped(out, what);
    buf_printf(out, "</dt><dd>");
}

static void html_convictions(const struct grid *g, struct buf *out)
{
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        for (size_t c = 0; c < g->columns; c++) {
            if (!r->cells[c].told[0])
                continue;
            html_term(out, r->name, g->titles[c]);
            append_escaped(out, r->cells[c].told);
            buf_printf(out, "<br>");
            append_escaped(out, r->documented);
            buf_printf(out, "</dd>\n");
        }
    }
}

static void html_commands(const struct grid *g, struct buf *out)
{
    char titles[300];

    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        for (size_t c = 0; !r->absent[0] && c < g->columns; c++) {
            if (was_shown(r, c))
                continue;
            titles_of(g, r, c, titles, sizeof titles);
            html_term(out, r->name, titles);
            buf_printf(out, "<code>");
            append_escaped(out, r->cells[c].command);
            buf_printf(out, "</code></dd>\n");
        }
    }
}

void grid_html(const struct grid *g, struct buf *out)
{
    const char *rest = append_until(out, field_html_page, "{{made}}");

    append_escaped(out, g->when);
    buf_printf(out, ", ");
    append_escaped(out, g->server);
    buf_printf(out, ", ");
    append_escaped(out, g->machine);
    rest = append_until(out, rest, "{{titles}}");
    for (size_t c = 0; c < g->columns; c++) {
        buf_printf(out, "<th>");
        append_escaped(out, g->titles[c]);
        buf_printf(out, "</th>");
    }
    rest = append_until(out, rest, "{{rows}}");
    for (size_t i = 0; i < g->row_count; i++)
        html_row(g, &g->rows[i], out);
    rest = append_until(out, rest, "{{convictions}}");
    if (convicts(g))
        html_convictions(g, out);
    else
        buf_printf(out, "<dt>Nothing.</dt>\n");
    rest = append_until(out, rest, "{{commands}}");
    html_commands(g, out);
    buf_printf(out, "%s", rest);
}
