// Makes the JSON object from which all pages of the site are filled in.

#include "field/finding.h"
#include "field/prose.h"
#include "field/site.h"
#include "os/paths.h"
#include "scenario/grammar.h"
#include "scenario/promises.h"

#define CARDS_MAX 4 // up to this many subjects are shown as cards, and more as rows of a table

// Returns the text; "" for NULL and for the word that stands for no value.
static const char *or_nothing(const char *text)
{
    return text && strcmp(text, MANIFEST_NONE) != 0 ? text : "";
}

// Returns a promise in plain words; NULL: there are none here, so the promise's name is shown.
static const char *plain_promise(int promise)
{
    static const struct {
        int promise;
        const char *words;
    } plain[] = {
        {PROMISE_NO_LOSS, "It loses no job, and leaves none undone"},
        {PROMISE_ONCE, "It runs each job once"},
        {PROMISE_RECONNECT, "It goes on after a lost session"},
        {PROMISE_SHARING, "Several workers share the jobs"},
        {PROMISE_STOP, "It ends in good order when it is asked to"},
    };

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (plain[i].promise == promise)
            return plain[i].words;
    }
    return NULL;
}

// Returns the promises in `which` (bits of enum promise; ~0: all), each with the words of the
// documentation and their address. "web" is true for an address that a page can link to.
static json_t *promises_json(const struct grid_row *r, int which)
{
    json_t *promises = json_array();

    for (const struct word *w = promise_words; w->name; w++) {
        const struct quoted *q = quoted_find(&r->manifest.promises, (int)w->value);
        const char *plain = plain_promise((int)w->value);
        if (q && (q->flag & which))
            json_array_append_new(promises,
                json_pack("{s:s, s:s, s:s, s:b}", "promise", plain ? plain : w->name, "quote",
                    q->quote, "url", q->url, "web", strstr(q->url, "://") != NULL));
    }
    return promises;
}

// Returns the length of the verdict, which ends at the first colon or semicolon of the cell's text.
// A page shows it apart from the figures that follow.
static size_t verdict_len(const struct cell *c)
{
    return strcspn(c->text, ":;");
}

// Returns what follows the verdict in a cell's text.
static const char *figures_of(const struct cell *c)
{
    const char *rest = c->text + verdict_len(c);

    return rest + strspn(rest, ":; ");
}

// Returns the cells of a row in the columns from `from` up to, but not including, `to`. "place" is
// the cell's id in the page of its subject, for links to it.
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
            cells, json_pack("{s:s, s:s, s:s, s:s%, s:s, s:o, s:s, s:s, s:o}", "title",
                       g->titles[c], "mark", marks[cell->mark], "text", cell->text, "verdict",
                       cell->text, verdict_len(cell), "figures", figures_of(cell), "place",
                       json_sprintf("run-%zu", c + 1), "command", cell->command, "told",
                       cell->mark == CELL_BROKEN || cell->mark == CELL_DOUBTFUL ? cell->told : "",
                       "against", promises_json(r, cell->broken)));
    }
    return cells;
}

// Returns a file of the subject's folder as text; "" when there is none, as for mailproof's own
// collector, or when it is no UTF-8 text or longer than 64 KiB.
static json_t *file_text(const struct grid_row *r, const char *name)
{
    char path[PATH_MAX];
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);
    struct err ignored;

    bool ok = !r->ours && path_join(path, r->manifest.dir, name, &ignored) && path_exists(path) &&
              path_read(path, &text, ERR_USAGE, &ignored);
    json_t *json = ok ? json_string(text.data) : NULL; // NULL: not UTF-8
    return json ? json : json_string("");
}

// Returns what the queue's maintainers answered (ANSWER.md): an array of paragraphs and blocks of
// code, as prose_blocks makes it. It is empty when there is no such file.
static json_t *answer_blocks(const struct grid_row *r)
{
    json_t *text FREED_BY(json_decrefp) = file_text(r, "ANSWER.md");

    return prose_blocks(json_string_value(text));
}

// Returns the source of the consumer: the first text file that its command names. Returns "" when
// there is none.
static json_t *consumer_text(const struct grid_row *r)
{
    json_t *text = json_string("");

    for (char **word = r->manifest.consumer; word && *word && !*json_string_value(text); word++) {
        json_decref(text);
        text = file_text(r, *word);
    }
    return text;
}

// Returns how many verdicts of a row have this mark; the speeds do not count.
static size_t count_marks(const struct grid *g, const struct grid_row *r, enum cell_mark mark)
{
    size_t count = 0;

    for (size_t c = 0; c < g->columns - g->speeds; c++)
        count += r->cells[c].mark == mark;
    return count;
}

