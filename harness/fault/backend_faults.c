// Faults against single backends, chosen by the role that logged in.
#include "fault/family.h"

#include "os/interrupt.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"

static const int64_t gone_wait_ns = 5 * NS_PER_S;
static const int64_t poll_ns = 2 * NS_PER_MS;
static const long birth_ms = 50; // a session younger than this is still being set up
static const int64_t log_wait_ns = 20 * NS_PER_MS;

static const char roles_collector[] = "{" MIGRATE_COLLECTOR "}";
static const char roles_load[] = "{" MIGRATE_LOAD "}";
static const char roles_all[] = "{" MIGRATE_COLLECTOR "," MIGRATE_LOAD "}";

static const char *roles_of(enum fault_target target)
{
    return target == TARGET_LOAD ? roles_load : target == TARGET_ALL ? roles_all : roles_collector;
}

struct backends {
    int count;
    char pids[32 << 10]; // the second column: a pid, or pids with their start times
    long age_ms;         // the third column, if there is one: age of the oldest
};

// Runs a statement with one parameter until its first column is positive; with deadline 0, once.
// Fails with ERR_CONNECTION when the deadline has passed.
static bool query_until_positive(struct fault_context *c, const char *sql, const char *param,
    int64_t deadline, struct backends *out, struct err *e)
{
    for (;;) {
        *out = (struct backends){0};
        if (!fault_admin(c, e))
            return false;
        PGresult *result = sql_query(c->admin, sql, 1, &param, e);
        // A lost connection may be the work of an earlier fault. fault_admin opens it again at the
        // next turn.
        if (!result && e->kind != ERR_CONNECTION)
            return false;
        if (result) {
            out->count = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
            // A list that is cut short must not pass, because nobody would check whether the
            // backends that it lacks live on.
            if ((size_t)snprintf(out->pids, sizeof out->pids, "%s", PQgetvalue(result, 0, 1)) >=
                sizeof out->pids) {
                PQclear(result);
                return err_set(e, ERR_SYSTEM, "there are too many backends to follow each");
            }
            out->age_ms = PQnfields(result) > 2 ? strtol(PQgetvalue(result, 0, 2), NULL, 10) : 0;
        }
        PQclear(result);
        if (out->count > 0)
            return true;
        if (clock_now_ns() > deadline)
            return err_set(e, ERR_CONNECTION, "no such backend appeared in time");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
}

// BACKENDS are those of the roles in $1. LISTENERS are those of them whose last query was a LISTEN:
// a subject may have a session of its own for LISTEN, which `target: listener` hits.
#define BACKENDS                                                                                   \
    " FROM pg_stat_activity WHERE usename = ANY ($1::name[]) AND backend_type = 'client backend'"
#define LISTENERS BACKENDS " AND query ~* '^\\s*LISTEN\\M'"

static const char backends_sql[] = "SELECT count(*), ''" BACKENDS;
static const char listeners_sql[] = "SELECT count(*), ''" LISTENERS;

// Terminates backends. pid and backend_start together identify a backend, because the system reuses
// pids.
#define TERMINATE                                                                                  \
    "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)),"                                    \
    " coalesce(string_agg(pid || ' ' || extract(epoch FROM backend_start), ','), ''),"             \
    " (extract(epoch FROM clock_timestamp() - min(backend_start)) * 1000)::bigint"

static const char terminate_sql[] = TERMINATE BACKENDS;
static const char terminate_listener_sql[] = TERMINATE LISTENERS;

// This function runs in the server, watches for a query of the given roles, cancels the first that
// it sees, and returns its pid. A collector's query takes a millisecond, so it would always be over
// before another client could cancel it. Without pg_stat_clear_snapshot each turn of the loop would
// see what the first one saw.
static const char cancel_function_sql[] =
    "CREATE OR REPLACE FUNCTION pg_temp.cancel_one(roles name[]) RETURNS text LANGUAGE plpgsql AS "
    "$$"
    " DECLARE hit text; until timestamptz := clock_timestamp() + interval '100 ms';"
    " BEGIN"
    "  WHILE hit IS NULL AND clock_timestamp() < until LOOP"
    "   PERFORM pg_stat_clear_snapshot();"
    "   SELECT pid INTO hit FROM pg_stat_activity WHERE usename = ANY (roles) AND state = 'active'"
    "    AND backend_type = 'client backend';"
    "   IF hit IS NOT NULL THEN PERFORM pg_cancel_backend(hit::int); END IF;"
    "  END LOOP;"
    "  RETURN hit;"
    " END $$";

static const char cancel_sql[] =
    "SELECT (pid IS NOT NULL)::int, pid FROM pg_temp.cancel_one($1::name[]) AS pid";

// 1 when none of the backends of the list $1, as TERMINATE returns it, lives.
static const char gone_sql[] =
    "SELECT (NOT EXISTS (SELECT FROM pg_stat_activity WHERE"
    " pid || ' ' || extract(epoch FROM backend_start) = ANY (string_to_array($1, ','))))::int, ''";

static bool sees_backend(struct fault_context *c, const struct fault_record *r, struct err *e)
{
    const char *sql = r->spec->target == TARGET_LISTENER ? listeners_sql : backends_sql;
    struct backends seen;

    return query_until_positive(c, sql, roles_of(r->spec->target), 0, &seen, e);
}

// Terminates all backends of the target, and waits until they are gone.
static bool terminate_backend(struct fault_context *c, struct fault_record *r, struct err *e)
{
    const char *sql = r->spec->target == TARGET_LISTENER ? terminate_listener_sql : terminate_sql;
    struct backends victims, gone;

    if (!query_until_positive(c, sql, roles_of(r->spec->target), 0, &victims, e))
        return false;
    // pg_terminate_backend returns when the signal was sent. The backend obeys at its next check
    // for interrupts.
    if (!query_until_positive(c, gone_sql, victims.pids, clock_now_ns() + gone_wait_ns, &gone, e))
        return err_set(e, ERR_CONNECTION, "backend %.60s is still there", victims.pids);
    int len = snprintf(r->evidence, sizeof r->evidence, "%d %s gone, first pid %.*s", victims.count,
        NOUN(victims.count, "backend", "backends"), (int)strcspn(victims.pids, " "), victims.pids);
    // A session younger than birth_ms has hardly done any work, so its end proves little.
    if (victims.age_ms < birth_ms)
        snprintf(r->evidence + len, sizeof r->evidence - (size_t)len, ", at its birth: %ld ms old",
            victims.age_ms);
    return true;
}

// Waits 20 ms at most and returns true when the server's log shows the cancellation. The signal
// alone proves nothing, because the query may have been over before it came. (If the harness cannot
// read the log, cancel_query takes the sent signal as evidence all the same.)
static bool log_shows_cancel(const char *path, long from)
{
    static const char words[] = "canceling statement due to user request";
    int64_t deadline = clock_now_ns() + log_wait_ns;

    do {
        if (fault_count_in_log(path, from, words) > 0)
            return true;
    } while (clock_now_ns() < deadline && interrupt_sleep_until(clock_now_ns() + poll_ns));
    return false;
}

// Cancels a query. Tries until the deadline for a victim, because a query may end before the signal
// comes. The evidence is the server's log if it can be read, and otherwise the signal.
static bool cancel_query(struct fault_context *c, struct fault_record *r, struct err *e)
{
    const char *log = c->server->log_is_live ? c->server->log_path : NULL;
    int64_t deadline = fault_victim_deadline_ns(c);
    struct backends victim;

    for (int function_pid = 0;;) {
        long from = provider_log_length(c->server);
        // The function cancel_one ends with the session that made it, so a new session makes it
        // again.
        if (!fault_admin(c, e) ||
            (PQbackendPID(c->admin) != function_pid && !sql_exec(c->admin, cancel_function_sql, e)))
            return false;
        function_pid = PQbackendPID(c->admin);
        // One try watches for a query for up to 100 ms, so the fault begins anew with each try.
        r->began_ns = clock_now_ns();
        bool sent = query_until_positive(c, cancel_sql, roles_of(r->spec->target), 0, &victim, e);
        if (!sent && e->kind != ERR_CONNECTION)
            return false;
        if (sent && (!log || log_shows_cancel(log, from)))
            break;
        if (clock_now_ns() > deadline)
            return err_set(e, ERR_SKIP, "%s",
                sent ? "every query was over before it could be cancelled"
                     : "no backend ran a query in time");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    snprintf(r->evidence, sizeof r->evidence, "query of pid %.20s cancelled%s", victim.pids,
        log ? ", says the server's log" : "");
    return true;
}

const struct fault_verb fault_backend_verbs[] = {
    {VERB_TERMINATE_BACKEND, .look = sees_backend, .begin = terminate_backend},
    {VERB_CANCEL_QUERY, .look = sees_backend, .begin = cancel_query},
    {0},
};
