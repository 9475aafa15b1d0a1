// What the pages say, as one JSON object.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/finding.h"
#include "field/site.h"
#include "scenario/grammar.h"

static const char *or_nothing(const char *text)
{
    return text && strcmp(text, MANIFEST_NONE) != 0 ? text : "";
}

static json_t *cells_json(const struct grid *g, const struct grid_row *r, size_t from, size_t to)
{
    static const char *const marks[] = {
        [CELL_EMPTY] = "empty",
        [CELL_FIGURE] = "figure",
        [CELL_KEPT] = "kept",
        [CELL_BROKEN] = "broken",
        [CELL_DOUBTFUL] = "doubtful",
        [CELL_OTHER] = "other",
    };
    json_t *cells = json_array();

    for (size_t c = from; c < to; c++) {
        const struct cell *cell = &r->cells[c];
        json_array_append_new(
            cells, json_pack("{s:s, s:s, s:s, s:s, s:s}", "title", g->titles[c], "mark",
                       marks[cell->mark], "text", cell->text, "command", cell->command, "told",
                       cell->mark == CELL_BROKEN || cell->mark == CELL_DOUBTFUL ? cell->told : ""));
    }
    return cells;
}

static json_t *promises_json(const struct grid_row *r)
{
    json_t *promises = json_array();

    for (const struct word *w = promise_words; w->name; w++) {
        const struct quoted *q = quoted_find(&r->manifest.promises, (int)w->value);
        if (q)
            json_array_append_new(promises,
                json_pack("{s:s, s:s, s:s}", "promise", w->name, "quote", q->quote, "url", q->url));
    }
    return promises;
}

// Returns the manifest as text, which tells how the subject was run.
static json_t *manifest_text(const struct grid_row *r)
{
    char path[PATH_MAX + 20];
    struct buf text;
    struct err ignored;

    snprintf(path, sizeof path, "%s/subject.yaml", r->manifest.dir);
    buf_init(&text, 1 << 17);
    json_t *json =
        !r->ours && manifest_read(path, &text, &ignored) ? json_string(text.data) : json_string("");
    buf_fini(&text);
    return json;
}

static size_t count_marks(const struct grid *g, const struct grid_row *r, enum cell_mark mark)
{
    size_t count = 0;

    for (size_t c = 0; c < g->columns - g->speeds; c++)
        count += r->cells[c].mark == mark;
    return count;
}

// The findings about a project belong to each of its rows: graphile-worker-advised is one of
// graphile-worker's.
static json_t *findings_of(const struct grid_row *r, const json_t *all)
{
    json_t *own = json_array(), *finding;
    size_t i;

    json_array_foreach(all, i, finding)
    {
        const char *project = json_string_value(json_object_get(finding, "project"));
        if (strncmp(r->name, project, strlen(project)) == 0)
            json_array_append(own, finding);
    }
    return own;
}

static json_t *subject_json(const struct grid *g, const struct grid_row *r, const json_t *findings)
{
    const size_t verdicts = g->columns - g->speeds;
    const struct manifest *m = &r->manifest;
    size_t broken = count_marks(g, r, CELL_BROKEN), kept = count_marks(g, r, CELL_KEPT);
    char verdict[60];

    snprintf(verdict, sizeof verdict, broken ? "%zu of %zu broken" : "%zu of %zu kept",
        broken ? broken : kept, verdicts);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name",
        r->name, "version", r->version, "newest", or_nothing(m->newest), "kind",
        r->ours ? "ours" : manifest_kind_text(m->kind), "wakes", r->ours ? "LISTEN" : m->wakes,
        "runtime", r->runtime, "mode", r->mode, "ours", r->ours, "verdict", verdict, "mark",
        broken ? "broken" : "kept", "retry_documented", or_nothing(m->retry_documented), "promises",
        promises_json(r), "cells", cells_json(g, r, 0, verdicts), "speeds",
        cells_json(g, r, verdicts, g->columns), "manifest", manifest_text(r), "findings",
        findings_of(r, findings));
}

static json_t *finding_json(const struct field_finding *f)
{
    return json_pack("{s:s, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
        "id", f->id, "ours", f->ours, "title", f->title, "project", f->project, "state",
        finding_state_text(f->state), "first_bad", f->first_bad, "last_tested", f->last_tested,
        "fixed_in", or_nothing(f->fixed_in), "tracker", or_nothing(f->tracker), "quote", f->quote,
        "url", f->url, "seen", f->seen, "control", f->control, "workaround", f->workaround, "text",
        f->text);
}

static json_t *findings_json(struct err *e)
{
    json_t *all = json_array();
    char **ids = NULL;
    bool ok = finding_ids(&ids, e);

    for (size_t i = 0; ok && ids[i]; i++) {
        struct field_finding f;
        ok = finding_load(&f, ids[i], e);
        if (ok)
            json_array_append_new(all, finding_json(&f));
        finding_fini(&f);
    }
    finding_ids_free(ids);
    if (ok)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *titles_json(const struct grid *g, size_t from, size_t to)
{
    json_t *titles = json_array();

    for (size_t c = from; c < to; c++)
        json_array_append_new(titles, json_pack("{s:s}", "title", g->titles[c]));
    return titles;
}

json_t *site_json(const struct grid *g, struct err *e)
{
    const size_t verdicts = g->columns - g->speeds;
    json_t *findings = findings_json(e);
    json_t *subjects = json_array(), *own = json_array(), *absent = json_array();

    for (size_t i = 0; findings && i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        if (r->absent[0])
            json_array_append_new(absent, json_pack("{s:s}", "why", r->absent));
        else
            json_array_append_new(r->ours ? own : subjects, subject_json(g, r, findings));
    }
    // Our own collector stands last and apart, because we have an interest in it.
    json_t *root =
        findings ? json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:O}", "schema", 1,
                       "made", g->when, "program", g->program, "postgres", g->postgres, "machine",
                       g->machine, "columns", titles_json(g, 0, verdicts), "speed_columns",
                       titles_json(g, verdicts, g->columns), "subjects", subjects, "own", own,
                       "absent", absent, "findings", findings)
                 : NULL;
    if (!root && e->kind == ERR_NONE)
        err_memory(e);
    json_decref(findings);
    return root;
}