// Returns the titles of the faults whose cells have this mark, as one text; "" when none has it.
static json_t *marked_text(const struct grid *g, const struct grid_row *r, enum cell_mark mark)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 14);

    for (size_t c = 0; c < g->columns - g->speeds; c++) {
        if (r->cells[c].mark == mark)
            buf_printf(&text, "%s%s", text.len > 0 ? ", " : "", g->titles[c]);
    }
    return json_string(text.len > 0 && buf_str(&text) ? text.data : "");
}

// True when the row's name is the project's, alone or before a hyphen: graphile-worker-advised
// belongs to graphile-worker, but pgqueuer does not belong to pgq.
static bool belongs_to_project(const struct grid_row *r, const char *project)
{
    size_t len = strlen(project);

    return strncmp(r->name, project, len) == 0 && (r->name[len] == '\0' || r->name[len] == '-');
}

// Returns the findings about a row's project, either the fixed ones or the others. Fixed findings
// accuse nobody any more, so they have a list of their own.
static json_t *findings_of(const struct grid_row *r, const json_t *all, bool fixed)
{
    json_t *own = json_array(), *finding;
    size_t i;

    json_array_foreach(all, i, finding)
    {
        const char *project = json_string_value(json_object_get(finding, "project"));
        const bool is_fixed = *json_string_value(json_object_get(finding, "fixed_in"));
        if (belongs_to_project(r, project) && is_fixed == fixed)
            json_array_append(own, finding);
    }
    return own;
}

// True when a finding is a draft, which was not sent to the queue's maintainers yet. A page with
// drafts says that it is not for publication.
static bool has_unsent(const json_t *findings)
{
    const json_t *finding;
    size_t i;

    json_array_foreach(findings, i, finding)
    {
        if (json_is_true(json_object_get(finding, "draft")))
            return true;
    }
    return false;
}

// Returns how many questions of a row have an answer. Columns of speeds are no questions.
static size_t count_asked(const struct grid *g, const struct grid_row *r)
{
    return g->columns - g->speeds - count_marks(g, r, CELL_EMPTY);
}

// Writes how many answers are broken. It does not count those that are kept: "9 of 11 kept" would
// sound as if the other two were broken, though they may be documented or not promised. Without
// answers it says so, because "none of 0 broken" would acquit.
static void describe_verdict(
    const struct grid *g, const struct grid_row *r, char *verdict, size_t size)
{
    size_t broken = count_marks(g, r, CELL_BROKEN), asked = count_asked(g, r);

    if (asked == 0)
        snprintf(verdict, size, "not asked");
    else if (broken > 0)
        snprintf(verdict, size, "%zu of %zu broken", broken, asked);
    else
        snprintf(verdict, size, "none of %zu broken here", asked);
}

// Returns the mark that gives the verdict its colour. A row with a doubtful cell is not shown as
// kept.
static const char *verdict_mark(const struct grid *g, const struct grid_row *r)
{
    if (count_marks(g, r, CELL_BROKEN) > 0)
        return "broken";
    if (count_marks(g, r, CELL_DOUBTFUL) > 0)
        return "doubtful";
    return count_asked(g, r) > 0 ? "kept" : "empty";
}

// Returns all that the page and the badge of a subject show.
static json_t *subject_json(const struct grid *g, const struct grid_row *r, const json_t *findings)
{
    const size_t verdicts = g->columns - g->speeds;
    const struct manifest *m = &r->manifest;
    // Without an answer the page shows why, which the first cell says.
    const bool has_answers = count_asked(g, r) > 0;
    // The row of a user's own subject is named by its path, which cannot be the name of a page.
    const char *page_name = m->name ? m->name : r->name;
    json_t *open = findings_of(r, findings, false);
    bool unsent = has_unsent(open);
    char verdict[60];

    describe_verdict(g, r, verdict, sizeof verdict);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:o, s:s, s:b}",
        "name", r->name, "version", r->version, "newest", or_nothing(m->newest), "kind",
        r->ours ? "ours" : manifest_kind_text(m->kind), "wakes", m->wakes, "concurrency",
        m->concurrency, "runtime", r->runtime, "mode", r->mode, "ours", r->ours, "verdict", verdict,
        "mark", verdict_mark(g, r), "retry_documented", or_nothing(m->retry_documented), "promises",
        promises_json(r, ~0), "cells", cells_json(g, r, 0, verdicts), "speeds",
        cells_json(g, r, verdicts, g->columns), "manifest", file_text(r, "subject.yaml"),
        "consumer", consumer_text(r), "findings", open, "fixed", findings_of(r, findings, true),
        "answer", answer_blocks(r), "broke", marked_text(g, r, CELL_BROKEN), "doubtful",
        marked_text(g, r, CELL_DOUBTFUL), "asked", has_answers, "unasked",
        has_answers ? "" : figures_of(&r->cells[0]), "own_page",
        json_sprintf("%s-%s.html", page_name, r->version), "short", page_name, "unsent", unsent);
}

