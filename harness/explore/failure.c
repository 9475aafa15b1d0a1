#include "explore/failure.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static bool has_verb(const struct scenario *s, size_t verb)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb == &verbs[verb])
            return true;
    }
    return false;
}

// Appends a word to the name, which may have small letters, digits and '-'.
static void append(char *name, const char *word)
{
    size_t len = strlen(name);

    if (len + 1 + strlen(word) > FAILURE_NAME_MAX)
        return;
    if (len > 0)
        name[len++] = '-';
    for (; *word; word++) {
        if (*word != ',' && *word != ' ')
            name[len++] = *word == '_' ? '-' : *word;
        else if (*word == ' ')
            name[len++] = '-';
    }
    name[len] = '\0';
}

void failure_describe(struct failure *f, const struct scenario *s, const bool broken[METRIC_COUNT])
{
    memcpy(f->broken, broken, sizeof f->broken);
    f->mode = mode_of(s);
    f->name[0] = '\0';
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (broken[id])
            append(f->name, metrics[id].name);
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        f->verbs[i] = has_verb(s, i);
        if (f->verbs[i])
            append(f->name, verbs[i].name);
    }
    if (f->mode != MODE_CURSOR)
        append(f->name, mode_name(f->mode));
}

static bool same_sharing(enum mode a, enum mode b)
{
    return a / 2 == b / 2;
}

bool failure_covers(
    const struct failure *f, const struct scenario *s, const bool broken[METRIC_COUNT])
{
    if (memcmp(f->broken, broken, sizeof f->broken) != 0 || !same_sharing(f->mode, mode_of(s)))
        return false;
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (f->verbs[i] && !has_verb(s, i))
            return false;
    }
    return true;
}

json_t *failure_write(const struct failure *f)
{
    json_t *broken = json_array(), *with = json_array();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (f->broken[id])
            json_array_append_new(broken, json_string(metrics[id].name));
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (f->verbs[i])
            json_array_append_new(with, json_string(verbs[i].name));
    }
    return json_pack("{s:s, s:o, s:o, s:s, s:I, s:i, s:i, s:i, s:f, s:s, s:s}", "failure", f->name,
        "broken", broken, "verbs", with, "mode", mode_name(f->mode), "draw", (json_int_t)f->draw,
        "confirmed", (int)f->confirmed, "asked", (int)f->asked, "again", (int)f->again, "found_s",
        f->found_s, "file", f->file, "example", f->example);
}

static void read_text(const json_t *line, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(line, key));

    snprintf(out, size, "%.*s", (int)size - 1, text ? text : "");
    utf8_mend(out);
}

static unsigned read_count(const json_t *line, const char *key)
{
    return (unsigned)json_integer_value(json_object_get(line, key));
}

bool failure_read(struct failure *f, const json_t *line, struct err *e)
{
    char mode[40];
    size_t i;
    json_t *item;

    *f = (struct failure){0};
    read_text(line, "failure", f->name, sizeof f->name);
    read_text(line, "mode", mode, sizeof mode);
    while (f->mode < MODES && strcmp(mode_name(f->mode), mode) != 0)
        f->mode++;
    if (!*f->name || f->mode == MODES)
        return err_set(e, ERR_USAGE, "this entry does not describe a failure");
    json_array_foreach(json_object_get(line, "broken"), i, item)
    {
        const struct metric *m = json_is_string(item) ? metric_find(json_string_value(item)) : NULL;
        if (m)
            f->broken[m->id] = true;
    }
    json_array_foreach(json_object_get(line, "verbs"), i, item)
    {
        const struct verb *v = json_is_string(item) ? verb_find(json_string_value(item)) : NULL;
        if (v)
            f->verbs[v - verbs] = true;
    }
    f->draw = (uint64_t)json_integer_value(json_object_get(line, "draw"));
    f->confirmed = read_count(line, "confirmed");
    f->asked = read_count(line, "asked");
    f->again = read_count(line, "again");
    f->found_s = json_number_value(json_object_get(line, "found_s"));
    read_text(line, "file", f->file, sizeof f->file);
    read_text(line, "example", f->example, sizeof f->example);
    return true;
}
