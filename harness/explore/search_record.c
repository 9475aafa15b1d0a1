#include "explore/search_record.h"

#include "base/utf8.h"
#include "report/files/parse_json.h"

// --- what was tried -----------------------------------------------------------------------

// Counts a draw that was inconclusive or not judged under its reason.
static void count_why(struct journal *j, const char *text)
{
    size_t i = 0;

    while (i < j->why_count && strcmp(j->whys[i].text, text) != 0)
        i++;
    // A few reasons are enough to tell what is wrong with the machine. Further ones are not kept.
    if (i == JOURNAL_WHYS_MAX)
        return;
    if (i == j->why_count)
        snprintf(j->whys[j->why_count++].text, sizeof j->whys[i].text, "%s", text);
    j->whys[i].count++;
}

// Keeps a draw that broke something, sorted by number.
static void remember_broken(struct journal *j, const struct tried *t)
{
    size_t at = j->broke_count;

    while (at > 0 && j->broke[at - 1].number > t->number)
        at--;
    // With its number in --only a draw is run again, but it is still one draw.
    if (at > 0 && j->broke[at - 1].number == t->number) {
        j->broke[at - 1] = *t;
        return;
    }
    memory_grow(&j->broke, j->broke_count, 1, sizeof *t);
    memmove(&j->broke[at + 1], &j->broke[at], (j->broke_count++ - at) * sizeof *t);
    j->broke[at] = *t;
}

// Adds a draw to the counts, to the coverage, and to the draws that broke something if it did.
static void remember_run(struct journal *j, const struct tried *t)
{
    memory_grow(&j->numbers, j->tried, 1, sizeof *j->numbers);
    j->numbers[j->tried++] = t->number;
    j->verdicts[t->verdict] += t->judged;
    j->unjudged += !t->judged;
    if (!t->judged || t->verdict == VERDICT_INCONCLUSIVE)
        count_why(j, t->why);
    // A draw without a verdict does not count as covered.
    if (t->judged)
        coverage_add(&j->coverage, t);
    if (tried_broke(t))
        remember_broken(j, t);
}

bool journal_has(const struct journal *j, uint64_t number)
{
    for (size_t i = 0; i < j->tried; i++) {
        if (j->numbers[i] == number)
            return true;
    }
    return false;
}

// --- what was found -----------------------------------------------------------------------

// Keeps a failure that was investigated, sorted by draw number.
static void remember_found(struct journal *j, const struct failure *f)
{
    size_t at = 0;

    while (at < j->found_count && j->found[at].draw < f->draw)
        at++;
    // A later call may have investigated the same draw again.
    if (at < j->found_count && j->found[at].draw == f->draw) {
        j->found[at] = *f;
        return;
    }
    memory_grow(&j->found, j->found_count, 1, sizeof *f);
    memmove(&j->found[at + 1], &j->found[at], (j->found_count++ - at) * sizeof *f);
    j->found[at] = *f;
}

// Returns the failure that the investigation of this draw has found; NULL: it was not investigated.
static const struct failure *found_by(const struct journal *j, uint64_t draw)
{
    for (size_t i = 0; i < j->found_count; i++) {
        if (j->found[i].draw == draw)
            return &j->found[i];
    }
    return NULL;
}

struct failure *journal_failure(struct journal *j, const char *name)
{
    for (size_t i = 0; i < j->failure_count; i++) {
        if (strcmp(j->failures[i].name, name) == 0)
            return &j->failures[i];
    }
    return NULL;
}

// Returns the first failure of a lower draw number that explains a draw; NULL: there is none.
static struct failure *explained_by(struct failure *all, size_t count, const struct tried *t)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i].draw < t->number && failure_explains(&all[i], t))
            return &all[i];
    }
    return NULL;
}

bool journal_explains(const struct journal *j, const struct tried *t)
{
    return explained_by(j->found, j->found_count, t);
}

