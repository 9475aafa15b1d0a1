#include "field/site.h"

#include <openssl/evp.h>

#include "field_pages.h"
#include "os/paths.h"
#include "report/escape.h"
#include "report/pages/template.h"

#define PAGE_MAX (16u << 20)

// Writes a file of the site, and makes the folders above it.
static bool write_bytes(
    const char *dir, const char *name, const void *bytes, size_t len, struct err *e)
{
    char path[PATH_MAX];

    if (!path_join(path, dir, name, e) || !path_make_parent(path, e))
        return false;
    FILE *file = fopen(path, "we");
    bool ok = file && fwrite(bytes, 1, len, file) == len;
    ok = file && fclose(file) == 0 && ok;
    return ok || err_sys(e, ERR_SYSTEM, "cannot write %s", path);
}

// Writes a file from two templates, one after the other, filled in from `root`.
static bool write_filled(const char *dir, const char *name, const char *head, const char *page,
    const json_t *root, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(PAGE_MAX);

    fill_template(&text, head, root);
    fill_template(&text, page, root);
    return buf_str(&text) ? write_bytes(dir, name, text.data, text.len, e)
                          : err_set(e, ERR_INTERNAL, "%s would be too long", name);
}

// Writes a page: the head, which is the same on all pages except for `title`, and the page's body
// from the template `page`, filled in from `root`.
static bool write_page(const char *dir, const char *name, const char *title, const char *page,
    const json_t *root, struct err *e)
{
    json_t *own FREED_BY(json_decrefp) = json_copy((json_t *)root);

    json_object_set_new(own, "page", json_string(title));
    return write_filled(dir, name, field_pages_head, page, own, e);
}

// Writes the page and the badge of a subject. Their templates may use its members and those of the
// root, such as the date.
static bool write_subject(const char *dir, const json_t *root, const json_t *subject, struct err *e)
{
    const char *page = json_string_value(json_object_get(subject, "own_page"));
    json_t *both FREED_BY(json_decrefp) = json_copy((json_t *)root);
    const char *short_name = json_string_value(json_object_get(subject, "short"));
    const char *version = json_string_value(json_object_get(subject, "version"));
    char name[200], title[200];

    json_object_update(both, (json_t *)subject);
    snprintf(title, sizeof title, "%s %s under faults", short_name, version);
    bool ok = write_page(dir, page, title, field_pages_subject, both, e);
    snprintf(name, sizeof name, "badges/%s-%s.svg", short_name, version);
    return ok && write_filled(dir, name, "", field_pages_badge, both, e);
}

// `list`: "subjects", or "own" for mailproof's own collector, which is shown apart.
static bool write_subjects(const char *dir, const json_t *root, const char *list, struct err *e)
{
    const json_t *subject;
    size_t i;

    json_array_foreach(json_object_get(root, list), i, subject)
    {
        if (!write_subject(dir, root, subject, e))
            return false;
    }
    return true;
}

static bool write_json(const char *dir, const char *name, const json_t *value, struct err *e)
{
    char *text FREED_BY(memory_free) = json_dumps(value, JSON_INDENT(1));
    return write_bytes(dir, name, text, strlen(text), e);
}

// --- the raw results --------------------------------------------------------------------

// Appends a line in the format of sha256sum.
static void append_checksum(struct buf *sums, const char *name, const struct buf *text)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int len = 0;

    if (!EVP_Digest(text->data, text->len, sum, &len, EVP_sha256(), NULL))
        return;
    for (unsigned int i = 0; i < len; i++)
        buf_printf(sums, "%02x", sum[i]);
    buf_printf(sums, "  %s\n", name);
}

// Copies the result.json of one run to raw/ and appends its checksum. If the run's folder is gone,
// nothing is copied; the run's figures are still in raw/runs.json.
static bool copy_result(
    const char *dir, const char *name, const char *folder, struct buf *sums, struct err *e)
{
    char path[PATH_MAX], place[80];
    struct buf text FREED_BY(buf_fini) = BUF_INIT(PAGE_MAX);
    struct err none;
    bool ok = true;

    snprintf(place, sizeof place, "raw/%s", name);
    if (path_join(path, folder, "result.json", &none) && path_read(path, &text, ERR_USAGE, &none) &&
        text.len > 0) {
        ok = write_bytes(dir, place, text.data, text.len, e);
        append_checksum(sums, name, &text);
    }
    return ok;
}

