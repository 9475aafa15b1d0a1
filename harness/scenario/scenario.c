#include "scenario/scenario.h"

#include "os/paths.h"
#include "scenario/rules.h"
#include "scenario/decode.h"
#include "scenario/mark.h"
#include "scenario/needs.h"
#include "scenario/overrides.h"
#include "scenario/parse.h"

#define FILE_MAX ((size_t)1 << 20) // 1 MiB

static bool read_scenario_file(struct buf *text, const char *path, struct err *e);
static bool apply_overrides(struct node *root, const struct overrides *sets, struct err *e);
static void keep_sets(struct scenario *s, const struct overrides *sets);
static bool is_ours(const char *path, const struct buf *text, const struct overrides *sets);

bool scenario_load(
    struct scenario *s, const char *path, const struct overrides *sets, struct err *e)
{
    struct origin origin = {.file = path, .line = 1, .column = 1};
    struct node *root = NULL;
    struct buf text;
    bool ok = false;

    *s = (struct scenario){0};
    buf_init(&text, FILE_MAX + 1); // 1: the NUL after it
    if (!read_scenario_file(&text, path, e) || !parse_yaml(&root, text.data, text.len, &origin, e))
        goto out;
    // The order matters. Options are applied before decoding, so that they obey the file's rules.
    // check_scenario must see the scaled lengths. Trust is checked before anything opens a file
    // that the scenario names.
    ok = apply_overrides(root, sets, e) && decode_map(&scenario_table, root, s, e);
    if (ok && sets->scale != 0)
        scale_scenario(s, sets->scale);
    ok = ok && (is_ours(path, &text, sets) || trust_check(s, root, sets, e)) &&
         check_scenario(s, root, path, e);
    if (ok) {
        keep_sets(s, sets);
        bool promised = node_child(node_child(root, "collector"), "promises");
        needs_resolve(s, sets->collector, promised);
    }
out:
    node_free(root);
    buf_fini(&text);
    if (!ok)
        scenario_fini(s);
    return ok;
}

bool scenario_make(struct scenario *s, const struct node *root, struct err *e)
{
    *s = (struct scenario){0};
    // In a file scenario.yaml, as a result folder has it, a scenario may have any name.
    if (decode_map(&scenario_table, root, s, e) && check_scenario(s, root, "scenario.yaml", e)) {
        keep_sets(s, &(struct overrides){0});
        return true;
    }
    scenario_fini(s);
    return false;
}

static bool read_scenario_file(struct buf *text, const char *path, struct err *e)
{
    if (path_read(path, text, ERR_USAGE, e))
        return true;
    // A file that cannot be read leaves an errno. Without one the file is too large, which is an
    // error in its content and so needs a line and a column.
    return e->sys_errno == 0 &&
           err_set(e, ERR_USAGE,
               "%s:1:1: the file is larger than 1 MiB, the most that a scenario may have", path);
}

static bool apply_overrides(struct node *root, const struct overrides *sets, struct err *e)
{
    for (size_t i = 0; i < sets->count; i++)
        if (!override_apply(root, sets->items[i], NULL, e))
            return false;
    return true;
}

// Keeps the options --set, --seed and --scale in the scenario, so that a result can name them.
static void keep_sets(struct scenario *s, const struct overrides *sets)
{
    s->scale = sets->scale;
    s->sets = memory_zeroed(sets->count + 1, sizeof *s->sets);
    for (size_t i = 0; i < sets->count; i++)
        s->sets[i] = memory_copy(sets->items[i]);
}

// True when the file is trusted because the user has named it. A result folder is often somebody
// else's, so its scenario.yaml must also have the mark of one of the user's own runs.
static bool is_ours(const char *path, const struct buf *text, const struct overrides *sets)
{
    return sets->trust == TRUST_OWN &&
           (!is_result_scenario(path) || mark_is_valid(text->data, text->len));
}

const char *settings_value(const struct settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->items[i].name, name) == 0)
            return settings->items[i].value;
    }
    return NULL;
}

static void free_settings(struct settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->items[i].name);
        free(settings->items[i].value);
    }
    free(settings->items);
}

void phase_fini(struct load_phase *phase)
{
    free(phase->name);
    free(phase->file);
    free(phase->trace_ns);
}

