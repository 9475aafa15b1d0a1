#include "proxy/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scenario/units.h"

#define SCRIPT_MAX (1u << 20)
#define SCRIPT_LINES_MAX 10000

static bool parse_script_line(struct script_line *line, char *text, struct err *e)
{
    char *time = text + strspn(text, " \t"), *rest = time + strcspn(time, " \t\r");

    if (*rest)
        *rest++ = '\0';
    return units_duration(time, &line->at_ns, e) && console_parse(rest, &line->order, e);
}

// Times may stand in any order; of two at one time, the first line goes first.
static void insert_step(struct script *s, const struct script_line *line)
{
    size_t at = s->count++;

    for (; at > 0 && s->lines[at - 1].at_ns > line->at_ns; at--)
        s->lines[at] = s->lines[at - 1];
    s->lines[at] = *line;
}

bool script_parse(struct script *s, const char *text, struct err *e)
{
    char *copy = strdup(text), *rest = copy;

    *s = (struct script){.lines = calloc(SCRIPT_LINES_MAX, sizeof *s->lines)};
    bool ok = (copy && s->lines) || err_memory(e);
    // Empty lines count, so that an error names the line that an editor shows.
    for (size_t number = 1; ok && rest; number++) {
        char *line = strsep(&rest, "\n");
        struct script_line parsed;
        line[strcspn(line, "#")] = '\0';
        if (!line[strspn(line, " \t\r")])
            continue;
        if (s->count == SCRIPT_LINES_MAX)
            ok = err_set(e, ERR_USAGE, "a script has at most %d orders", SCRIPT_LINES_MAX);
        else if (parse_script_line(&parsed, line, e))
            insert_step(s, &parsed);
        else
            ok = err_prefix(e, "line %zu", number);
    }
    free(copy);
    return ok;
}

bool script_read(struct script *s, const char *path, struct err *e)
{
    FILE *file = fopen(path, "re");
    struct buf text;
    bool ok = true;

    *s = (struct script){0};
    if (!file)
        return err_sys(e, ERR_USAGE, "--script: cannot read %.200s", path);
    buf_init(&text, SCRIPT_MAX);
    // The script may come from a pipe, so its length is not known before.
    for (size_t got = 1; got > 0;) {
        char part[4096];
        got = fread(part, 1, sizeof part, file);
        buf_append(&text, part, got);
    }
    if (ferror(file))
        ok = err_sys(e, ERR_USAGE, "--script: cannot read %.200s", path);
    else if (!buf_str(&text))
        ok = err_set(e, ERR_USAGE, "--script: %.200s is too long", path);
    fclose(file);
    ok = ok && (script_parse(s, text.data, e) || err_prefix(e, "--script: %.200s", path));
    buf_fini(&text);
    return ok;
}

void script_fini(struct script *s)
{
    free(s->lines);
    *s = (struct script){0};
}

const struct order *script_due(struct script *s, int64_t since_start_ns)
{
    if (s->next == s->count || s->lines[s->next].at_ns > since_start_ns)
        return NULL;
    return &s->lines[s->next++].order;
}
