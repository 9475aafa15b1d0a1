#include "explore/failure.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

// Appends a word to the name, which may have small letters, digits and '-'.
static void append_name(char *name, const char *word)
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
    // What broke comes first in the name, so that a list of files groups itself.
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

static bool same_sharing(enum mode a, enum mode b)
{
    return a / 2 == b / 2;
}

bool failure_covers(const struct failure *f, const struct tried *t)
{
    // A failure that could not be repeated explains nothing.
    if (f->confirmed == 0 || memcmp(f->broken, t->broken, sizeof f->broken) != 0 ||
        !same_sharing(f->mode, t->mode))
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

static void read_json_text(const json_t *line, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(line, key));

    snprintf(out, size, "%.*s", (int)size - 1, text ? text : "");
    utf8_mend(out);
}

static unsigned read_json_count(const json_t *line, const char *key)
{
    return (unsigned)json_integer_value(json_object_get(line, key));
}

// True for a name as `append_name` makes it. It becomes a file's name.
static bool is_failure_name(const char *name)
{
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

bool failure_read(struct failure *f, const json_t *line, struct err *e)
{
    char mode[40];

    *f = (struct failure){0};
    read_json_text(line, "failure", f->name, sizeof f->name);
    read_json_text(line, "mode", mode, sizeof mode);
    while (f->mode < MODES && strcmp(mode_name(f->mode), mode) != 0)
        f->mode++;
    // The record may come from another machine, and the name becomes a path.
    if (!is_failure_name(f->name) || f->mode == MODES)
        return err_set(e, ERR_USAGE, "this entry does not describe a failure");
    broken_read(f->broken, json_object_get(line, "broken"));
    verbs_read(f->verbs, json_object_get(line, "verbs"));
    f->draw = (uint64_t)json_integer_value(json_object_get(line, "n"));
    f->confirmed = read_json_count(line, "confirmed");
    f->asked = read_json_count(line, "asked");
    f->found_s = json_number_value(json_object_get(line, "found_s"));
    snprintf(f->file, sizeof f->file, "found/%s.yaml", f->name);
    read_json_text(line, "example", f->example, sizeof f->example);
    return true;
}