void scenario_fini(struct scenario *s)
{
    free(s->name);
    free(s->summary);
    memory_free_texts(s->tags);
    memory_free_texts(s->sets);
    free(s->postgres.provider);
    free(s->postgres.image);
    free(s->postgres.rest);
    free_settings(&s->postgres.settings);
    memory_free_texts(s->collector.command);
    memory_free_texts(s->collector.writes);
    free(s->collector.subject);
    free_settings(&s->collector.env);
    for (size_t i = 0; i < s->load_count; i++)
        phase_fini(&s->load[i]);
    free(s->load);
    for (size_t i = 0; i < s->fault_count; i++)
        free(s->faults[i].message);
    free(s->faults);
    for (size_t i = 0; i < s->allow_count; i++)
        free(s->allow[i].invariant);
    free(s->allow);
    for (size_t i = 0; i < s->judged_count; i++)
        free(s->judged[i].invariant);
    free(s->judged);
    for (size_t i = 0; i < s->expect_count; i++) {
        free(s->expect[i].metric);
        free(s->expect[i].want);
    }
    free(s->expect);
    for (size_t i = 0; i < s->counterpart_count; i++) {
        free(s->counterparts[i].collector);
        memory_free_texts(s->counterparts[i].sets);
        memory_free_texts(s->counterparts[i].breaks);
    }
    free(s->counterparts);
    *s = (struct scenario){0};
}

void scenario_replace(char **text, const char *fresh)
{
    char *copy = memory_copy(fresh);

    free(*text);
    *text = copy;
}

bool scenario_has_tag(const struct scenario *s, const char *tag)
{
    for (char **t = s->tags; tag && *t; t++) {
        if (strcmp(*t, tag) == 0)
            return true;
    }
    return !tag;
}

int64_t scenario_load_ns(const struct scenario *s)
{
    int64_t ns = 0;

    for (size_t i = 0; i < s->load_count; i++)
        ns += s->load[i].for_ns;
    return ns;
}

bool scenario_has_closed_loop(const struct scenario *s)
{
    bool closed = false;

    for (size_t i = 0; i < s->load_count; i++)
        closed = closed || s->load[i].closed;
    return closed;
}

int64_t scenario_healthcheck_ms(const struct scenario *s)
{
    return clock_max(s->collector.batch_timeout_ns / NS_PER_MS, SCENARIO_HEALTHCHECK_MS);
}

int64_t scenario_returns_ns(const struct scenario *s)
{
    const int64_t default_ns = NS_PER_S;
    int64_t given_ns = s->collector.returns_within_ns;

    return clock_min(given_ns ? given_ns : default_ns, s->recovery_limit_ns);
}

int64_t scenario_starts_ns(const struct scenario *s)
{
    const int64_t default_ns = NS_PER_S / 2;
    int64_t given_ns = s->collector.starts_within_ns;

    return clock_min(given_ns ? given_ns : default_ns, s->recovery_limit_ns);
}

bool scenario_is_queue(const struct scenario *s)
{
    return s->collector.subject && strcmp(s->collector.subject, SUBJECT_MAILROOM) != 0;
}

uint64_t scenario_tolerates(const struct scenario *s, const char *invariant)
{
    int64_t most = 0;

    for (size_t i = 0; i < s->allow_count; i++)
        if (strcmp(s->allow[i].invariant, invariant) == 0)
            most = clock_max(most, s->allow[i].most);
    return (uint64_t)most;
}

bool scenario_sender_deviates(const struct scenario_sender *s)
{
    return s->error > 0 || s->permanent > 0 || s->hang > 0 || s->twice > 0 || s->wrong > 0 ||
           s->dies > 0 || s->delay_to_ns > 0;
}

bool scenario_steps_clock(const struct scenario *s, enum fault_target whose)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb->hits == HITS_CLOCK && s->faults[i].target == whose)
            return true;
    }
    return false;
}

bool scenario_shares(const struct scenario *s)
{
    return s->collector.dequeue != DEQUEUE_CURSOR;
}

bool scenario_keeps_dead_letters(const struct scenario *s)
{
    return s->collector.layout == LAYOUT_REFERENCE ||
           (s->collector.promises & PROMISE_DEAD_LETTERS);
}
