#include "turn.h"

#include "base/clock.h"
#include "stop.h"

#define LOOK_NS (50 * NS_PER_MS)
#define GRACE_NS (300 * NS_PER_MS)

static bool ask(
    struct session *s, const char *function, const char *queue, bool *yes, struct err *e)
{
    char sql[80];
    PGresult *result;

    snprintf(sql, sizeof sql, "SELECT %s(hashtext('mailroom-zoo ' || $1))", function);
    if (!session_query(s, sql, 1, &queue, &result, e))
        return false;
    *yes = *PQgetvalue(result, 0, 0) == 't';
    PQclear(result);
    return true;
}

bool turn_try(struct session *s, const char *queue, bool *got, struct err *e)
{
    return ask(s, "pg_try_advisory_lock", queue, got, e);
}

bool turn_give_back(struct session *s, const char *queue, struct err *e)
{
    bool had;

    return ask(s, "pg_advisory_unlock", queue, &had, e);
}

bool turn_wait(struct session *s, const char *queue, bool had_it, struct err *e)
{
    bool taken = false; // another session had the turn at the last look
    bool got;

    while (!stop_requested()) {
        if (!ask(s, "pg_try_advisory_lock", queue, &got, e))
            return false;
        if (got && (had_it || !taken))
            return true;
        if (got && !ask(s, "pg_advisory_unlock", queue, &got, e))
            return false;
        had_it = false;
        taken = !got;
        stop_poll(NULL, 0, clock_now_ns() + (got ? GRACE_NS : LOOK_NS));
    }
    return true;
}
