#include "field/grid.h"

#include <math.h>
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
            return err_set(e, ERR_INTERNAL, "out of memory for the table");
        g->row_count++;
    }
    return g->rows || err_set(e, ERR_INTERNAL, "out of memory for the table");
}

void grid_fini(struct grid *g)
{
    for (size_t i = 0; i < g->row_count; i++)
        free(g->rows[i].cells);
    free(g->rows);
    *g = (struct grid){0};
}

// --- what a run came to ---------------------------------------------------------------

static void append_count(char *text, size_t size, double count, const char *what)
{
    size_t len = strlen(text);

    if (count > 0)
        snprintf(text + len, size - len, "%s%.0f %s", len ? ", " : "", count, what);
}

bool fault_outcome_is_bad(const struct fault_outcome *o)
{
    return o->judged && !o->missed && (o->lost > 0 || o->left > 0 || o->exits > 0);
}

void grid_fault_cell(struct cell *c, const struct fault_outcome *o)
{
    c->text[0] = '\0';
    if (o->missed) {
        c->mark = CELL_EMPTY;
        snprintf(c->text, sizeof c->text, "nobody to hit");
        return;
    }
    append_count(c->text, sizeof c->text, o->lost, "missing");
    append_count(c->text, sizeof c->text, o->left, "left");
    append_count(c->text, sizeof c->text, o->again, "again");
    append_count(c->text, sizeof c->text, o->exits, "exits");
    c->mark = !o->judged ? CELL_DOUBTFUL : fault_outcome_is_bad(o) ? CELL_BAD : CELL_GOOD;
    if (!c->text[0])
        snprintf(c->text, sizeof c->text, "ok");
    size_t len = strlen(c->text);
    if (!isnan(o->recovery_ms))
        snprintf(c->text + len, sizeof c->text - len, ", back in %.1f s", o->recovery_ms / 1000);
    len = strlen(c->text);
    if (o->runs > 1)
        snprintf(c->text + len, sizeof c->text - len, ", %d of %d runs", o->bad, o->runs);
    len = strlen(c->text);
    if (!o->judged)
        snprintf(c->text + len, sizeof c->text - len, " (inconclusive)");
}

// --- text -------------------------------------------------------------------------------

// A block for each subject: a terminal is too narrow for all columns side by side.
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

static void markdown_commands(const struct grid *g, struct buf *out)
{
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        if (r->absent[0])
            continue;
        buf_printf(out, "\n### %s\n\n%s.\n\n", r->name, r->mode);
        for (size_t c = 0; c < g->columns; c++) {
            if (r->cells[c].command[0])
                buf_printf(out, "- %s: `%s`\n", g->titles[c], r->cells[c].command);
        }
    }
}

void grid_markdown(const struct grid *g, struct buf *out)
{
    buf_printf(out, "%s, %s, %s.\n\n| subject |", g->when, g->server, g->machine);
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
    buf_printf(out, "\n\n## The commands\n");
    markdown_commands(g, out);
}

// --- html -------------------------------------------------------------------------------

static void html_cell(const struct cell *c, struct buf *out)
{
    static const char *const classes[] = {"empty", "figure", "good", "bad", "doubtful"};

    buf_printf(out, "<td class=\"%s\"", classes[c->mark]);
    if (c->command[0]) {
        buf_printf(out, " title=\"");
        append_escaped(out, c->command);
        buf_printf(out, "\"");
    }
    buf_printf(out, ">");
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
        html_cell(&r->cells[c], out);
    buf_printf(out, "</tr>\n");
}

static void html_commands(const struct grid *g, struct buf *out)
{
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        for (size_t c = 0; !r->absent[0] && c < g->columns; c++) {
            if (!r->cells[c].command[0])
                continue;
            buf_printf(out, "<dt>");
            append_escaped(out, r->name);
            buf_printf(out, ", ");
            append_escaped(out, g->titles[c]);
            buf_printf(out, "</dt><dd><code>");
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
    rest = append_until(out, rest, "{{commands}}");
    html_commands(g, out);
    buf_printf(out, "%s", rest);
}
