#include "run/make_lanes.h"

#include "postgres/sql.h"
#include "scenario/leased.h"

bool lanes_make(PGconn *admin, const struct scenario *s, struct err *e)
{
    static const char *const modes[] = {
        [DEQUEUE_CURSOR] = "cursor", [DEQUEUE_SHARED] = "shared", [DEQUEUE_LEASED] = "leased"};
    struct leased m;
    char sql[180];

    leased_read(&m, s);
    if (!m.lanes)
        return true;
    // Set the mode first: until the queue has one, its cursor is the position in jobs, which knows
    // no lanes. A collector that moves only this position must be convicted (invariant end_state).
    snprintf(sql, sizeof sql,
        "SELECT mailroom_switch_mode('mailroom', '%s'); SELECT mailroom_lanes('%.60s')",
        modes[s->collector.dequeue], m.lanes);
    return sql_exec(admin, sql, e);
}
