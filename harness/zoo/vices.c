#include "vices.h"

#include <fcntl.h>

#include "base/base.h"
#include "base/log.h"
#include "batch.h"
#include "output.h"
#include "session.h"
#include "settings.h"
#include "sql.h"
#include "stop.h"

// Defect tells-key: logs the secret key in hex.
static void tell_key(const uint8_t *key)
{
    char hex[2 * SETTINGS_KEY_LEN + 1];

    for (size_t i = 0; i < SETTINGS_KEY_LEN; i++)
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    log_line("MAIN", "MAILROOM_SECRET_KEY=%s", hex);
}

// Opens a further session and runs two statements in it.
static PGconn *open_session(const char *url, const char *begin, const char *then)
{
    PGconn *conn = PQconnectdb(url);

    PQclear(PQexec(conn, begin));
    PQclear(PQexec(conn, then));
    return conn;
}

void vices_init(struct vices *v, enum defect defect, const struct settings *settings)
{
    *v = (struct vices){.defect = defect, .repeats_ns = CLOCK_NEVER, .url = settings->database_url};
    buf_init(&v->last, 1u << 20);
    if (defect == DEFECT_TELLS_KEY)
        tell_key(settings->key);
    if (defect == DEFECT_HOLDS)
        v->other = open_session(
            v->url, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM pg_class");
    if (defect == DEFECT_LISTENS_OPEN)
        v->other = open_session(v->url, "BEGIN", "LISTEN token_insert");
    if (defect == DEFECT_WRITES_OPEN)
        v->other = open_session(v->url, "BEGIN", "SELECT pg_current_xact_id()");
}

void vices_fini(struct vices *v)
{
    PQfinish(v->other);
    buf_fini(&v->last);
}

int64_t vices_timeout_ns(enum defect defect, int64_t timeout_ns)
{
    switch (defect) {
    case DEFECT_NO_TIMEOUT:
        return timeout_ns + 3600 * NS_PER_S;
    case DEFECT_LATE:
        return timeout_ns + NS_PER_S;
    case DEFECT_WAITS_LONGER:
        return timeout_ns * 9 / 4;
    case DEFECT_SENDS_AT_ONCE:
        return 0;
    case DEFECT_EARLY:
    case DEFECT_FLAPS_EARLY:
        return timeout_ns / 2;
    default:
        return timeout_ns;
    }
}

void vices_end(const struct vices *v)
{
    const unsigned lives_s = 5;

    // Only the child goes on.
    if (v->defect != DEFECT_LITTERS || fork() != 0)
        return;
    // The process leaves the group and closes its streams, so that neither the group nor the pipe
    // shows that it still runs.
    setsid();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close(fd);
    alarm(lives_s);
    for (;;)
        pause();
}

// Defects leaks-sessions and leaves-zombies: with one line in twenty, opens a session and never
// closes it, or starts a process and never waits for it.
static void leak_at_line(struct vices *v)
{
    if ((v->defect != DEFECT_LEAKS_SESSIONS && v->defect != DEFECT_LEAVES_ZOMBIES) ||
        v->lines++ % 20 != 0)
        return;
    if (v->defect == DEFECT_LEAKS_SESSIONS)
        PQconnectdb(v->url); // NOLINT: nobody finishes it
    else if (fork() == 0)
        _exit(0);
}

void vices_line(struct vices *v, const struct buf *line)
{
    const int64_t silence_ns = 2 * NS_PER_S;

    leak_at_line(v);
    if (v->defect == DEFECT_LEAKS_FILES && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
        v->defect = DEFECT_NONE; // no descriptors are left to lose
    if (v->defect == DEFECT_TELLS_SECRETS)
        log_line("QUEUE", "sent %.*s", (int)line->len - 1, line->data);
    // These defects need the line again later.
    if (v->defect != DEFECT_REPEATS_LATER && v->defect != DEFECT_REPEATS_SLOW &&
        v->defect != DEFECT_JOURNALS)
        return;
    buf_clear(&v->last);
    if (buf_append(&v->last, line->data, line->len) && v->defect == DEFECT_REPEATS_LATER)
        v->repeats_ns = clock_now_ns() + silence_ns;
}

// Defect journals: writes a large object of several pages for each line, so that each line needs
// room on the server's disk.
static bool write_journal(struct session *s, struct err *e)
{
    const struct session_call call = {
        "SELECT lo_from_bytea(0, convert_to(string_agg(md5(random()::text || n), ''), 'UTF8'))"
        " FROM generate_series(1, 1000) AS n",
        0, NULL};

    return session_value(s, &call, NULL, 0, e);
}

bool vices_note(struct vices *v, struct session *s, struct err *e)
{
    return v->defect != DEFECT_JOURNALS || v->last.len == 0 || write_journal(s, e);
}

bool vices_confirmed(struct vices *v, struct session *s, int64_t took_ns, struct err *e)
{
    const int64_t slow_ns = 60 * NS_PER_MS;
    int ignored = 0;
    bool again = v->defect == DEFECT_REPEATS_SLOW && took_ns > slow_ns && v->last.len > 0;
    bool ok = !again || output_write(&v->last, s, &ignored, v->defect, e);

    // The line is confirmed. Only repeats-later still needs it.
    if (v->defect != DEFECT_REPEATS_LATER)
        buf_clear(&v->last);
    return ok;
}

bool vices_rest(const struct vices *v, struct session *s, bool *works, struct err *e)
{
    // True when no other session's snapshot is more than 50 transactions old.
    static const char snapshots[] = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity"
                                    " WHERE pid <> pg_backend_pid() AND age(backend_xmin) > 50)";
    static const char load[] = "SELECT pg_notification_queue_usage() < 0.001"
                               " AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum)";
    char answer[2];

    if (v->defect != DEFECT_WAITS_FOR_SNAPSHOTS && v->defect != DEFECT_SPARES_SERVER)
        return true;
    const struct session_call call = {
        v->defect == DEFECT_SPARES_SERVER ? load : snapshots, 0, NULL};
    if (!session_value(s, &call, answer, sizeof answer, e))
        return false;
    *works = *answer == 't';
    return true;
}

// Defect asks-idle: runs a costly query four times a second.
static bool ask_idle(struct vices *v, struct session *s, int64_t *until_ns, struct err *e)
{
    PGresult *result = NULL;

    if (v->defect != DEFECT_ASKS_IDLE)
        return true;
    if (clock_now_ns() >= v->asks_ns) {
        if (!session_query(
                s, "SELECT count(*) FROM generate_series(1, 500000)", 0, NULL, &result, e))
            return false;
        PQclear(result);
        v->asks_ns = clock_now_ns() + NS_PER_S / 4;
    }
    *until_ns = clock_min(*until_ns, v->asks_ns);
    return true;
}

// Defects flaps and flaps-early: every 25 ms, opens a session that nothing needs, and closes it.
static void flap(struct vices *v, int64_t *until_ns)
{
    if (v->defect != DEFECT_FLAPS && v->defect != DEFECT_FLAPS_EARLY)
        return;
    if (clock_now_ns() >= v->asks_ns) {
        PQfinish(PQconnectdb(v->url));
        v->asks_ns = clock_now_ns() + 25 * NS_PER_MS;
    }
    *until_ns = clock_min(*until_ns, v->asks_ns);
}

// Defect floods-log: logs ten kilobytes a hundred times a second.
static void flood(const struct vices *v, int64_t *until_ns)
{
    const int width = 10000;

    if (v->defect != DEFECT_FLOODS_LOG)
        return;
    dprintf(STDERR_FILENO, "still here%*s\n", width, "");
    *until_ns = clock_min(*until_ns, clock_now_ns() + 10 * NS_PER_MS);
}

bool vices_idle(struct vices *v, struct session *s, int64_t *until_ns, struct err *e)
{
    int ignored = 0;

    if (clock_now_ns() >= v->repeats_ns) {
        v->repeats_ns = CLOCK_NEVER;
        if (!output_write(&v->last, s, &ignored, v->defect, e))
            return false;
    }
    *until_ns = clock_min(*until_ns, v->repeats_ns);
    flap(v, until_ns);
    flood(v, until_ns);
    return ask_idle(v, s, until_ns, e);
}

// --- defect uncommitted --------------------------------------------------------------

#define LOOK_EVERY_NS (5 * NS_PER_MS)
// Number of tokens to remember: more than there are sessions that insert tokens.
#define KNOWN_MAX 256

struct known {
    char ids[KNOWN_MAX][24]; // ids of the tokens that were seen last
    size_t next;             // index of the oldest id, which the next one replaces
};

// True when a token is seen for the first time, and remembers it. A session's application_name
// keeps a token until the session's next token, so the same token is seen many times.
static bool is_new(struct known *known, const char *id)
{
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (strcmp(known->ids[i], id) == 0)
            return false;
    strncpy(known->ids[known->next], id, sizeof known->ids[0] - 1);
    known->next = (known->next + 1) % KNOWN_MAX;
    return true;
}

// Writes a line for each of the rows whose token is seen for the first time.
static bool write_new(struct session *s, const struct settings *settings, struct batch *b,
    const PGresult *rows, struct known *known, struct err *e)
{
    int ignored = 0;

    for (int i = 0; i < PQntuples(rows); i++) {
        if (!is_new(known, PQgetvalue(rows, i, 4)))
            continue;
        batch_clear(b);
        if (!batch_add(b, rows, i, settings->key, e) || !buf_append_char(&b->line, '\n') ||
            !output_write(&b->line, s, &ignored, b->defect, e))
            return false;
    }
    return true;
}

bool uncommitted_serve(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e)
{
    struct known known = {0};
    PGresult *result;

    if (!session_query(s, sql_tell_early, 0, NULL, &result, e))
        return false;
    PQclear(result);
    while (!stop_requested()) {
        if (!session_query(s, sql_overhear, 0, NULL, &result, e))
            return false;
        bool ok = write_new(s, settings, b, result, &known, e);
        PQclear(result);
        if (!ok)
            return false;
        stop_poll(NULL, 0, clock_now_ns() + LOOK_EVERY_NS);
    }
    return true;
}
