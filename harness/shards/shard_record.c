#include "shards/shard_record.h"

#include "os/paths.h"
#include "shards/merge.h"

#define FORMAT 1

// --- reading ----------------------------------------------------------------------------

// Makes the first line of a record. NULL when a text is not UTF-8.
static json_t *record_head_json(const struct record_head *head)
{
    json_t *asked = json_array();

    for (size_t i = 0; head->asked && head->asked[i]; i++)
        json_array_append_new(asked, json_string(head->asked[i]));
    return json_pack("{s:i, s:s, s:s, s:o, s:s, s:i, s:i}", "record", FORMAT, "command",
        head->command, "about", head->about, "asked", asked, "program", head->program, "shard",
        head->shard.number, "of", head->shard.of);
}

// Keeps the first line of a file as the record's head. False when the line begins no record.
static bool take_head(struct record *r, json_t *head, struct err *e)
{
    if (json_integer_value(json_object_get(head, "record")) != FORMAT)
        return err_set(e, ERR_USAGE, "its first line does not begin a record");
    r->head = json_incref(head);
    r->shard = (struct shard){(int)json_integer_value(json_object_get(head, "shard")),
        (int)json_integer_value(json_object_get(head, "of"))};
    return true;
}

// Adds one whole line of a file to the record; the first one is its head. *finished: this line says
// that the shard is finished.
static bool take_record_line(struct record *r, char *text, bool *finished, struct err *e)
{
    json_t *line FREED_BY(json_decrefp) = json_loads(text, 0, NULL);
    bool ok = json_is_object(line) || err_set(e, ERR_USAGE, "this is no JSON object");

    if (ok && !r->head) {
        ok = take_head(r, line, e);
    } else if (ok) {
        // Only the last line counts: a shard that goes on after "finished" writes further lines,
        // and is then not finished any more.
        *finished = json_object_get(line, "finished");
        if (!*finished)
            json_array_append(r->lines, line);
    }
    return ok;
}

// Reads all lines. A process that was killed while it wrote leaves half a line at the end. This
// line is skipped, *half is set, and *whole is the length of the file without it. *finished: the
// last whole line says that the shard is finished.
static bool take_record_lines(
    struct record *r, FILE *file, off_t *whole, bool *half, bool *finished, struct err *e)
{
    char *text FREED_BY(memory_free) = NULL;
    size_t size = 0;
    ssize_t len;
    bool ok = true;

    for (int number = 1; ok && !*half && (len = getline(&text, &size, file)) > 0; number++) {
        *half = text[len - 1] != '\n';
        ok = *half || take_record_line(r, text, finished, e) || err_prefix(e, "line %d", number);
        *whole += *half ? 0 : len;
    }
    return ok;
}

bool record_read(struct record *r, const char *path, bool *finished, struct err *e)
{
    FILE *file = fopen(path, "re");
    off_t whole = 0;
    bool half = false;

    *finished = false;
    *r = (struct record){.lines = json_array()};
    bool ok = (file || err_sys(e, ERR_USAGE, "cannot read it")) &&
              take_record_lines(r, file, &whole, &half, finished, e) &&
              (r->head || err_set(e, ERR_USAGE, "it is empty"));
    if (file)
        fclose(file);
    return ok || err_prefix(e, "%s", path);
}

// --- going on -----------------------------------------------------------------------------

// True when both records are of the same work and shard. The program's version need not be the
// same: a new version may go on with a record, though merge wants the same version everywhere.
static bool is_same_work(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"command", "about", "shard", "of"};
    bool same = true;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        same = same && json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i]));
    return same;
}

// Removes the old record and its lines, so that a new record begins.
static bool begin_anew(struct record *r, const char *path, struct err *e)
{
    json_decref(r->head);
    r->head = NULL;
    json_array_clear(r->lines);
    return unlink(path) == 0 || err_sys(e, ERR_SYSTEM, "cannot remove it");
}

