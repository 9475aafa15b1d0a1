#include "base/variables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static bool is_string(const struct variable *row)
{
    return row->kind == VARIABLE_TEXT || row->kind == VARIABLE_SECRET;
}

// Returns the address of the string member that this row sets.
static char **string_member(void *of, const struct variable *row)
{
    return (char **)(void *)((char *)of + row->offset);
}

// Searches for a variable from *at on, and moves *at to it. Returns its value; NULL: there is none.
static char *find_value(char *const **at, const char *name)
{
    size_t len = strlen(name);

    for (; **at; ++*at)
        if (strncmp(**at, name, len) == 0 && (**at)[len] == '=')
            return **at + len + 1;
    return NULL;
}

// Sets the member of this row to a copy of the value, if its length is allowed.
static bool set_text(const struct variables *v, void *into, const struct variable *row,
    const char *value, struct err *e)
{
    int64_t len = (int64_t)strlen(value);

    if (len < row->min || len > row->max || (v->one_line && strpbrk(value, "\r\n"))) {
        // If no text may have a line break, no text is shown at all, as variables.h says.
        bool shown = row->kind != VARIABLE_SECRET && !v->one_line;
        return err_set(e, ERR_USAGE,
            "%s is %s%s%s; it must have %" PRId64 " to %" PRId64 " characters%s", row->name,
            shown ? "'" : "", shown ? value : "a value that is not shown here", shown ? "'" : "",
            row->min, row->max, v->one_line ? " on one line" : "");
    }
    *string_member(into, row) = strdup(value);
    return *string_member(into, row) || err_memory(e);
}

bool variables_read(const struct variables *v, void *into, char *const environ[], struct err *e)
{
    for (size_t i = 0; i < v->count; i++) {
        const struct variable *row = &v->rows[i];
        char *const *at = environ;
        const char *value = find_value(&at, row->name);
        if (!value && !(value = row->default_text))
            continue;
        if (!(is_string(row) ? set_text(v, into, row, value, e)
                             : v->set_number(into, row, value, e)))
            return false;
    }
    return true;
}

void variables_fini(const struct variables *v, void *filled)
{
    for (size_t i = 0; i < v->count; i++) {
        const struct variable *row = &v->rows[i];
        if (!is_string(row))
            continue;
        char *text = *string_member(filled, row);
        if (text && row->kind == VARIABLE_SECRET)
            explicit_bzero(text, strlen(text));
        free(text);
    }
}

void variables_wipe(const struct variables *v, char *const environ[])
{
    char *value;

    for (size_t i = 0; i < v->count; i++) {
        if (v->rows[i].kind != VARIABLE_SECRET)
            continue;
        // The environment may hold the variable more than once.
        for (char *const *at = environ; (value = find_value(&at, v->rows[i].name)); at++)
            explicit_bzero(value, strlen(value));
    }
}

const char *variables_unknown(
    const struct variables *v, char *const environ[], size_t *at, size_t *len)
{
    while (environ[*at]) {
        const char *name = environ[(*at)++];
        bool unknown = strncmp(name, v->prefix, strlen(v->prefix)) == 0;
        *len = strcspn(name, "=");
        for (size_t i = 0; i < v->count && unknown; i++)
            unknown = strlen(v->rows[i].name) != *len || strncmp(v->rows[i].name, name, *len) != 0;
        if (unknown)
            return name;
    }
    return NULL;
}

void variables_warn_of_unknown(const struct variables *v, char *const environ[])
{
    size_t at = 0, len = 0;
    const char *name;

    while ((name = variables_unknown(v, environ, &at, &len)))
        log_line("MAIN", "%.*s is not a setting of %s (--help lists them), and is ignored",
            (int)len, name, v->program);
}