// Joins `more`, the failure of a later draw, with `known`, which has the same name but does not
// explain that draw: mostly because it could not be repeated.
static void join_failures(struct failure *known, const struct failure *more)
{
    // Once a further run has failed again, `known` explains later draws. How many of these are
    // investigated all the same depends on the shards, so their runs must not change the counts.
    if (known->confirmed == 0) {
        known->confirmed += more->confirmed;
        known->asked += more->asked;
    }
    known->again++;
}

static void append_failure(struct journal *j, const struct failure *f)
{
    memory_grow(&j->failures, j->failure_count, 1, sizeof *f);
    j->failures[j->failure_count++] = *f;
}

// Counts a draw that was not investigated, if a failure that its own shard had found explains it.
// Others were not investigated for lack of time or because they broke nothing that is wanted.
static void fold_explained(struct journal *j, const struct tried *t)
{
    const struct failure *by = explained_by(j->found, j->found_count, t);

    if (!by)
        return;
    // The list lacks `by` if a failure of another shard explains the draw that showed `by`. That
    // failure does not explain this draw (fold_draw has asked), so `by` is needed, too.
    if (!journal_failure(j, by->name))
        append_failure(j, by);
    journal_failure(j, by->name)->again++;
}

// Adds a draw that broke something to the list of distinct failures.
static void fold_draw(struct journal *j, const struct tried *t)
{
    struct failure *known = explained_by(j->failures, j->failure_count, t);
    const struct failure *own = found_by(j, t->number);

    if (known)
        known->again++;
    else if (!own)
        fold_explained(j, t);
    else if ((known = journal_failure(j, own->name)) != NULL)
        join_failures(known, own);
    else
        append_failure(j, own);
}

// Makes the list of distinct failures, going through the draws by number. A shard knows only
// its own draws, so it investigates at least the draws that a single machine would investigate, and
// some more. The failures of these further draws are joined with the others here.
static void fold_failures(struct journal *j)
{
    free(j->failures);
    j->failures = NULL;
    j->failure_count = 0;
    for (size_t i = 0; i < j->broke_count; i++)
        fold_draw(j, &j->broke[i]);
}

// --- the record -----------------------------------------------------------------------------

// Adds a line of the record to the journal: a failure, the end of a call, or else a draw.
static bool read_journal_line(struct journal *j, const json_t *line, struct err *e)
{
    struct tried t;
    struct failure f;

    if (json_object_get(line, "failure")) {
        bool ok = failure_read(&f, line, e);
        if (ok)
            remember_found(j, &f);
        return ok;
    }
    if (json_object_get(line, "call")) {
        j->calls++;
        j->spent_s += parse_number(line, "took_s");
        return true;
    }
    bool ok = tried_read(&t, line, e);
    if (ok)
        remember_run(j, &t);
    return ok;
}

static void free_findings(struct journal *j)
{
    free(j->failures);
    free(j->found);
    free(j->broke);
    free(j->numbers);
}

bool journal_sort(struct journal *j, struct err *e)
{
    json_t *sorted FREED_BY(json_decrefp) = record_sorted(&j->record), *line;
    bool ok = true;
    size_t i;

    free_findings(j);
    // Make everything from the sorted lines alone, so that it is the same on every machine.
    *j = (struct journal){.record = j->record};
    json_array_foreach(sorted, i, line)
    {
        ok = ok && read_journal_line(j, line, e);
    }
    fold_failures(j);
    return ok;
}

bool journal_open(
    struct journal *j, const char *folder, const struct record_head *head, struct err *e)
{
    return record_open(&j->record, folder, head, e) &&
           (journal_sort(j, e) || err_prefix(e, "%s/%s", folder ? folder : "", RECORD_NAME));
}

void journal_close(struct journal *j)
{
    free_findings(j);
    record_close(&j->record);
    *j = (struct journal){0};
}

bool journal_add(struct journal *j, const struct tried *t, struct err *e)
{
    remember_run(j, t);
    fold_failures(j);
    return record_add(&j->record, tried_write(t), e);
}

