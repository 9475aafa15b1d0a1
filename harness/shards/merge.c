#include "shards/merge.h"

#include <dirent.h>
#include <sys/stat.h>

#include "os/paths.h"

// Records are looked for this many levels below a folder: enough for a CI that puts each shard's
// results into another folder, but not the whole file system if somebody names /.
#define LEVELS_MAX 6
#define NAMED_MAX 20 // most shards that are named in a message

// The record of one shard, and the file that it was read from.
struct part {
    struct record record;
    bool finished; // the shard has done its part
    char folder[PATH_MAX];
    dev_t device;
    ino_t file;
};

struct parts {
    struct part *items; // owned
    size_t count;
};

// --- finding ------------------------------------------------------------------------------

// True when the same file was found before, which happens when a folder is named twice.
static bool is_part_known(const struct parts *p, const struct stat *s)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i].device == s->st_dev && p->items[i].file == s->st_ino)
            return true;
    }
    return false;
}

// Copies a folder's path so that it ends with the folder's name, which "results/" and "." do not:
// paths in a record's lines may be relative to the folder above (command_record_path).
static void copy_folder(char out[PATH_MAX], const char *folder)
{
    const char *last = path_name(folder);
    bool is_name = *last && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;

    if (is_name || !realpath(folder, out))
        snprintf(out, PATH_MAX, "%s", folder);
}

// Adds the record of a folder, if there is one and it belongs to a shard. False when the record
// cannot be read.
static bool add_part(struct parts *p, const char *folder, struct err *e)
{
    char path[PATH_MAX];
    struct stat s;

    if (!path_join(path, folder, RECORD_NAME, e))
        return false;
    if (lstat(path, &s) != 0 || !S_ISREG(s.st_mode) || is_part_known(p, &s))
        return true;
    memory_grow(&p->items, p->count, 1, sizeof *p->items);
    struct part *part = &p->items[p->count];
    *part = (struct part){.device = s.st_dev, .file = s.st_ino};
    copy_folder(part->folder, folder);
    bool ok = record_read(&part->record, path, &part->finished, e);
    const struct shard *shard = &part->record.shard;
    if (ok && shard->of != 0 &&
        (shard->of > SHARDS_MAX || shard->number < 1 || shard->number > shard->of))
        ok = err_set(e, ERR_USAGE, "%s: it is of shard %d of %d, which cannot be", path,
            shard->number, shard->of);
    if (ok && shard->of != 0)
        p->count++;
    else
        record_close(&part->record);
    return ok;
}

// Adds the records in a folder and up to `levels` levels below it.
static bool find_parts(struct parts *p, const char *folder, int levels, struct err *e)
{
    DIR *dir = opendir(folder);
    bool ok = dir != NULL;
    char path[PATH_MAX];
    struct stat s;

    ok = ok ? add_part(p, folder, e) : err_sys(e, ERR_USAGE, "cannot read %s", folder);
    for (struct dirent *entry; ok && levels > 0 && (entry = readdir(dir));) {
        // Skip ".", "..", and hidden folders.
        if (*entry->d_name == '.')
            continue;
        ok = path_join(path, folder, entry->d_name, e);
        // Use lstat, because the link `latest` leads to a folder that is found anyway.
        if (ok && lstat(path, &s) == 0 && S_ISDIR(s.st_mode))
            ok = find_parts(p, path, levels - 1, e);
    }
    if (dir)
        closedir(dir);
    return ok;
}

// --- order --------------------------------------------------------------------------------

static const char *part_text(const struct part *p, const char *key)
{
    const char *text = json_string_value(json_object_get(p->record.head, key));

    return text ? text : "";
}

// Compares the work that two records belong to: the command, and what decides its items.
static int by_work(const struct part *a, const struct part *b)
{
    int order = strcmp(part_text(a, "command"), part_text(b, "command"));

    return order ? order : strcmp(part_text(a, "about"), part_text(b, "about"));
}

// Compares two records for qsort: by work, and within a work by shard.
static int by_shard(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = by_work(x, y);

    return order ? order : x->record.shard.number - y->record.shard.number;
}

// Checks that two shards of the same work fit together and are not the same shard.
static bool parts_fit(const struct part *a, const struct part *b, struct err *e)
{
    static const struct {
        const char *key, *text;
    } same[] = {{"of", "were dealt to different numbers of shards"},
        {"asked", "were called with different options"},
        {"program", "were made by different versions of mailproof"}};

    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        // Figures from different versions or options must not be joined as if one command had made
        // them.
        if (!json_equal(json_object_get(a->record.head, same[i].key),
                json_object_get(b->record.head, same[i].key)))
            return err_set(e, ERR_USAGE, "%s and %s %s", a->folder, b->folder, same[i].text);
    }
    return a->record.shard.number != b->record.shard.number ||
           err_set(e, ERR_USAGE, "%s and %s are both shard %d of %d: leave one out", a->folder,
               b->folder, a->record.shard.number, a->record.shard.of);
}

