#include "run/cuts/cutrecord.h"

#include <math.h>

#include "base/utf8.h"
#include "report/files/parse_json.h"

// The key of a trial's planned cuts. The line of the trial without any cut does not have it.
#define PLANNED_KEY "was"

// The FNV-1a hash of the cuts' text.
uint64_t cutrecord_number(const struct trial_cuts *cuts)
{
    uint64_t hash = 14695981039346656037u;
    char text[POINTS_TEXT];

    for (const char *p = points_text(cuts, text); *p; p++)
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
    return hash;
}

// --- writing ----------------------------------------------------------------------------

static json_t *cuts_json(const struct trial_cuts *cuts)
{
    json_t *list = json_array();

    for (int i = 0; i < cuts->count; i++) {
        const struct cut_point *p = &cuts->at[i];
        json_array_append_new(list, json_pack("[i, i, i, i]", p->sender, p->type, p->n, p->side));
    }
    return list;
}

static json_t *judged_json(const struct judged *j)
{
    json_t *list = json_pack("[f, f]", j->judged, j->of);

    for (int i = 0; i < CAUSE_KINDS; i++)
        json_array_append_new(list, json_real(j->excused[i]));
    return list;
}

static json_t *metrics_json(const struct trial_result *r)
{
    json_t *all = json_object();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        char example[sizeof r->example[0]];
        memcpy(example, r->example[id], sizeof example);
        // The text may quote bytes of a broken collector, but JSON takes only UTF-8.
        utf8_mend(example);
        json_t *one = json_pack("{s:b, s:o, s:s}", "broken", r->broken[id], "judged",
            judged_json(&r->judged[id]), "example", example);
        if (!isnan(r->values[id]))
            json_object_set_new(one, "value", json_real(r->values[id]));
        json_object_set_new(all, metrics[id].name, one);
    }
    return all;
}

static json_t *result_json(const struct trial_result *r)
{
    char why[sizeof r->why];
    json_t *times = json_array();

    memcpy(why, r->why, sizeof why);
    utf8_mend(why);
    for (int i = 0; i < POINTS_CUTS_MAX; i++)
        json_array_append_new(times, json_integer(r->cut_ns[i]));
    return json_pack("{s:s, s:i, s:o, s:s, s:o, s:o, s:I}", "verdict", verdict_name(r->verdict),
        "reached", r->reached, "metrics", metrics_json(r), "why", why, "cut_ns", times,
        "recovery_ms", isnan(r->recovery_ms) ? json_null() : json_real(r->recovery_ms), "took_ns",
        (json_int_t)r->took_ns);
}

json_t *cutrecord_trial(uint64_t item, const struct trial_cuts *planned,
    const struct trial_cuts *cuts, const struct trial_result *r)
{
    return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)item, PLANNED_KEY, cuts_json(planned),
        "cuts", cuts_json(cuts), "result", result_json(r));
}

static json_t *messages_json(const struct transcript *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->count; i++) {
        const struct transcript_entry *m = &t->entries[i];
        char text[TRANSCRIPT_TEXT_MAX];
        snprintf(text, sizeof text, "%s", transcript_text(t, m));
        utf8_mend(text);
        json_array_append_new(
            list, json_pack("[i, i, i, i, s]", (int)m->link, m->sender, m->type, m->n, text));
    }
    return list;
}

json_t *cutrecord_uncut(uint64_t item, const struct trial_result *uncut,
    const struct transcript *messages, const struct environment *where)
{
    return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)item, "uncut", result_json(uncut),
        "messages", messages_json(messages), "where", environment_json(where));
}

// --- reading ----------------------------------------------------------------------------

// Reads cuts that cuts_json wrote; false when the list is not valid.
static bool read_cuts(const json_t *list, struct trial_cuts *cuts)
{
    *cuts = (struct trial_cuts){.count = (int)json_array_size(list)};
    if (cuts->count < 1 || cuts->count > POINTS_CUTS_MAX)
        return false;
    for (int i = 0; i < cuts->count; i++) {
        int sender, type, n, side;
        if (json_unpack((json_t *)json_array_get(list, (size_t)i), "[i, i, i, i]", &sender, &type,
                &n, &side) != 0 ||
            // The record may come from another machine, and these numbers are used as indexes.
            sender < 0 || sender > 1 || type < 0 || type > 255 || side < 0 || side > 1)
            return false;
        cuts->at[i] = (struct cut_point){
            (enum message_sender)sender, (unsigned char)type, n, (enum cut_side)side};
    }
    return true;
}

