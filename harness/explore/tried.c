#include "explore/tried.h"

#include "base/utf8.h"

enum mode mode_of(const struct scenario *s)
{
    static const enum mode with_one[] = {[DEQUEUE_CURSOR] = MODE_CURSOR,
        [DEQUEUE_SHARED] = MODE_SHARED,
        [DEQUEUE_LEASED] = MODE_LEASED};

    // In enum mode, each mode is followed by the same mode with several collectors.
    return (enum mode)(with_one[s->collector.dequeue] + (s->collector.instances > 1));
}

const char *mode_name(enum mode mode)
{
    static const char *const names[MODES] = {
        "cursor", "cursor, several", "shared", "shared, several", "leased", "leased, several"};

    return mode < MODES ? names[mode] : "unknown";
}

// --- from a result --------------------------------------------------------------------

static bool find_verb(const char *name, size_t *index)
{
    const struct verb *verb = verb_find(name);

    *index = verb ? (size_t)(verb - verbs) : 0;
    return verb;
}

// Returns the state of the connection with this name; EXCHANGE_UNSEEN: no state has it.
static enum exchange_state find_state(const char *name)
{
    for (int i = EXCHANGE_NONE; i < EXCHANGE_STATES; i++) {
        if (strcmp(exchange_name((enum exchange_state)i), name) == 0)
            return (enum exchange_state)i;
    }
    return EXCHANGE_UNSEEN;
}

static const char *json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

// Adds a fault that took effect. `state` names the state of the collector's connection. The fault
// is left out if there is no room or its verb is unknown.
static void add_met(
    struct tried *t, const char *verb, double from_s, double to_s, const char *state)
{
    struct met *m = &t->met[t->met_count];

    if (t->met_count == TRIED_FAULTS_MAX || !find_verb(verb, &m->verb))
        return;
    m->from_s = from_s;
    m->to_s = to_s;
    m->state = find_state(state);
    t->met_count++;
}

// Adds those faults of a result.json that took effect. A fault without an end counts as instant.
static void take_faults(struct tried *t, const json_t *faults)
{
    size_t i;
    json_t *fault;

    json_array_foreach(faults, i, fault)
    {
        const json_t *at = json_object_get(fault, "at_s"), *end = json_object_get(fault, "ended_s");
        if (json_is_true(json_object_get(fault, "ok")) &&
            !json_is_true(json_object_get(fault, "left_out")) && json_is_number(at))
            add_met(t, json_text(fault, "do"), json_number_value(at),
                json_number_value(json_is_number(end) ? end : at), json_text(fault, "wire"));
    }
}

void broken_read(bool broken[METRIC_COUNT], const json_t *list)
{
    size_t i;
    json_t *name;

    json_array_foreach(list, i, name)
    {
        const struct metric *m = json_is_string(name) ? metric_find(json_string_value(name)) : NULL;
        if (m)
            broken[m->id] = true;
    }
}

void verbs_read(bool has[DRAW_VERBS_MAX], const json_t *list)
{
    size_t i, verb;
    json_t *name;

    json_array_foreach(list, i, name)
    {
        if (json_is_string(name) && find_verb(json_string_value(name), &verb))
            has[verb] = true;
    }
}

void verbs_of(const struct scenario *s, bool has[DRAW_VERBS_MAX])
{
    for (size_t i = 0; i < s->fault_count; i++)
        has[s->faults[i].verb - verbs] = true;
}

bool tried_broke(const struct tried *t)
{
    bool broke = false;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        broke = broke || t->broken[id];
    return t->judged && broke;
}

void tried_why(struct tried *t, const char *why)
{
    snprintf(t->why, sizeof t->why, "%.*s", (int)sizeof t->why - 1, why);
    utf8_mend(t->why);
}

bool tried_take(struct tried *t, const json_t *result, struct err *e)
{
    const json_t *reason = json_array_get(json_object_get(result, "reasons"), 0);

    memset(t->broken, 0, sizeof t->broken);
    t->met_count = 0;
    t->judged = verdict_find(json_text(result, "verdict"), &t->verdict);
    if (!t->judged)
        return err_set(e, ERR_SYSTEM, "the result has no verdict");
    broken_read(t->broken, json_object_get(result, "broken"));
    take_faults(t, json_object_get(result, "faults"));
    tried_why(t, json_is_string(reason) ? json_string_value(reason) : "");
    return true;
}

// --- as a line of the journal -----------------------------------------------------------

// Returns the faults that took effect as [verb, begin, end, state of the connection].
static json_t *write_met(const struct tried *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->met_count; i++) {
        const struct met *m = &t->met[i];
        json_array_append_new(list, json_pack("[s, f, f, s]", verbs[m->verb].name, m->from_s,
                                        m->to_s, exchange_name(m->state)));
    }
    return list;
}

json_t *broken_write(const bool broken[METRIC_COUNT])
{
    json_t *list = json_array();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (broken[id])
            json_array_append_new(list, json_string(metrics[id].name));
    }
    return list;
}

json_t *verbs_write(const bool has[DRAW_VERBS_MAX])
{
    json_t *list = json_array();

    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (has[i])
            json_array_append_new(list, json_string(verbs[i].name));
    }
    return list;
}

json_t *tried_write(const struct tried *t)
{
    static const bool none[DRAW_VERBS_MAX] = {false};

    return json_pack("{s:I, s:s, s:s, s:f, s:o, s:o, s:o, s:s}", "n", (json_int_t)t->number,
        "verdict", t->judged ? verdict_name(t->verdict) : "none", "mode", mode_name(t->mode),
        "took_s", t->took_s, "broken", broken_write(t->broken), "verbs",
        verbs_write(tried_broke(t) ? t->verbs : none), "faults", write_met(t), "why", t->why);
}

bool tried_read(struct tried *t, const json_t *line, struct err *e)
{
    const json_t *faults = json_object_get(line, "faults"), *number = json_object_get(line, "n");
    const char *mode = json_text(line, "mode");
    size_t i;
    json_t *fault;

    *t = (struct tried){.number = (uint64_t)json_integer_value(number)};
    // The record has the mode's name, because the numbers of modes may change between versions.
    while (t->mode < MODES && strcmp(mode_name(t->mode), mode) != 0)
        t->mode++;
    if (!json_is_integer(number) || t->mode == MODES)
        return err_set(e, ERR_USAGE, "this entry does not describe a draw");
    t->judged = verdict_find(json_text(line, "verdict"), &t->verdict);
    t->took_s = json_number_value(json_object_get(line, "took_s"));
    broken_read(t->broken, json_object_get(line, "broken"));
    verbs_read(t->verbs, json_object_get(line, "verbs"));
    json_array_foreach(faults, i, fault)
    {
        const char *verb = json_string_value(json_array_get(fault, 0));
        const char *state = json_string_value(json_array_get(fault, 3));
        if (verb && state)
            add_met(t, verb, json_number_value(json_array_get(fault, 1)),
                json_number_value(json_array_get(fault, 2)), state);
    }
    tried_why(t, json_text(line, "why"));
    return true;
}

void tried_broken_text(const bool broken[METRIC_COUNT], char *out, size_t size)
{
    size_t used = 0;

    *out = '\0';
    for (enum metric_id id = 0; id < METRIC_COUNT && used < size; id++) {
        if (broken[id])
            used += (size_t)snprintf(
                out + used, size - used, "%s%s", used ? "," : "", metrics[id].name);
    }
}
