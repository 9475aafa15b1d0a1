#include "sharing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "sql.h"

#define ASK_EVERY_NS (100 * NS_PER_MS)

void sharing_init(struct sharing *sh, const struct settings *settings, enum defect defect)
{
    uint64_t number = 0;

    *sh = (struct sharing){.settings = settings, .defect = defect, .gone = "{}"};
    // Without random bytes the time is good enough, because the number must only differ from those
    // of others.
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
