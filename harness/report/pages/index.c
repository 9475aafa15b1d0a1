#include "report/pages/index.h"

#include <ctype.h>
#include <math.h>

#include "os/paths.h"
#include "page.h"
#include "report/escape.h"
#include "report/folder.h"
#include "report/gather.h"
#include "report/files/stored.h"
#include "report/suite.h"
#include "report/pages/template.h"

#define INDEX_MAX (16u << 20)

// The figures of a row, in the order of the table's head.
static const struct {
    enum metric_id id;
    int digits;
} columns[] = {
    {METRIC_LATENCY_P50, 1},
    {METRIC_LATENCY_P99, 1},
    {METRIC_RATE_DELIVERED, 1},
    {METRIC_LOST, 0},
    {METRIC_DUPLICATED, 0},
};

// Writes "20261121T024810Z-1" as "2026-11-21 02:48:10", and any other name unchanged.
static void put_index_time(struct buf *out, const char *name)
{
    static const char shape[] = "ddddddddTddddddZ";
    size_t i = 0;

    while (shape[i] && (shape[i] == 'd' ? isdigit((unsigned char)name[i]) : name[i] == shape[i]))
        i++;
    if (shape[i])
        append_escaped(out, name);
    else
        buf_printf(out, "%.4s-%.2s-%.2s %.2s:%.2s:%.2s", name, name + 4, name + 6, name + 9,
            name + 11, name + 13);
}

// Puts the cells of the row's figures. That of a broken invariant is marked.
static void put_figures(struct buf *out, const struct stored *s)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        double value = s->values[columns[i].id];
        if (isnan(value))
            buf_append_str(out, "<td class=\"n\">–</td>");
        else
            buf_printf(out, "<td class=\"n%s\">%.*f</td>",
                s->broken[columns[i].id] ? " violated" : "", columns[i].digits, value);
    }
}

// Puts what broke next to the verdict, because that is what people look for in the rows. The
// tooltip has the reason of an inconclusive run with its part in brackets, which stored_broke
// drops.
static void put_broke(struct buf *out, const struct stored *s)
{
    char broke[400];

    stored_broke(s, broke, sizeof broke);
    buf_append_str(out, "<td class=\"broke\" title=\"");
    append_escaped(out, s->verdict == VERDICT_INCONCLUSIVE ? s->reason : "");
    buf_append_str(out, "\">");
    append_escaped(out, broke);
    buf_append_str(out, "</td>");
}

// Puts the program and the changed options. --promises is followed by one long word that is the
// same in most rows, so both are left to the tooltip and to the run's page.
static void put_ran(struct buf *out, const struct stored *s)
{
    static const char option[] = "--promises ";
    char shown[sizeof s->changed];
    const char *between = s->program[0] && s->changed[0] ? "; " : "";

    snprintf(shown, sizeof shown, "%s", s->changed);
    char *at = strstr(shown, option);
    if (at) {
        char *rest = at + strlen(option);
        rest += strcspn(rest, " ");
        memmove(at, rest + (*rest == ' '), strlen(rest + (*rest == ' ')) + 1);
    }
    buf_append_str(out, "<td class=\"ran\" title=\"");
    append_escaped(out, s->changed);
    buf_append_str(out, "\">");
    append_escaped(out, s->program);
    append_escaped(out, shown[0] ? between : "");
    append_escaped(out, shown);
    buf_append_str(out, "</td>");
}

// Returns the part of a gathered folder's path that comes after `dir`. The gathered path has none
// of the slashes that dir may end with.
static const char *path_below(const char *dir, const char *folder)
{
    size_t len = strlen(dir);

    while (len > 1 && dir[len - 1] == '/')
        len--;
    return folder + len + (folder[len] == '/');
}

// A run in the table.
struct row {
    struct stored run;
    bool newest;  // the scenario's newest run
    size_t place; // rank by time: 0 for the newest run of all
};

// Puts a row of the index: a link to the run's page, which is relative to `dir`, and its results.
static void put_index_row(struct buf *out, const char *dir, const struct row *row)
{
    const struct stored *s = &row->run;
    const char *below = path_below(dir, s->folder);

    buf_printf(out, "<tr%s><td><a href=\"", row->newest ? "" : " class=\"older\"");
    append_url(out, *below ? below : ".");
    // A recorded run may have no page.
    buf_printf(out, "/%s\">", path_has(s->folder, "report.html") ? "report.html" : "result.json");
    append_escaped(out, s->scenario);
    buf_append_str(out, "</a></td><td title=\"");
    append_escaped(out, below);
    buf_append_str(out, "\">");
    put_index_time(out, path_name(s->folder));
    buf_printf(
        out, "</td><td class=\"%s\">%s</td>", verdict_name(s->verdict), verdict_name(s->verdict));
    put_broke(out, s);
    put_figures(out, s);
    put_ran(out, s);
    buf_append_str(out, "</tr>\n");
}

// Reads the runs, the newest first. Returns how many could be read.
static size_t read_rows(struct row *rows, const struct gathered *g)
{
    size_t tried = g->count < INDEX_RUNS_MAX ? g->count : INDEX_RUNS_MAX, count = 0;
    struct err ignored;

    for (size_t i = 0; i < tried; i++) {
        struct row *row = &rows[count];
        // A folder of a later version, or a damaged one, must not keep the others from being
        // listed.
        if (!stored_read(&row->run, g->folders[i], &ignored))
            continue;
        row->place = count;
        row->newest = true;
        for (size_t k = 0; k < count && row->newest; k++)
            row->newest = strcmp(rows[k].run.scenario, row->run.scenario) != 0;
        count++;
    }
    return count;
}

// Orders rows for qsort. The newest run of each scenario stands above all older runs, because what
// failed in an older one may be mended. Of the newest runs the worst verdict comes first; the older
// ones follow by time.
static int by_concern(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->newest != y->newest)
        return x->newest ? -1 : 1;
    if (x->newest && x->run.verdict != y->run.verdict)
        return suite_severity_of(x->run.verdict) > suite_severity_of(y->run.verdict) ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

// Puts the rows of the table, and a last row with the number of runs that are not shown.
static void put_rows(struct buf *out, const char *dir, const struct gathered *g)
{
    struct row *rows FREED_BY(memory_free) = memory_zeroed(INDEX_RUNS_MAX, sizeof *rows);

    size_t shown = read_rows(rows, g);
    qsort(rows, shown, sizeof *rows, by_concern);
    for (size_t i = 0; i < shown; i++)
        put_index_row(out, dir, &rows[i]);
    if (shown == 0)
        buf_append_str(out, "<tr><td colspan=\"10\">no run yet</td></tr>\n");
    if (g->count > shown)
        buf_printf(out, "<tr><td colspan=\"10\">and %zu more below this folder</td></tr>\n",
            g->count - shown);
}

static void fill_index(struct buf *out, const char *dir, const struct gathered *g)
{
    static const char *const marks[] = {"rows", "script", NULL};
    const char *rest = page_index;

    for (int mark; (mark = template_next(out, &rest, marks)) != TEMPLATE_END;) {
        if (mark == 0) { // {{rows}}
            put_rows(out, dir, g);
        } else {
            buf_append_str(out, page_sort);
            buf_append_str(out, page_trend);
        }
    }
}

bool index_write(const char *dir, struct err *e)
{
    struct gathered g FREED_BY(gather_fini) = {0};
    struct buf out FREED_BY(buf_fini) = BUF_INIT(INDEX_MAX);

    if (!gather_results(&g, dir, e))
        return false;
    fill_index(&out, dir, &g);
    return folder_write(dir, "index.html", &out, e);
}
