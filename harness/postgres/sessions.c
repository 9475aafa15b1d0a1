#include "postgres/sessions.h"

#include <time.h>

int64_t sessions_line_ns(const char *line)
{
    struct tm tm = {0};
    int ms = 0;

    if (sscanf(line, "%4d-%2d-%2d %2d:%2d:%2d.%3d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
            &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms) != 7)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (int64_t)timegm(&tm) * NS_PER_S + ms * NS_PER_MS;
}

// A login that was read in the server's log.
struct login {
    int64_t opened_ns; // by the wall clock; 0: no session, because the connection was lost already
    int pid;           // the backend
};

struct logins {
    struct login *items; // owned
    size_t count;
};

// Returns the pid of the backend that wrote a line of the log; 0: the line does not say.
static int log_line_pid(const char *line)
{
    const char *bracket = strchr(line, '[');

    return bracket ? atoi(bracket + 1) : 0;
}

static void add_login(struct logins *l, const char *line)
{
    memory_grow(&l->items, l->count, 1, sizeof *l->items);
    l->items[l->count++] = (struct login){sessions_line_ns(line), log_line_pid(line)};
}

// Drops a login, as no session, if this line says that its client was gone already. The server lets
// in a client whose connection was cut meanwhile, and notices the cut only when it reads the
// client's first statement.
static void drop_cut_login(struct logins *l, const char *line)
{
    const int64_t soon_ns = 50 * NS_PER_MS; // a session that lasted longer was a real one
    int pid = log_line_pid(line);

    if (!strstr(line, "could not receive data from client") &&
        !strstr(line, "unexpected EOF on client connection"))
        return;
    // The latest login of this pid is the one: an earlier backend may have had the same pid.
    for (size_t i = l->count; i-- > 0;) {
        if (l->items[i].pid != pid)
            continue;
        if (sessions_line_ns(line) - l->items[i].opened_ns < soon_ns)
            l->items[i].opened_ns = 0;
        return;
    }
}

// Stores the logins as sessions, with their times on the run's clock, the oldest first.
static void store_sessions(struct sessions *s, const struct logins *l, int64_t wall_offset_ns)
{
    // The array must not be NULL even without a session, because NULL says that there is no log.
    memory_grow(&s->opened_ns, 0, l->count + 1, sizeof *s->opened_ns);
    for (size_t i = 0; i < l->count; i++) {
        if (l->items[i].opened_ns)
            s->opened_ns[s->count++] = l->items[i].opened_ns - wall_offset_ns;
    }
    qsort(s->opened_ns, s->count, sizeof *s->opened_ns, clock_compare);
}

void sessions_read(
    struct sessions *s, const char *log, long from, const char *role, int64_t wall_offset_ns)
{
    FILE *file = log ? fopen(log, "re") : NULL;
    char *line FREED_BY(memory_free) = NULL, mark[128];
    size_t size = 0;

    *s = (struct sessions){0};
    if (!file)
        return;
    snprintf(mark, sizeof mark, "connection authorized: user=%s ", role);
    struct logins logins = {0};
    bool ok = fseek(file, from, SEEK_SET) == 0;
    while (ok && getline(&line, &size, file) > 0) {
        // The log also has "connection received" lines. A client that was then refused had no
        // session, so only "connection authorized" counts.
        if (strstr(line, mark))
            add_login(&logins, line);
        else
            drop_cut_login(&logins, line);
    }
    if (ok)
        store_sessions(s, &logins, wall_offset_ns);
    free(logins.items);
    fclose(file);
}

void sessions_fini(struct sessions *s)
{
    free(s->opened_ns);
    *s = (struct sessions){0};
}
