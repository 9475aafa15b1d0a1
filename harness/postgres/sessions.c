#include "postgres/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"

int64_t sessions_line_ns(const char *line)
{
    struct tm tm = {0};
    int ms = 0;

    if (sscanf(line, "%4d-%2d-%2d %2d:%2d:%2d.%3d UTC", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
            &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms) != 7)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (int64_t)timegm(&tm) * NS_PER_S + ms * NS_PER_MS;
}

static bool add(struct sessions *s, int64_t opened_ns)
{
    if (!array_grow(&s->opened_ns, s->count, 1, sizeof opened_ns))
        return false;
    s->opened_ns[s->count++] = opened_ns;
    return true;
}

// Backends write to one log: lines of the same moment may come in any order.
static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void sessions_read(
    struct sessions *s, const char *log, long from, const char *role, int64_t wall_ns)
{
    FILE *file = log ? fopen(log, "re") : NULL;
    char *line = NULL, mark[128];
    size_t size = 0;

    *s = (struct sessions){0};
    if (!file)
        return;
    snprintf(mark, sizeof mark, "connection authorized: user=%s ", role);
    // The array must not be NULL even without a session, because NULL says that there is no log.
    bool ok =
        array_grow(&s->opened_ns, 0, 1, sizeof *s->opened_ns) && fseek(file, from, SEEK_SET) == 0;
    while (ok && getline(&line, &size, file) > 0) {
        if (strstr(line, mark))
            ok = add(s, sessions_line_ns(line) - wall_ns);
    }
    free(line);
    fclose(file);
    if (!ok)
        sessions_fini(s);
    else
        qsort(s->opened_ns, s->count, sizeof *s->opened_ns, compare);
}

void sessions_fini(struct sessions *s)
{
    free(s->opened_ns);
    *s = (struct sessions){0};
}