// Reads the record that is there already, or removes it if it is to be begun anew. It is no error
// when there is none. `head` is the first line that `h` gives.
static bool read_old(struct record *r, const char *path, const json_t *head,
    const struct record_head *h, struct err *e)
{
    FILE *old = fopen(path, "re");
    off_t whole = 0;
    bool half = false, finished = false;

    if (!old)
        return errno == ENOENT || err_sys(e, ERR_USAGE, "cannot read it");
    bool ok = h->anew || take_record_lines(r, old, &whole, &half, &finished, e);
    fclose(old);
    if (h->anew)
        return begin_anew(r, path, e);
    // Remove half a line at the end, because the next line would continue it.
    if (ok && half && truncate(path, whole) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot remove the incomplete last line");
    // Items that were made with other options must not be added up with those of these options.
    if (ok && r->head && !is_same_work(r->head, head))
        return err_set(e, ERR_USAGE,
            "it belongs to other work: %.300s; choose another --out, or repeat those options",
            json_string_value(json_object_get(r->head, "about")));
    return ok && (!finished || !h->anew_if_finished || begin_anew(r, path, e));
}

// Appends a line to the file; does nothing for a record that is kept in memory only.
static bool write_record_line(struct record *r, const json_t *line, struct err *e)
{
    if (!r->file)
        return true;
    // Write to the file at once, so that the items that are done are known however the process
    // ends.
    return (json_dumpf(line, r->file, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 &&
               fputc('\n', r->file) != EOF && fflush(r->file) == 0) ||
           err_sys(e, ERR_SYSTEM, "cannot write %s/%s", r->folder, RECORD_NAME);
}

// Adds the lines of merged shards to the record. False when the command's options mean other work
// here than they did for the shards, for example because a scenario was changed since then.
static bool take_merged_lines(
    struct record *r, const struct merged *m, const struct record_head *own, struct err *e)
{
    const char *about = json_string_value(json_object_get(m->head, "about"));
    size_t i;
    json_t *line;

    r->merged = m;
    if (!about || strcmp(about, own->about) != 0)
        return err_set(e, ERR_USAGE,
            "the shards did other work than these options mean here: %.300s; here it is %.300s",
            about ? about : "none", own->about);
    json_array_foreach(m->lines, i, line)
    {
        if (!record_add(r, json_incref(line), e))
            return false;
    }
    return true;
}

// Opens the file for writing: for merged shards a new one. Otherwise an old record is read first,
// and new lines are appended to it. `head` is the first line that `h` gives.
static bool open_record_file(
    struct record *r, const char *folder, const struct record_head *h, json_t *head, struct err *e)
{
    char path[PATH_MAX];

    if (!path_make(folder, e) || !path_join(path, folder, RECORD_NAME, e))
        return false;
    if (!h->merged && !read_old(r, path, head, h, e))
        return err_prefix(e, "%s", path);
    snprintf(r->folder, sizeof r->folder, "%s", folder);
    r->file = fopen(path, h->merged ? "we" : "ae");
    return r->file || err_sys(e, ERR_USAGE, "cannot write %s", path);
}

bool record_open(struct record *r, const char *folder, const struct record_head *h, struct err *e)
{
    json_t *head FREED_BY(json_decrefp) = record_head_json(h);

    *r = (struct record){.lines = json_array()};
    if (!head)
        return err_set(e, ERR_USAGE, "an argument of the command is not UTF-8");
    bool ok = !folder || open_record_file(r, folder, h, head, e);
    r->shard = h->shard;
    r->temporary = h->temporary;
    // A record file that existed before has its first line already.
    if (ok && !r->head) {
        r->head = json_incref(head);
        ok = write_record_line(r, head, e);
    }
    return ok && (!h->merged || take_merged_lines(r, h->merged, h, e));
}

void record_close(struct record *r)
{
    record_suspend(r);
    json_decref(r->head);
    json_decref(r->lines);
    *r = (struct record){0};
}

bool record_add(struct record *r, json_t *line, struct err *e)
{
    if (!line)
        return err_set(e, ERR_INTERNAL, "a text for %s is not UTF-8", RECORD_NAME);
    json_array_append_new(r->lines, line);
    return write_record_line(r, line, e);
}

// Removes the record's file, and its folder if that is then empty.
static void remove_record(struct record *r)
{
    char path[PATH_MAX];
    struct err ignored;

    if (!r->file)
        return;
    record_suspend(r);
    if (path_join(path, r->folder, RECORD_NAME, &ignored))
        unlink(path);
    rmdir(r->folder);
}

bool record_finish(struct record *r, struct err *e)
{
    if (r->temporary) {
        remove_record(r);
        return true;
    }
    json_t *line FREED_BY(json_decrefp) = json_pack("{s:b}", "finished", 1);
    return write_record_line(r, line, e);
}

void record_forget(struct record *r)
{
    r->forgot = r->forgot || json_array_size(r->lines) > 0;
    json_array_clear(r->lines);
}

void record_suspend(struct record *r)
{
    if (r->file)
        fclose(r->file);
    r->file = NULL;
}

// --- what it holds --------------------------------------------------------------------------

bool record_wants(const struct record *r, uint64_t number)
{
    return !r->merged && shard_has(&r->shard, number);
}

// A line of the record: the number of its item, and its place among the lines.
struct item_line {
    json_int_t number;
    size_t at;
};

// Compares two lines for qsort: by item, and within an item by place.
static int by_number(const void *a, const void *b)
{
    const struct item_line *x = a, *y = b;

    return x->number != y->number ? (x->number > y->number) - (x->number < y->number)
                                  : (x->at > y->at) - (x->at < y->at);
}

json_t *record_sorted(const struct record *r)
{
    size_t count = json_array_size(r->lines);
    struct item_line *item_lines FREED_BY(memory_free) = memory_zeroed(count, sizeof *item_lines);
    json_t *sorted = json_array();

    for (size_t i = 0; i < count; i++)
        // Several lines of one item keep their order, because later lines build on earlier ones.
        item_lines[i] = (struct item_line){
            json_integer_value(json_object_get(json_array_get(r->lines, i), "n")), i};
    qsort(item_lines, count, sizeof *item_lines, by_number);
    for (size_t i = 0; i < count; i++)
        json_array_append(sorted, json_array_get(r->lines, item_lines[i].at));
    return sorted;
}

const json_t *record_line(const json_t *lines, uint64_t number)
{
    size_t i;
    json_t *line;

    json_array_foreach(lines, i, line)
    {
        if (json_integer_value(json_object_get(line, "n")) == (json_int_t)number)
            return line;
    }
    return NULL;
}

const char *record_folder(const struct record *r, const json_t *line)
{
    const char *in = json_string_value(json_object_get(line, "in"));

    return in ? in : r->folder;
}

const char *record_gaps(const struct record *r)
{
    return r->merged ? r->merged->gaps : "";
}

// --- shards ------------------------------------------------------------------------------

bool shard_parse(struct shard *s, const char *text, struct err *e)
{
    int end = 0;

    if (sscanf(text, "%4d/%4d%n", &s->number, &s->of, &end) == 2 && !text[end] && s->number >= 1 &&
        s->number <= s->of && s->of <= SHARDS_MAX)
        return true;
    return err_set(e, ERR_USAGE,
        "'%.40s' is no shard: it takes I/N, such as 3/16, with I from 1 to N and N at most %d",
        text, SHARDS_MAX);
}

bool shard_has(const struct shard *s, uint64_t number)
{
    return s->of == 0 || number % (uint64_t)s->of == (uint64_t)s->number - 1;
}