// Writes the name of a run's result in raw/, which is the run's number among the answers, from 1.
static void raw_name(char name[40], size_t number)
{
    snprintf(name, 40, "%04zu.json", number);
}

static bool has_result(const json_t *line)
{
    const char *folder = json_string_value(json_object_get(line, "folder"));

    return folder && path_has(folder, "result.json");
}

// Returns the seeds and file names of those runs of a cell whose results exist. The keys of a
// cell's runs (experiment_key) are equal, except that all but the first, of seed 1, end with the
// seed. A cell that was not run has no command.
static json_t *runs_of(const char *subject, const char *version, const char *command,
    const struct answer_file *answers)
{
    json_t *runs = json_array(), *line;
    char first_key[ANSWERS_KEY_MAX];
    const char *key;
    size_t number = 0;

    int len = snprintf(first_key, sizeof first_key, "%s %s: %s", subject, version, command);
    json_object_foreach(answers->all, key, line)
    {
        char name[40];
        int seed = 1;
        raw_name(name, ++number);
        const bool same = *command && strncmp(key, first_key, (size_t)len) == 0;
        if (!same || (key[len] && sscanf(key + len, " --set 'seed=%d'", &seed) != 1))
            continue;
        if (has_result(line))
            json_array_append_new(runs, json_pack("{s:i, s:s}", "seed", seed, "file", name));
    }
    return runs;
}

// Adds to each cell of the subjects in `list` the runs whose results exist.
static void link_runs(json_t *root, const char *list, const struct answer_file *answers)
{
    json_t *subject, *cell;
    size_t i, c;

    json_array_foreach(json_object_get(root, list), i, subject)
    {
        json_array_foreach(json_object_get(subject, "cells"), c, cell)
            json_object_set_new(cell, "runs",
                runs_of(json_string_value(json_object_get(subject, "name")),
                    json_string_value(json_object_get(subject, "version")),
                    json_string_value(json_object_get(cell, "command")), answers));
    }
}

// Writes the raw results: a copy of each result.json, runs.json with all answers, and the
// checksums.
static bool write_raw(const char *dir, const struct answer_file *answers, struct err *e)
{
    struct buf sums FREED_BY(buf_fini) = BUF_INIT(PAGE_MAX);
    const char *run;
    json_t *line, *index FREED_BY(json_decrefp) = json_array();
    bool ok = true;

    json_object_foreach(answers->all, run, line)
    {
        char name[40];
        const char *folder = json_string_value(json_object_get(line, "folder"));
        raw_name(name, json_array_size(index) + 1);
        json_t *copy = json_copy(line);
        json_object_del(copy, "folder"); // a path on the machine that made the run
        json_object_set_new(copy, "file", json_string(name));
        json_array_append_new(index, copy);
        ok = ok && (!folder || copy_result(dir, name, folder, &sums, e));
    }
    return ok && write_json(dir, "raw/runs.json", index, e) &&
           (buf_str(&sums) || err_set(e, ERR_INTERNAL, "raw/SHA256SUMS would be too long")) &&
           write_bytes(dir, "raw/SHA256SUMS", sums.data, sums.len, e);
}

bool site_write(
    const struct grid *g, const struct answer_file *answers, const char *dir, struct err *e)
{
    json_t *root FREED_BY(json_decrefp) = site_json(g, e);

    if (!root)
        return false;
    link_runs(root, "subjects", answers);
    link_runs(root, "own", answers);
    bool ok = write_page(dir, "index.html", "The field: queues on PostgreSQL under faults",
        field_pages_index, root, e);
    // "few" turns the rows of a page's tables into cards. Only in the index is each row a subject,
    // so no other page gets "few".
    json_object_del(root, "few");
    return ok &&
           write_page(
               dir, "findings.html", "Findings of the field", field_pages_findings, root, e) &&
           write_page(dir, "rules.html", "What is fair in the field", field_pages_rules, root, e) &&
           write_subjects(dir, root, "subjects", e) && write_subjects(dir, root, "own", e) &&
           write_json(dir, "field.json", root, e) && write_raw(dir, answers, e);
}

// --- a template that is filled in ----------------------------------------------------

#define DEPTH_MAX 8
#define NAME_MAX_LEN 40

// The JSON objects in which the member of a name is looked for: the root first, the innermost last.
struct scope {
    const json_t *values[DEPTH_MAX];
    size_t depth;
};