static void read_trial_metric(struct trial_result *r, enum metric_id id, const json_t *one)
{
    const json_t *judged = json_object_get(one, "judged");

    r->values[id] = parse_figure(one, "value");
    r->broken[id] = json_is_true(json_object_get(one, "broken"));
    parse_text(one, "example", r->example[id], sizeof r->example[id]);
    r->judged[id].judged = json_number_value(json_array_get(judged, 0));
    r->judged[id].of = json_number_value(json_array_get(judged, 1));
    for (size_t i = 0; i < CAUSE_KINDS; i++)
        r->judged[id].excused[i] = json_number_value(json_array_get(judged, i + 2));
}

static bool read_trial_result(const json_t *from, struct trial_result *r)
{
    const json_t *all = json_object_get(from, "metrics");
    const json_t *times = json_object_get(from, "cut_ns");
    const char *verdict = json_string_value(json_object_get(from, "verdict"));

    *r = (struct trial_result){.ran = true, .reached = (int)parse_integer(from, "reached")};
    // The record may come from another machine, so an unknown verdict is refused, and a `reached`
    // that is impossible: it is used as the number of entries of cut_ns.
    if (!verdict_find(verdict, &r->verdict) || r->reached < 0 || r->reached > POINTS_CUTS_MAX)
        return false;
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        read_trial_metric(r, id, json_object_get(all, metrics[id].name));
    parse_text(from, "why", r->why, sizeof r->why);
    for (size_t i = 0; i < POINTS_CUTS_MAX; i++)
        r->cut_ns[i] = json_integer_value(json_array_get(times, i));
    r->recovery_ms = parse_figure(from, "recovery_ms");
    r->took_ns = parse_integer(from, "took_ns");
    return true;
}

// A trial that was read from its line.
struct taken {
    struct trial_cuts planned, cuts; // as planned, and those of the last try
    struct trial_result result;
    size_t at; // index of the line in the record
};

// Reads the line of a trial with cuts; false when it is not valid.
static bool read_trial(const json_t *line, struct taken *t)
{
    return read_cuts(json_object_get(line, PLANNED_KEY), &t->planned) &&
           read_cuts(json_object_get(line, "cuts"), &t->cuts) &&
           read_trial_result(json_object_get(line, "result"), &t->result);
}

// True when the line belongs to this item and has this key: PLANNED_KEY for a trial with cuts,
// "uncut" for the trial without any cut.
static bool is_item_line(const json_t *line, uint64_t item, const char *key)
{
    return json_object_get(line, key) && parse_integer(line, "n") == (int64_t)item;
}

bool cutrecord_find(const struct record *record, uint64_t item, const struct trial_cuts *planned,
    struct trial_cuts *cuts, struct trial_result *r)
{
    json_t *wanted FREED_BY(json_decrefp) = cuts_json(planned), *line;
    struct taken t;
    bool found = false;
    size_t i;

    json_array_foreach(record->lines, i, line)
    {
        // If several lines are about the same trial, the last that can be read counts, because an
        // undecided trial may be made again.
        if (is_item_line(line, item, PLANNED_KEY) &&
            json_equal(json_object_get(line, PLANNED_KEY), wanted) && read_trial(line, &t)) {
            *cuts = t.cuts;
            *r = t.result;
            found = true;
        }
    }
    return found;
}

// --- all lines of an item ---------------------------------------------------------------

static int compare_numbers(int a, int b)
{
    return (a > b) - (a < b);
}

// Compares for sorting: single cuts come first, by kind as points_make makes them, then the pairs.
static int compare_cuts(const struct trial_cuts *x, const struct trial_cuts *y)
{
    int order = compare_numbers(x->count, y->count);

    for (int i = 0; order == 0 && i < x->count; i++) {
        const struct cut_point *p = &x->at[i], *q = &y->at[i];
        order = compare_numbers((int)p->sender, (int)q->sender);
        order = order ? order : compare_numbers(p->type, q->type);
        order = order ? order : compare_numbers(p->n, q->n);
        order = order ? order : compare_numbers((int)p->side, (int)q->side);
    }
    return order;
}

// Compares two trials for qsort: by their cuts, and those of the same cuts by their place in the
// record.
static int by_cuts(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    int order = compare_cuts(&x->planned, &y->planned);

    return order ? order : (x->at > y->at) - (x->at < y->at);
}

// Appends the trial of the record's i-th line to *all.
static bool take_trial(
    struct taken **all, size_t *count, const json_t *line, size_t i, struct err *e)
{
    memory_grow(all, *count, 1, sizeof **all);
    (*all)[*count].at = i;
    return read_trial(line, &(*all)[(*count)++]) ||
           err_set(e, ERR_USAGE, "an entry of the record does not describe a trial");
}