// --- joining ------------------------------------------------------------------------------

// Appends a text such as "shards 2 and 5 of 16 are missing" about the shards whose state (see
// find_gaps) is `wanted`; nothing if there is none. `one` and `several` are the text's last words,
// for one shard and for more.
static void tell_gaps(char *out, size_t size, const char *state, int of, char wanted,
    const char *one, const char *several)
{
    size_t len = strlen(out);
    int count = 0, named = 0;

    for (int i = 0; i < of; i++)
        count += state[i] == wanted;
    if (count == 0)
        return;
    len += (size_t)snprintf(
        out + len, size - len, "%s%s ", len ? "; " : "", NOUN(count, "shard", "shards"));
    // If very many shards are missing, not all are named.
    for (int i = 0; i < of && named < NAMED_MAX; i++) {
        if (state[i] != wanted)
            continue;
        const char *between = named == 0 ? "" : named + 1 == count ? " and " : ", ";
        len += (size_t)snprintf(out + len, size - len, "%s%d", between, i + 1);
        named++;
    }
    snprintf(out + len, size - len, "%s of %d %s", count > named ? " and others" : "", of,
        count == 1 ? one : several);
}

// Writes which shards of one work are missing or did not finish. All parts have the same `of`.
static void find_gaps(struct merged *m, const struct part *parts, size_t count)
{
    char state[SHARDS_MAX]; // of each shard: 'm' missing, 'u' unfinished, ' ' complete
    int of = parts->record.shard.of;

    memset(state, 'm', sizeof state);
    for (size_t i = 0; i < count; i++)
        state[parts[i].record.shard.number - 1] = parts[i].finished ? ' ' : 'u';
    tell_gaps(m->gaps, sizeof m->gaps, state, of, 'm', "is missing", "are missing");
    tell_gaps(m->gaps, sizeof m->gaps, state, of, 'u', "did not finish", "did not finish");
}

// Joins the records of one work, which are sorted by shard. So two records of the same shard are
// neighbours, and it is enough to compare neighbours.
static bool merge_parts(struct merged *m, const struct part *parts, size_t count, struct err *e)
{
    *m = (struct merged){.head = json_incref(parts->record.head), .lines = json_array()};
    bool ok = true;

    for (size_t i = 0; ok && i < count; i++) {
        json_t *line;
        size_t at;
        ok = i == 0 || parts_fit(&parts[i - 1], &parts[i], e);
        json_array_foreach(parts[i].record.lines, at, line)
        {
            // Note in each line the folder of its record, because paths in the line depend on it.
            json_object_set_new(line, "in", json_string(parts[i].folder));
            json_array_append(m->lines, line);
        }
    }
    if (ok)
        find_gaps(m, parts, count);
    return ok;
}

// Sorts the records, and joins those of the same work.
static bool join_all(struct merges *m, struct parts *p, struct err *e)
{
    bool ok = true;

    qsort(p->items, p->count, sizeof *p->items, by_shard);
    for (size_t i = 0, end; ok && i < p->count; i = end) {
        end = i + 1;
        while (end < p->count && by_work(&p->items[i], &p->items[end]) == 0)
            end++;
        memory_grow(&m->items, m->count, 1, sizeof *m->items);
        ok = merge_parts(&m->items[m->count++], &p->items[i], end - i, e);
    }
    return ok;
}

bool merge_records(struct merges *m, char *const *folders, struct err *e)
{
    struct parts parts = {0};
    bool ok = true;

    *m = (struct merges){0};
    for (size_t i = 0; ok && folders[i]; i++)
        ok = find_parts(&parts, folders[i], LEVELS_MAX, e);
    if (ok && parts.count == 0)
        ok = err_set(e, ERR_USAGE,
            "no shard is there: merge takes the folders in which commands with --shard left their "
            "results");
    ok = ok && join_all(m, &parts, e);
    for (size_t i = 0; i < parts.count; i++)
        record_close(&parts.items[i].record);
    free(parts.items);
    return ok;
}

void merges_fini(struct merges *m)
{
    for (size_t i = 0; i < m->count; i++) {
        json_decref(m->items[i].head);
        json_decref(m->items[i].lines);
    }
    free(m->items);
    *m = (struct merges){0};
}
