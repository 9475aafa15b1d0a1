#include "report/files/stored.h"

#include <math.h>

#include "base/utf8.h"
#include "os/paths.h"
#include "report/files/parse_json.h"
#include "report/folder.h"

#define RESULT_MAX (64u << 20)
#define VALUE_MAX 1e15 // no run measures more than this, in any unit

// True for a name of lower-case letters, digits and hyphens, as scenarios and modes have. Any other
// text could forge fields and lines in the output of a comparison.
static bool is_stored_name(const char *name, size_t size)
{
    size_t len = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;

    return len > 0 && len < size && name[len] == '\0';
}

// Copies a text. Control characters become question marks, and a long text is cut between
// characters.
static void stored_text(char *out, size_t size, const json_t *value)
{
    const char *text = json_string_value(value);
    size_t len = text ? strlen(text) : 0;

    if (len >= size) {
        for (len = size - 1; len > 0 && (text[len] & 0xc0) == 0x80;)
            len--;
    }
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    out[len] = '\0';
}

// Fills in the rules, the seed, the mode, the program, the changed options and the first reason.
static void take_origin(struct stored *s, json_t *root)
{
    json_t *rules = json_object_get(root, "rules");
    const char *mode = json_string_value(json_object_get(json_object_get(root, "cuts"), "mode"));

    s->rules = json_is_integer(rules) ? (int)json_integer_value(rules) : 1;
    s->seed = (uint64_t)json_integer_value(json_object_get(root, "seed"));
    if (is_stored_name(mode, sizeof s->mode))
        snprintf(s->mode, sizeof s->mode, "%s", mode);
    stored_text(s->program, sizeof s->program, json_object_get(root, "program"));
    stored_text(s->changed, sizeof s->changed, json_object_get(root, "changed"));
    stored_text(s->reason, sizeof s->reason, json_array_get(json_object_get(root, "reasons"), 0));
}

// Lists the expectations that do not hold, as far as there is room.
static void take_missed(struct stored *s, const json_t *expectations)
{
    const json_t *item;
    // An expectation with any other character is left out: it could forge fields and lines.
    static const char comparison[] = "<>=! 0123456789.abcdefghijklmnopqrstuvwxyz%";
    size_t i, used = 0;

    json_array_foreach(expectations, i, item)
    {
        const char *metric = json_string_value(json_object_get(item, "metric"));
        const char *want = json_string_value(json_object_get(item, "want"));
        const struct metric *m = metric ? metric_find(metric) : NULL;
        if (!m || !want || want[strspn(want, comparison)] || used >= sizeof s->missed)
            continue;
        // Two kinds are left out though they do not hold: those on a broken invariant, of which
        // stored_broke writes the count, and those whose figure was not measured.
        if (!s->broken[m->id] && !json_is_true(json_object_get(item, "holds")) &&
            !isnan(s->values[m->id]))
            used += (size_t)snprintf(s->missed + used, sizeof s->missed - used, "%s%s %.40s",
                used ? ", " : "", metrics[m->id].name, want);
    }
}

// Fills in *s from the object of a result.json. False when the object has no known form.
static bool take_result(struct stored *s, json_t *root)
{
    const char *scenario = json_string_value(json_object_get(root, "scenario"));
    const char *verdict = json_string_value(json_object_get(root, "verdict"));
    json_t *values = json_object_get(root, "metrics"), *broken = json_object_get(root, "broken");
    json_t *item;
    size_t i;

    if (!is_stored_name(scenario, sizeof s->scenario) || !verdict_find(verdict, &s->verdict) ||
        !json_is_object(values))
        return false;
    snprintf(s->scenario, sizeof s->scenario, "%s", scenario);
    s->interrupted = json_is_true(json_object_get(root, "interrupted"));
    take_origin(s, root);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        s->values[id] = parse_figure(values, metrics[id].name);
        // Larger values are refused, because sums of them could become infinite, which JSON cannot
        // express.
        if (fabs(s->values[id]) > VALUE_MAX)
            return false;
    }
    json_array_foreach(broken, i, item)
    {
        // A result of another version may name invariants that are unknown here.
        const struct metric *m = json_is_string(item) ? metric_find(json_string_value(item)) : NULL;
        if (m)
            s->broken[m->id] = true;
    }
    take_missed(s, json_object_get(root, "expectations"));
    stored_text(
        s->silence, sizeof s->silence, json_object_get(json_object_get(root, "silence"), "what"));
    return true;
}

void stored_broke(const struct stored *s, char *text, size_t size)
{
    // That the collector was silent comes first: it points to a wrong set-up, and the losses tell
    // nothing more.
    size_t used = (size_t)snprintf(text, size, "%s", s->silence);

    for (enum metric_id id = 0; id < METRIC_COUNT && used < size; id++) {
        if (s->broken[id])
            used += (size_t)snprintf(text + used, size - used, "%s%s %.0f", used ? ", " : "",
                metrics[id].name, s->values[id]);
    }
    // Correctness first, then what was too slow.
    if (s->missed[0] && used < size)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", s->missed);
    // The reason shows whether to make an inconclusive run again or to mend something. If nothing
    // else broke, it says why the subject was given up. Its part in brackets, the programs that
    // took the processors, is left to the run's page.
    if ((s->verdict == VERDICT_INCONCLUSIVE || used == 0) && used < size) {
        const char *bracket = strstr(s->reason, " (");
        size_t len = bracket ? (size_t)(bracket - s->reason) : strlen(s->reason);
        snprintf(text + used, size - used, "%s%.*s", used && len ? "; " : "", (int)len, s->reason);
    }
    utf8_mend(text); // the text may be cut within a character
}

bool stored_parse(struct stored *s, const char *text, size_t len, struct err *e)
{
    json_error_t wrong;
    json_t *root FREED_BY(json_decrefp) = json_loadb(text, len, 0, &wrong);

    *s = (struct stored){0};
    if (!root)
        return err_set(e, ERR_USAGE, "not JSON: line %d: %s", wrong.line, wrong.text);
    return take_result(s, root) ||
           err_set(e, ERR_USAGE, "not the result of a run of this version of mailproof");
}

bool stored_read(struct stored *s, const char *folder, struct err *e)
{
    char path[PATH_MAX];
    struct buf text FREED_BY(buf_fini) = BUF_INIT(RESULT_MAX);

    if (!folder_find(path, folder, "result.json", e))
        return false;
    bool ok = path_read(path, &text, ERR_USAGE, e) &&
              (stored_parse(s, text.data, text.len, e) || err_prefix(e, "%.900s", path));
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    return ok;
}
