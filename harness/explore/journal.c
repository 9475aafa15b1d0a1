#include "explore/journal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define LINE_MAX_BYTES (256u << 10)

// --- in memory --------------------------------------------------------------------------

static void count_why(struct journal *j, const char *text)
{
    size_t i = 0;

    while (i < j->why_count && strcmp(j->whys[i].text, text) != 0)
        i++;
    if (i == JOURNAL_WHYS_MAX)
        return;
    if (i == j->why_count)
        snprintf(j->whys[j->why_count++].text, sizeof j->whys[i].text, "%s", text);
    j->whys[i].count++;
}

static bool remember(struct journal *j, const struct tried *t, struct err *e)
{
    if (!array_grow(&j->numbers, j->tried, 1, sizeof *j->numbers))
        return err_memory(e);
    j->numbers[j->tried++] = t->number;
    j->verdicts[t->verdict] += t->judged;
    j->unjudged += !t->judged;
    if (!t->judged || t->verdict == VERDICT_INCONCLUSIVE)
        count_why(j, t->why);
    if (t->judged)
        coverage_add(&j->coverage, t);
    return true;
}

struct failure *journal_failure(struct journal *j, const char *name)
{
    for (size_t i = 0; i < j->failure_count; i++) {
        if (strcmp(j->failures[i].name, name) == 0)
            return &j->failures[i];
    }
    return NULL;
}

static bool remember_failure(struct journal *j, const struct failure *f, struct err *e)
{
    struct failure *old = journal_failure(j, f->name);

    if (old) {
        *old = *f;
        return true;
    }
    if (!array_grow(&j->failures, j->failure_count, 1, sizeof *f))
        return err_memory(e);
    j->failures[j->failure_count++] = *f;
    return true;
}

bool journal_has(const struct journal *j, uint64_t number)
{
    for (size_t i = 0; i < j->tried; i++) {
        if (j->numbers[i] == number)
            return true;
    }
    return false;
}

// --- reading ----------------------------------------------------------------------------

static bool check_head(const json_t *line, const struct journal_head *head, struct err *e)
{
    const char *collector = json_string_value(json_object_get(line, "collector"));
    const char *sets = json_string_value(json_object_get(line, "sets"));
    json_int_t seed = json_integer_value(json_object_get(line, "seed"));

    if (!json_object_get(line, "explore"))
        return err_set(e, ERR_USAGE, "its first line does not describe a search");
    if ((uint64_t)seed == head->seed && collector && strcmp(collector, head->collector) == 0 &&
        sets && strcmp(sets, head->sets) == 0)
        return true;
    return err_set(e, ERR_USAGE,
        "it belongs to a search with seed %lld, collector '%.100s' and '%.200s'; choose another "
        "--out, or repeat the options of that search",
        (long long)seed, collector ? collector : "", sets ? sets : "");
}

static bool take_line(struct journal *j, const json_t *line, struct err *e)
{
    struct tried t;
    struct failure f;

    if (json_object_get(line, "failure"))
        return failure_read(&f, line, e) && remember_failure(j, &f, e);
    if (json_object_get(line, "call")) {
        j->calls++;
        j->spent_s += json_number_value(json_object_get(line, "took_s"));
        return true;
    }
    return tried_read(&t, line, e) && remember(j, &t, e);
}

// A process that is killed while it writes leaves half a line at the end, which is skipped.
static bool read_lines(struct journal *j, FILE *file, const struct journal_head *head, bool *any,
    bool *half, struct err *e)
{
    char *text = malloc(LINE_MAX_BYTES);
    bool ok = text || err_memory(e);

    for (int number = 1; ok && fgets(text, LINE_MAX_BYTES, file); number++) {
        bool whole = strchr(text, '\n');
        json_t *line = whole ? json_loads(text, 0, NULL) : NULL;
        if (!whole)
            *half = true;
        else if (line)
            ok = (number == 1 ? check_head(line, head, e) : take_line(j, line, e)) ||
                 err_prefix(e, "line %d", number);
        else
            ok = err_set(e, ERR_USAGE, "line %d: this is not JSON", number);
        *any = true;
        json_decref(line);
    }
    free(text);
    return ok;
}

// Removes an incomplete last line, so that the next line does not continue it.
static bool cut_half_line(const char *path, struct err *e)
{
    FILE *file = fopen(path, "r+e");
    long end = 0, at = 0;
    int c;

    while (file && (c = fgetc(file)) != EOF) {
        at++;
        end = c == '\n' ? at : end;
    }
    bool ok = file && ftruncate(fileno(file), end) == 0;
    if (file)
        fclose(file);
    return ok || err_sys(e, ERR_SYSTEM, "cannot remove the incomplete last line");
}

// --- writing ----------------------------------------------------------------------------

static bool write_line(struct journal *j, json_t *line, struct err *e)
{
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    bool ok = text && fprintf(j->file, "%s\n", text) > 0 && fflush(j->file) == 0;

    free(text);
    json_decref(line);
    return ok || err_set(e, ERR_SYSTEM, "cannot write the journal");
}

static bool write_head(struct journal *j, const struct journal_head *head, struct err *e)
{
    return write_line(j,
        json_pack("{s:i, s:I, s:s, s:s}", "explore", 1, "seed", (json_int_t)head->seed, "collector",
            head->collector, "sets", head->sets),
        e);
}

bool journal_open(
    struct journal *j, const char *path, const struct journal_head *head, struct err *e)
{
    bool any = false, half = false;
    FILE *old = fopen(path, "re");
    bool ok = !old || read_lines(j, old, head, &any, &half, e);

    if (old)
        fclose(old);
    if (!ok || (half && !cut_half_line(path, e)))
        return err_prefix(e, "%s", path);
    j->file = fopen(path, "ae");
    if (!j->file)
        return err_sys(e, ERR_SYSTEM, "cannot write %s", path);
    return any || write_head(j, head, e);
}

void journal_close(struct journal *j)
{
    if (j->file)
        fclose(j->file);
    free(j->failures);
    free(j->numbers);
    *j = (struct journal){0};
}

bool journal_add(struct journal *j, const struct tried *t, struct err *e)
{
    return remember(j, t, e) && write_line(j, tried_write(t), e);
}

bool journal_found(struct journal *j, const struct failure *f, struct err *e)
{
    return remember_failure(j, f, e) && write_line(j, failure_write(f), e);
}

bool journal_end(struct journal *j, double took_s, struct err *e)
{
    j->calls++;
    j->spent_s += took_s;
    return write_line(j, json_pack("{s:i, s:f}", "call", (int)j->calls, "took_s", took_s), e);
}
