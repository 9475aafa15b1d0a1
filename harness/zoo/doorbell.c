#include "doorbell.h"

#include "base/base.h"
#include "stop.h"

// How long a collector with the defect bell-unseen or bell-late waits between its last look at the
// queue and taking the bell.
#define GAP_NS (150 * NS_PER_MS)

// Runs a statement with one parameter (NULL: none), and writes the first value of its answer to
// `value`; "" when there is none.
static bool query_value(
    struct session *s, const char *sql, const char *param, char *value, size_t size, struct err *e)
{
    return session_value(s, &(struct session_call){sql, param ? 1 : 0, &param}, value, size, e);
}

bool doorbell_find(struct doorbell *d, struct session *s, struct err *e)
{
    char count[8];
    bool leaked = d->defect == DEFECT_BELL_LEAKED && d->ours;

    // Defect bell-leaked: a collector that once held the bell assumes in the next session that it
    // still does.
    *d = (struct doorbell){.defect = d->defect, .ours = leaked, .quiet = leaked};
    if (!query_value(s,
            "SELECT count(*) FROM pg_proc WHERE oid = to_regproc('mailroom_bell')"
            " AND has_function_privilege(oid, 'EXECUTE')",
            NULL, count, sizeof count, e))
        return false;
    // Without the function, or the right to call it, there is no bell: d->number stays "".
    return *count == '0' ||
           query_value(s, "SELECT mailroom_bell()", NULL, d->number, sizeof d->number, e);
}

// Tries to take the bell. False when the statement fails; d->ours says whether the bell was free.
static bool try_bell(struct doorbell *d, struct session *s, struct err *e)
{
    // Takes a transaction id just after the bell. Producers that may have been silent, because
    // nobody held the bell when they inserted, began earlier and have lower ids.
    if (!query_value(s,
            "SELECT CASE WHEN pg_try_advisory_lock($1::bigint) THEN pg_current_xact_id() END",
            d->number, d->silent_below, sizeof d->silent_below, e))
        return false;
    d->ours = *d->silent_below != '\0';
    return true;
}

bool doorbell_take(struct doorbell *d, struct session *s, bool *again, struct err *e)
{
    bool broken = d->defect == DEFECT_BELL_UNSEEN || d->defect == DEFECT_BELL_LATE;
    char quiet[2];

    *again = false;
    if (!*d->number)
        return true;
    if (!d->ours) {
        if (broken)
            stop_poll(NULL, 0, clock_now_ns() + GAP_NS);
        // If another collector holds the bell, producers announce their tokens anyway.
        if (!try_bell(d, s, e))
            return false;
        // A good collector that has just got the bell looks again, for tokens that were inserted
        // without an announcement. With the defects bell-unseen and bell-late it does not.
        d->quiet = broken;
        *again = d->ours && !broken;
        return true;
    }
    if (d->quiet)
        return true;
    if (!query_value(s, "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8",
            d->silent_below, quiet, sizeof quiet, e))
        return false;
    // If so, the oldest running transaction has an id of at least silent_below, and none that may
    // have been silent runs any more. The collector must look once more, for the tokens of the last
    // one.
    d->quiet = *quiet == 't';
    *again = d->quiet;
    return true;
}

bool doorbell_let_go(struct doorbell *d, struct session *s, struct err *e)
{
    char had[2];

    if (!*d->number || !d->ours || d->defect == DEFECT_BELL_LEAKED)
        return true;
    d->ours = false;
    return query_value(s, "SELECT pg_advisory_unlock($1::bigint)", d->number, had, sizeof had, e);
}
