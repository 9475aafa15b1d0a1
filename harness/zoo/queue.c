#include "queue.h"

#include <sys/random.h>

#include "base/base.h"
#include "batch.h"
#include "session.h"
#include "settings.h"
#include "sql.h"
#include "stop.h"

const char *cursor_read_sql(enum defect defect)
{
    return defect == DEFECT_ID_ONLY     ? sql_read_id_only
           : defect == DEFECT_XMIN_ONLY ? sql_read_xmin_only
           : defect == DEFECT_GIVES_UP  ? sql_read_gaps
                                        : sql_read;
}

bool cursor_move(struct session *s, const struct settings *settings, struct batch *b, struct err *e)
{
    const char *params[] = {settings->queue, b->from.xid, b->from.id, b->to.xid, b->to.id,
        buf_str(&b->dead), buf_str(&b->dead_reasons)};

    return session_value(s, &(struct session_call){sql_move, 7, params}, NULL, 0, e);
}

bool cursor_overlap(struct session *s, const struct settings *settings, struct err *e)
{
    return session_value(s, &(struct session_call){sql_overlap, 1, &settings->queue}, NULL, 0, e);
}

bool cursor_move_back(
    struct session *s, const struct settings *settings, const struct position *to, struct err *e)
{
    const char *params[] = {settings->queue, to->xid, to->id};

    return session_value(s, &(struct session_call){sql_move_back, 3, params}, NULL, 0, e);
}

// --- shared by any number ------------------------------------------------------------

#define ASK_EVERY_NS (100 * NS_PER_MS)

void sharing_init(struct sharing *sh, const struct settings *settings, enum defect defect)
{
    uint64_t number = 0;

    *sh = (struct sharing){.settings = settings, .defect = defect, .gone = "{}"};
    // Without random bytes the time is good enough, because the number only has to differ from
    // those of other collectors. The shift makes it positive as a bigint.
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)clock_now_ns();
    snprintf(sh->number, sizeof sh->number, "%" PRIu64, number >> 1);
}

bool sharing_join(struct sharing *sh, struct session *s, struct err *e)
{
    const char *params[] = {sh->settings->queue, sh->number};
    char taken[2];

    if (!session_value(
            s, &(struct session_call){sql_share_lock, 2, params}, taken, sizeof taken, e))
        return false;
    if (*taken != 't')
        return err_set(e, ERR_CONNECTION, "our last session still holds the lock of our number");
    // Defect cursor-back, in shared mode: makes tokens that are done wait again.
    return sh->defect != DEFECT_CURSOR_BACK ||
           session_value(s, &(struct session_call){sql_share_unmark, 1, params}, NULL, 0, e);
}

bool sharing_release(struct sharing *sh, struct session *s, struct err *e)
{
    const char *params[] = {sh->number};

    return session_value(s, &(struct session_call){sql_share_release, 1, params}, NULL, 0, e);
}

bool sharing_take(struct sharing *sh, struct session *s, const struct sharing_wish *wish,
    PGresult **rows, struct err *e)
{
    char window[16], most[16], least[16];
    const char *params[] = {sh->number, window, wish->claim ? "t" : "f", most, least,
        sh->defect == DEFECT_STEALS ? "t" : "f", sh->settings->queue};
    const struct session_call take = {sql_share_take, 7, params};
    const struct session_call lock = {sql_share_wait, 1, &sh->settings->queue};

    snprintf(window, sizeof window, "%d", wish->window);
    snprintf(most, sizeof most, "%d", wish->most);
    snprintf(least, sizeof least, "%d", wish->least);
    return wish->claim ? session_call_after(s, &lock, &take, rows, e)
                       : session_query(s, take.sql, take.count, take.params, rows, e);
}

bool sharing_mark(struct sharing *sh, struct session *s, struct batch *b, struct err *e)
{
    const char *params[] = {
        sh->number, buf_str(&b->ids), buf_str(&b->dead), buf_str(&b->dead_reasons)};

    return session_value(s, &(struct session_call){sql_share_mark, 4, params}, NULL, 0, e);
}

bool sharing_free(struct sharing *sh, struct session *s, struct err *e)
{
    int64_t now_ns = clock_now_ns();
    // Claims are freed only when the list of gone owners has stayed the same for the grace.
    bool long_enough = now_ns - sh->gone_since_ns >= sh->settings->grace_ns;
    const char *params[] = {long_enough ? sh->gone : "{}"};
    char gone[sizeof sh->gone];

    if (sh->defect == DEFECT_NEVER_FREES || now_ns - sh->asked_ns < ASK_EVERY_NS)
        return true;
    sh->asked_ns = now_ns;
    if (!session_value(s, &(struct session_call){sql_share_free, 1, params}, gone, sizeof gone, e))
        return false;
    if (strcmp(gone, sh->gone) != 0)
        sh->gone_since_ns = now_ns;
    snprintf(sh->gone, sizeof sh->gone, "%s", gone);
    return true;
}

// --- one after the other -------------------------------------------------------------

#define LOOK_NS (50 * NS_PER_MS)   // how often to try to take the turn
#define GRACE_NS (300 * NS_PER_MS) // how long the last holder may take to come back

// Calls one of PostgreSQL's functions for advisory locks on the lock of the turn. *yes: what it
// returned.
static bool call_lock_function(
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
    return call_lock_function(s, "pg_try_advisory_lock", queue, got, e);
}

bool turn_give_back(struct session *s, const char *queue, struct err *e)
{
    bool had;

    return call_lock_function(s, "pg_advisory_unlock", queue, &had, e);
}

bool turn_wait(struct session *s, const char *queue, bool had_it, struct err *e)
{
    bool taken = false; // another session had the turn when we last looked
    bool got;

    while (!stop_requested()) {
        if (!call_lock_function(s, "pg_try_advisory_lock", queue, &got, e))
            return false;
        if (got && (had_it || !taken))
            return true;
        // The turn is free, but another session had it a moment ago and may come back for it, so
        // give it back for GRACE_NS. (The unlock leaves `got` true.)
        if (got && !call_lock_function(s, "pg_advisory_unlock", queue, &got, e))
            return false;
        had_it = false; // once another session had the turn, this one waits like the others
        taken = !got;
        stop_poll(NULL, 0, clock_now_ns() + (got ? GRACE_NS : LOOK_NS));
    }
    return true;
}