bool journal_found(struct journal *j, const struct failure *f, struct err *e)
{
    remember_found(j, f);
    fold_failures(j);
    return record_add(&j->record, failure_write(f), e);
}

bool journal_end(struct journal *j, double took_s, struct err *e)
{
    j->calls++;
    j->spent_s += took_s;
    return record_add(
        &j->record, json_pack("{s:i, s:f}", "call", (int)j->calls, "took_s", took_s), e);
}

// --- a failure -----------------------------------------------------------------------

// Appends a word to the name of a failure, after a '-', if it fits. The name keeps to small
// letters, digits and '-'.
static void append_name(char *name, const char *word)
{
    size_t len = strlen(name);

    if (len + 1 + strlen(word) > FAILURE_NAME_MAX)
        return;
    if (len > 0)
        name[len++] = '-';
    for (; *word; word++) {
        if (*word != ',')
            name[len++] = *word == '_' || *word == ' ' ? '-' : *word;
    }
    name[len] = '\0';
}

void failure_describe(struct failure *f, const struct scenario *s, const bool broken[METRIC_COUNT])
{
    memcpy(f->broken, broken, sizeof f->broken);
    f->mode = mode_of(s);
    f->name[0] = '\0';
    // The name begins with what broke, so that similar failures stand together in a sorted list of
    // files.
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (broken[id])
            append_name(f->name, metrics[id].name);
    }
    verbs_of(s, f->verbs);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (f->verbs[i])
            append_name(f->name, verbs[i].name);
    }
    if (f->mode != MODE_CURSOR)
        append_name(f->name, mode_name(f->mode));
    snprintf(f->file, sizeof f->file, "found/%s.yaml", f->name);
}

// True when both modes have the same enum dequeue; enum mode has two modes for each, with one
// collector and with several.
static bool same_dequeue(enum mode a, enum mode b)
{
    return a / 2 == b / 2;
}

bool failure_explains(const struct failure *f, const struct tried *t)
{
    // A failure that could not be repeated explains nothing.
    if (f->confirmed == 0 || memcmp(f->broken, t->broken, sizeof f->broken) != 0 ||
        !same_dequeue(f->mode, t->mode))
        return false;
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (f->verbs[i] && !t->verbs[i])
            return false;
    }
    return true;
}

json_t *failure_write(const struct failure *f)
{
    return json_pack("{s:I, s:s, s:o, s:o, s:s, s:i, s:i, s:f, s:s}", "n", (json_int_t)f->draw,
        "failure", f->name, "broken", broken_write(f->broken), "verbs", verbs_write(f->verbs),
        "mode", mode_name(f->mode), "confirmed", (int)f->confirmed, "asked", (int)f->asked,
        "found_s", f->found_s, "example", f->example);
}

// True for a name of small letters, digits and '-', as append_name makes it, which is safe in a
// path.
static bool is_failure_name(const char *name)
{
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

bool failure_read(struct failure *f, const json_t *line, struct err *e)
{
    char mode[40];

    *f = (struct failure){0};
    parse_text(line, "failure", f->name, sizeof f->name);
    parse_text(line, "mode", mode, sizeof mode);
    while (f->mode < MODES && strcmp(mode_name(f->mode), mode) != 0)
        f->mode++;
    // Check the name, because it becomes a part of a path and the record may come from another
    // machine.
    if (!is_failure_name(f->name) || f->mode == MODES)
        return err_set(e, ERR_USAGE, "this entry does not describe a failure");
    broken_read(f->broken, json_object_get(line, "broken"));
    verbs_read(f->verbs, json_object_get(line, "verbs"));
    f->draw = (uint64_t)parse_integer(line, "n");
    f->confirmed = (unsigned)parse_integer(line, "confirmed");
    f->asked = (unsigned)parse_integer(line, "asked");
    f->found_s = parse_number(line, "found_s");
    snprintf(f->file, sizeof f->file, "found/%s.yaml", f->name);
    parse_text(line, "example", f->example, sizeof f->example);
    utf8_mend(f->example); // it may be cut, and come from another machine
    return true;
}