// Returns the mode of the first subject that shows a finding. It names the settings, which a page
// needs because it may also show the finding beside a row with other settings.
static json_t *settings_of(const struct field_finding *f)
{
    struct manifest m FREED_BY(manifest_fini) = {0};
    char path[PATH_MAX];
    struct err ignored;

    bool ok = path_join(path, f->dir, f->bad[0], &ignored) && manifest_load(&m, path, &ignored);
    return json_string(ok ? m.mode : "");
}

static json_t *finding_json(const struct field_finding *f)
{
    return json_pack(
        "{s:s, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o}",
        "id", f->id, "ours", f->ours, "title", f->title, "project", f->project, "state",
        finding_state_text(f->state), "first_bad", f->first_bad, "last_tested", f->last_tested,
        "fixed_in", or_nothing(f->fixed_in), "tracker", or_nothing(f->tracker), "quote", f->quote,
        "url", f->url, "seen", f->seen, "control", f->control, "workaround", f->workaround, "draft",
        f->state == FINDING_DRAFT, "settings", settings_of(f), "blocks", prose_blocks(f->text));
}

// Returns all findings; NULL with the error when one of them cannot be read.
static json_t *findings_json(struct err *e)
{
    json_t *all = json_array();
    char **ids = NULL;
    bool ok = finding_ids(&ids, e);

    for (size_t i = 0; ok && ids[i]; i++) {
        struct field_finding f FREED_BY(finding_fini) = {0};
        ok = finding_load(&f, ids[i], e);
        // If any finding cannot be read, no site is made: silently leaving it out would acquit the
        // queue.
        if (ok)
            json_array_append_new(all, finding_json(&f));
    }
    memory_free_texts(ids);
    if (ok)
        return all;
    json_decref(all);
    return NULL;
}

// Returns the titles of the columns from `from` up to, but not including, `to`.
static json_t *titles_json(const struct grid *g, size_t from, size_t to)
{
    json_t *titles = json_array();

    for (size_t c = from; c < to; c++)
        json_array_append_new(titles, json_pack("{s:s}", "title", g->titles[c]));
    return titles;
}

static bool has_speeds(const struct grid *g)
{
    for (size_t i = 0; i < g->row_count; i++) {
        for (size_t c = g->columns - g->speeds; c < g->columns; c++) {
            if (g->rows[i].cells[c].mark == CELL_FIGURE)
                return true;
        }
    }
    return false;
}

json_t *site_json(const struct grid *g, struct err *e)
{
    const size_t verdicts = g->columns - g->speeds;
    json_t *findings FREED_BY(json_decrefp) = findings_json(e);

    if (!findings)
        return NULL;
    json_t *subjects = json_array(), *own = json_array(), *absent = json_array();
    bool broken = false, asked = false; // in any row
    for (size_t i = 0; i < g->row_count; i++) {
        const struct grid_row *r = &g->rows[i];
        broken = broken || count_marks(g, r, CELL_BROKEN) > 0;
        asked = asked || count_asked(g, r) > 0;
        if (r->absent[0])
            json_array_append_new(absent, json_pack("{s:s}", "why", r->absent));
        else
            json_array_append_new(r->ours ? own : subjects, subject_json(g, r, findings));
    }
    // mailproof's own collector is in a list of its own and shown last, because the authors have an
    // interest in it.
    json_t *root = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:O}",
        "schema", 1, "made", g->when, "day", g->until[0] ? g->until : g->when, "program",
        g->program, "postgres", g->postgres, "machine", g->machine, "speeds_measured",
        has_speeds(g), "broken", broken, "asked", asked, "few",
        json_array_size(subjects) + json_array_size(own) <= CARDS_MAX, "unsent",
        has_unsent(findings), "columns", titles_json(g, 0, verdicts), "speed_columns",
        titles_json(g, verdicts, g->columns), "subjects", subjects, "own", own, "absent", absent,
        "findings", findings);
    if (!root)
        err_set(e, ERR_USAGE, "no site can be made: a text of the table is not UTF-8");
    return root;
}