static const json_t *find_member(const struct scope *s, const char *name)
{
    for (size_t i = s->depth; i-- > 0;) {
        const json_t *value = json_object_get(s->values[i], name);
        if (value)
            return value;
    }
    return NULL;
}

static bool is_empty(const json_t *v)
{
    return !v || json_is_null(v) || json_is_false(v) ||
           (json_is_array(v) && json_array_size(v) == 0) ||
           (json_is_string(v) && json_string_length(v) == 0);
}

static void put_value(struct buf *out, const json_t *v)
{
    if (json_is_string(v))
        append_escaped(out, json_string_value(v));
    else if (json_is_integer(v))
        buf_printf(out, "%lld", (long long)json_integer_value(v));
}

// Appends the style that all pages share: template_next fills in this mark by itself.
static void put_style(struct buf *out)
{
    static const char *const none[] = {NULL};
    const char *rest = "{{style}}";

    template_next(out, &rest, none);
}

// Returns the end of the content of the section `name`, which begins at `from` and ends before
// `to`. Sections of the same name inside it are passed over. *after is what follows the closing
// mark.
static const char *section_end(
    const char *from, const char *to, const char *name, const char **after)
{
    char open[NAME_MAX_LEN + 8], none[NAME_MAX_LEN + 8], close[NAME_MAX_LEN + 8];
    int depth = 1;

    snprintf(open, sizeof open, "{{#%s}}", name);
    snprintf(none, sizeof none, "{{^%s}}", name);
    snprintf(close, sizeof close, "{{/%s}}", name);
    for (const char *at = from; (at = strstr(at, "{{")) != NULL && at < to; at += 2) {
        depth += strncmp(at, open, strlen(open)) == 0 || strncmp(at, none, strlen(none)) == 0;
        depth -= strncmp(at, close, strlen(close)) == 0;
        *after = at + strlen(close); // right only when this mark closes the section
        if (depth == 0)
            return at;
    }
    assert(!"a section has no end");
    return to;
}

static void fill_place(struct buf *out, const char *from, const char *to, struct scope *s);

// Fills in the text from `from` to `to`, in which names mean members of `value` first.
static void fill_inside(
    struct buf *out, const char *from, const char *to, struct scope *s, const json_t *value)
{
    assert(s->depth < DEPTH_MAX);
    s->values[s->depth++] = value;
    fill_place(out, from, to, s);
    s->depth--;
}

// Fills in a section once for each item of a list, once for another value, or not at all if the
// value is empty.
static void fill_section(
    struct buf *out, const char *from, const char *to, struct scope *s, const json_t *value)
{
    const json_t *item;
    size_t i;

    if (is_empty(value))
        return;
    if (!json_is_array(value))
        fill_inside(out, from, to, s, value);
    else
        json_array_foreach(value, i, item) fill_inside(out, from, to, s, item);
}

// Fills in the text from `from` to `to`: copies it up to the next mark, and handles the mark.
static void fill_place(struct buf *out, const char *from, const char *to, struct scope *s)
{
    const char *begin;

    while ((begin = strstr(from, "{{")) != NULL && begin < to) {
        const char *mark = begin + 2, *end = strstr(mark, "}}"), *after = NULL;
        const bool section = *mark == '#' || *mark == '^'; // the name begins after this character
        char name[NAME_MAX_LEN + 1];

        // The templates are a part of the program, so a wrong mark is a bug.
        assert(end && end < to && end - mark <= NAME_MAX_LEN);
        snprintf(name, sizeof name, "%.*s", (int)(end - mark - section), mark + section);
        buf_append(out, from, (size_t)(begin - from));
        from = end + 2;
        if (section) {
            const json_t *value = find_member(s, name);
            const char *last = section_end(from, to, name, &after);
            if (*mark == '#')
                fill_section(out, from, last, s, value);
            else if (is_empty(value))
                fill_place(out, from, last, s);
            from = after;
        } else if (strcmp(name, "style") == 0) {
            put_style(out);
        } else {
            put_value(out, find_member(s, name));
        }
    }
    buf_append(out, from, (size_t)(to - from));
}

void fill_template(struct buf *out, const char *page, const json_t *root)
{
    struct scope s = {.values = {root}, .depth = 1};

    fill_place(out, page, page + strlen(page), &s);
}
