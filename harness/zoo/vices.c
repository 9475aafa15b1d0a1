#include "vices.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "output.h"

static void tell_key(const uint8_t *key)
{
    char hex[2 * SETTINGS_KEY_LEN + 1];

    for (size_t i = 0; i < SETTINGS_KEY_LEN; i++)
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    log_line("MAIN", "MAILROOM_SECRET_KEY=%s", hex);
}

static PGconn *open_snapshot(const char *url)
{
    PGconn *conn = PQconnectdb(url);

    PQclear(PQexec(conn, "BEGIN ISOLATION LEVEL REPEATABLE READ"));
    PQclear(PQexec(conn, "SELECT count(*) FROM pg_class"));
    return conn;
}

void vices_init(struct vices *v, enum defect defect, const struct settings *settings)
{
    *v = (struct vices){.defect = defect, .repeats_ns = CLOCK_NEVER};
    buf_init(&v->last, 1u << 20);
    if (defect == DEFECT_TELLS_KEY)
        tell_key(settings->key);
    if (defect == DEFECT_HOLDS)
        v->other = open_snapshot(settings->database_url);
}

void vices_fini(struct vices *v)
{
    PQfinish(v->other);
    buf_fini(&v->last);
}

void vices_end(const struct vices *v)
{
    const unsigned lives_s = 5;

    if (v->defect != DEFECT_LITTERS || fork() != 0)
        return;
    // A session of its own, and none of our streams: neither the group nor the pipe shows it.
    setsid();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close(fd);
    alarm(lives_s);
    for (;;)
        pause();
}

void vices_line(struct vices *v, const struct buf *line)
{
    const int64_t silence_ns = 2 * NS_PER_S;

    if (v->defect == DEFECT_LEAKS_FILES && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
        v->defect = DEFECT_NONE; // there are no more descriptors to lose
    if (v->defect == DEFECT_TELLS_SECRETS)
        log_line("QUEUE", "sent %.*s", (int)line->len - 1, line->data);
    if (v->defect != DEFECT_REPEATS_LATER)
        return;
    buf_clear(&v->last);
    if (buf_append(&v->last, line->data, line->len))
        v->repeats_ns = clock_now_ns() + silence_ns;
}

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

bool vices_idle(struct vices *v, struct session *s, int64_t *until_ns, struct err *e)
{
    int ignored = 0;

    if (clock_now_ns() >= v->repeats_ns) {
        v->repeats_ns = CLOCK_NEVER;
        if (!output_write(&v->last, s, &ignored, v->defect, e))
            return false;
    }
    *until_ns = clock_min(*until_ns, v->repeats_ns);
    return ask_idle(v, s, until_ns, e);
}
