#include "proxy/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "os/paths.h"
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
    struct buf text;

    *s = (struct script){0};
    buf_init(&text, SCRIPT_MAX);
    bool ok = path_read(path, &text, ERR_USAGE, e) &&
              (script_parse(s, text.data, e) || err_prefix(e, "%.200s", path));
    buf_fini(&text);
    return ok || err_prefix(e, "--script");
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
