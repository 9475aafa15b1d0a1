// Faults against single backends, chosen by the role that logged in.
#include "fault/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "os/interrupt.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"

// A collector that is just reconnecting has no backend to hit. It is waited for
// this long before the fault counts as one that did not take effect.
static const int64_t victim_wait_ns = 2 * NS_PER_S;
static const int64_t gone_wait_ns = 5 * NS_PER_S;
static const int64_t poll_ns = 2 * NS_PER_MS;

static const char roles_collector[] = "{" MIGRATE_COLLECTOR "}";
static const char roles_load[] = "{" MIGRATE_LOAD "}";
static const char roles_all[] = "{" MIGRATE_COLLECTOR "," MIGRATE_LOAD "}";

static const char *roles_of(enum fault_target target)
{
    return target == TARGET_COLLECTOR ? roles_collector
           : target == TARGET_LOAD    ? roles_load
                                      : roles_all;
}

// Runs a statement with one parameter until it returns a positive count.
static bool until_positive(struct fault_context *c, const char *sql, const char *param,
    int64_t limit_ns, char *first_pid, size_t size, int *count, struct err *e)
{
    int64_t deadline = clock_now_ns() + limit_ns;

    for (;;) {
        if (!fault_admin(c, e))
            return false;
        PGresult *result = sql_query(c->admin, sql, 1, &param, e);
        if (!result && e->kind != ERR_CONNECTION)
            return false;
        *count = result ? (int)strtol(PQgetvalue(result, 0, 0), NULL, 10) : 0;
        if (result)
            snprintf(first_pid, size, "%s", PQgetvalue(result, 0, 1));
        PQclear(result);
        if (*count > 0)
            return true;
        if (clock_now_ns() > deadline)
            return err_set(e, ERR_CONNECTION, "no such backend appeared within 2 s");
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
}

// pid and backend_start together name a backend: pids are used again.
static const char terminate_sql[] =
    "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)),"
    " coalesce(string_agg(pid || ' ' || extract(epoch FROM backend_start), ','), '')"
    " FROM pg_stat_activity WHERE usename = ANY ($1::name[]) AND backend_type = 'client backend'";

static const char cancel_sql[] =
    "SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)), coalesce(string_agg(pid::text, ','), "
    "'')"
    " FROM pg_stat_activity WHERE usename = ANY ($1::name[]) AND backend_type = 'client backend'"
    " AND state = 'active'";

static const char gone_sql[] =
    "SELECT (NOT EXISTS (SELECT FROM pg_stat_activity WHERE"
    " pid || ' ' || extract(epoch FROM backend_start) = ANY (string_to_array($1, ','))))::int, ''";

bool fault_terminate_backend(struct fault_context *c, struct fault_record *r, struct err *e)
{
    char victims[2048], ignored[8];
    int count, gone;

    if (!until_positive(c, terminate_sql, roles_of(r->spec->target), victim_wait_ns, victims,
            sizeof victims, &count, e))
        return false;
    if (!until_positive(c, gone_sql, victims, gone_wait_ns, ignored, sizeof ignored, &gone, e))
        return err_set(e, ERR_CONNECTION, "backend %.60s is still there", victims);
    snprintf(r->evidence, sizeof r->evidence, "%d backend%s gone, first pid %.*s", count,
        count == 1 ? "" : "s", (int)strcspn(victims, " "), victims);
    return true;
}

bool fault_cancel_query(struct fault_context *c, struct fault_record *r, struct err *e)
{
    char victims[2048];
    int count;

    if (!until_positive(c, cancel_sql, roles_of(r->spec->target), victim_wait_ns, victims,
            sizeof victims, &count, e))
        return false;
    snprintf(r->evidence, sizeof r->evidence, "%d quer%s cancelled, first pid %.*s", count,
        count == 1 ? "y" : "ies", (int)strcspn(victims, ","), victims);
    return true;
}