// Keeps only the last line of each trial. The trials must be sorted by by_cuts. Returns how many
// are left.
static size_t drop_earlier_lines(struct taken *all, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (i + 1 == count || compare_cuts(&all[i].planned, &all[i + 1].planned) != 0)
            all[kept++] = all[i];
    }
    return kept;
}

static bool read_messages(struct transcript *t, const json_t *list, struct err *e)
{
    json_t *one;
    size_t i;

    transcript_init(t);
    json_array_foreach(list, i, one)
    {
        int link, sender, type, n;
        const char *text;
        // The record may come from another machine, and sender and type are used as indexes.
        if (json_unpack(one, "[i, i, i, i, s]", &link, &sender, &type, &n, &text) != 0 ||
            sender < 0 || sender > 1 || type < 0 || type > 255)
            return err_set(e, ERR_USAGE, "an entry of the record does not describe a message");
        if (!transcript_add(
                t, (unsigned)link, (enum message_sender)sender, (unsigned char)type, n, text))
            return err_set(e, ERR_USAGE, "the record has more messages than a trial can have");
    }
    return true;
}

// Fills in the points and results from the trials. They must be sorted by by_cuts, because struct
// points has single cuts by kind, then the pairs.
static void fill_cutrecord(struct cutrecord *r, const struct taken *all, size_t count)
{
    r->points.items = memory_zeroed(count, sizeof *r->points.items);
    r->results = memory_zeroed(count, sizeof *r->results);
    for (size_t i = 0; i < count; i++) {
        r->points.items[r->points.count++] = all[i].cuts;
        r->points.singles += all[i].planned.count == 1;
        r->results[i] = all[i].result;
        r->took_ns += all[i].result.took_ns;
    }
}

// True when the same shard has made the item's trial without any cut again, after line i. A command
// that goes on, or tries again, makes it anew.
static bool is_made_again(const struct record *record, uint64_t item, size_t i)
{
    const char *folder = record_folder(record, json_array_get(record->lines, i));
    bool again = false;

    for (size_t k = i + 1; k < json_array_size(record->lines); k++) {
        const json_t *line = json_array_get(record->lines, k);
        again = again || (is_item_line(line, item, "uncut") &&
                             strcmp(record_folder(record, line), folder) == 0);
    }
    return again;
}

// Returns how much a verdict weighs among those of several shards.
static int weight_of(enum verdict verdict)
{
    return verdict == VERDICT_PASS ? 0 : verdict == VERDICT_INCONCLUSIVE ? 1 : 2;
}

// Takes a shard's trial without any cut; false when it cannot be read. The worst of all shards
// counts, because a shard whose collector failed without a cut has tried none of its points.
static bool take_uncut(struct cutrecord *r, const json_t *line, struct err *e)
{
    struct trial_result uncut;
    struct environment where;

    if (!read_trial_result(json_object_get(line, "uncut"), &uncut) ||
        !environment_parse(&where, json_object_get(line, "where")))
        return err_set(e, ERR_USAGE, "an entry of the record does not describe a trial");
    const bool first = !r->uncut.ran;
    // A shard makes points only if its trial passed, so the messages of such a trial fit best.
    bool fits = first || (uncut.verdict == VERDICT_PASS && r->uncut.verdict != VERDICT_PASS);
    if (first || weight_of(uncut.verdict) > weight_of(r->uncut.verdict))
        r->uncut = uncut;
    if (!fits)
        return true;
    r->where = where;
    transcript_fini(&r->transcript);
    return read_messages(&r->transcript, json_object_get(line, "messages"), e);
}

bool cutrecord_take(struct cutrecord *r, const struct record *record, uint64_t item, struct err *e)
{
    struct taken *all FREED_BY(memory_free) = NULL;
    bool ok = true, has_uncut = false;
    size_t count = 0, i;
    json_t *line;

    json_array_foreach(record->lines, i, line)
    {
        if (ok && is_item_line(line, item, PLANNED_KEY))
            ok = take_trial(&all, &count, line, i, e);
        if (ok && is_item_line(line, item, "uncut") && !is_made_again(record, item, i)) {
            has_uncut = true;
            ok = take_uncut(r, line, e);
        }
    }
    if (ok && !has_uncut)
        ok = err_set(e, ERR_SKIP, "no shard has begun with it");
    if (count > 0)
        qsort(all, count, sizeof *all, by_cuts);
    if (ok)
        fill_cutrecord(r, all, drop_earlier_lines(all, count));
    return ok;
}
