// Faults against the whole server.
#include "fault/family.h"

#include "os/interrupt.h"
#include "postgres/local/disk.h"
#include "postgres/sql.h"

struct disk *fault_disk(const struct fault_context *c)
{
    const struct provider *p = c->server->provider;

    return p->disk ? p->disk(c->server) : NULL;
}

// Returns how the verb stops the server. kill-host can cut the power only of a crashable disk.
static enum server_stop stop_mode_of(const struct fault_context *c, const struct fault_record *r)
{
    switch (r->spec->verb->id) {
    case VERB_KILL_HOST:
        return fault_disk(c) ? SERVER_STOP_POWER : SERVER_STOP_KILL;
    case VERB_CRASH_SERVER:
        return SERVER_STOP_IMMEDIATE;
    case VERB_KILL_SERVER:
        return SERVER_STOP_KILL;
    case VERB_CUT_POWER:
        return SERVER_STOP_POWER;
    default:
        return SERVER_STOP_FAST;
    }
}

// Reads the postmaster's start time, which tells one life of the server from the next.
static bool read_start_time(struct fault_context *c, char *out, size_t size, struct err *e)
{
    return fault_admin(c, e) &&
           sql_value(c->admin, "SELECT pg_postmaster_start_time()", out, size, e);
}

// Before a power cut, changes pages, so that some are being written when it comes and can be torn.
bool fault_change_pages(struct fault_context *c, struct fault_record *r, struct err *e)
{
    const struct server *s = c->server;

    if (stop_mode_of(c, r) != SERVER_STOP_POWER)
        return true;
    PGconn *conn = fault_admin(c, e) ? provider_connect(s, s->superuser, "postgres", e) : NULL;
    // disk_dirty_pages takes the connection over.
    bool ok = conn && disk_dirty_pages(fault_disk(c), conn, e);
    // Nothing was broken before this moment, so the fault begins here.
    r->began_ns = clock_now_ns();
    return ok;
}

// Stops the server. The evidence is the postmaster's start time: r->evidence keeps the old time,
// which must have changed when the server is back.
bool fault_stop_server(struct fault_context *c, struct fault_record *r, struct err *e)
{
    char before[64];

    if (!read_start_time(c, before, sizeof before, e))
        return false;
    snprintf(r->evidence, sizeof r->evidence, "%s", before);
    sql_finish(&c->admin);
    return c->server->provider->stop(c->server, stop_mode_of(c, r), e);
}

// Starts the server again. A start time other than that in r->evidence proves that it was stopped.
bool fault_start_server(struct fault_context *c, struct fault_record *r, struct err *e)
{
    char before[64], now[64];

    snprintf(before, sizeof before, "%.60s", r->evidence);
    // After a power cut, the error also tells what the disk lost.
    if (!c->server->provider->start(c->server, e) || !read_start_time(c, now, sizeof now, e))
        return stop_mode_of(c, r) == SERVER_STOP_POWER
                   ? err_prefix(e, "%s", fault_disk(c)->evidence)
                   : false;
    // If the stop had done nothing, the collector would pass every check untested. (If the fault
    // failed at its beginning, `before` is the reason and no time, so it differs from any start
    // time.)
    if (strcmp(before, now) == 0)
        return err_set(e, ERR_SYSTEM, "the server was not restarted: it runs since %s", now);
    if (stop_mode_of(c, r) == SERVER_STOP_POWER)
        snprintf(r->evidence, sizeof r->evidence, "%s", fault_disk(c)->evidence);
    else
        snprintf(r->evidence, sizeof r->evidence, "postmaster started anew at %s", now);
    return true;
}

static bool cut_power(struct fault_context *c, struct fault_record *r, struct err *e)
{
    bool ok = fault_change_pages(c, r, e) && fault_stop_server(c, r, e);
    const int64_t cut_ns = fault_disk(c)->cut_ns;

    // The disk cuts its power when pages are being written, or after 5 s. The fault begins then.
    r->began_ns = clock_max(cut_ns, r->began_ns);
    return ok;
}

static bool pause_server(struct fault_context *c, struct fault_record *r, struct err *e)
{
    if (!c->server->provider->pause(c->server, true, e))
        return false;
    snprintf(r->evidence, sizeof r->evidence, "%s",
        c->server->provider == &provider_local ? "postmaster and backends seen stopped"
                                               : "paused, says the container's engine");
    return true;
}

static bool continue_server(struct fault_context *c, struct fault_record *r, struct err *e)
{
    (void)r;
    return c->server->provider->pause(c->server, false, e);
}

// Kills the primary, and waits until the standby takes writes, which its new timeline proves.
static bool promote_standby(struct fault_context *c, struct fault_record *r, struct err *e)
{
    char timeline[16];

    // This connection leads to the primary that is about to die.
    sql_finish(&c->admin);
    if (!c->server->provider->promote(c->server, e) || !fault_admin(c, e) ||
        !sql_value(c->admin, "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)", timeline,
            sizeof timeline, e))
        return false;
    snprintf(r->evidence, sizeof r->evidence, "primary killed, standby takes writes on timeline %s",
        timeline);
    return true;
}

// --- read-only-server -------------------------------------------------------------------

static const int64_t reload_limit_ns = 10 * NS_PER_S;
static const int64_t poll_ns = 5 * NS_PER_MS;

// Waits until new sessions get `want` (on or off) for default_transaction_read_only, because
// pg_reload_conf does not wait until the postmaster has read its files. Fails after 10 s.
static bool await_read_only(struct fault_context *c, const char *want, struct err *e)
{
    int64_t deadline = clock_now_ns() + reload_limit_ns;

    for (;;) {
        char now[8] = "";
        // New sessions get the setting from the postmaster, and this one gets it later than that.
        // We ask no new session: with a standby the conninfo asks for a server that takes writes.
        if (!sql_value(c->admin, "SHOW default_transaction_read_only", now, sizeof now, e))
            return false;
        if (strcmp(now, want) == 0)
            return true;
        if (clock_now_ns() > deadline)
            return err_set(
                e, ERR_SYSTEM, "the server still has default_transaction_read_only=%s", now);
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
}

// Begins read-only-server.
static bool refuse_writes(struct fault_context *c, struct fault_record *r, struct err *e)
{
    if (!fault_admin(c, e))
        return false;
    r->memo = (uint64_t)provider_log_length(c->server); // accept_writes reads the log from there on
    r->kept = r; // not NULL, so that fault_abandon undoes the setting when the run ends early
    r->began_ns = clock_now_ns();
    return sql_exec(c->admin, "ALTER SYSTEM SET default_transaction_read_only = on", e) &&
           sql_exec(c->admin, "SELECT pg_reload_conf()", e) && await_read_only(c, "on", e);
}

// Ends read-only-server. The refused statements only add to the evidence: that new sessions were
// read-only was seen at the fault's beginning.
static bool accept_writes(struct fault_context *c, struct fault_record *r, struct err *e)
{
    const long log_from = (long)r->memo;
    unsigned refused = 0;

    if (!r->kept)
        return err_set(e, ERR_INTERNAL, "it never began");
    bool ok = fault_admin(c, e) &&
              sql_exec(c->admin, "ALTER SYSTEM RESET default_transaction_read_only", e) &&
              sql_exec(c->admin, "SELECT pg_reload_conf()", e) && await_read_only(c, "off", e);

    r->kept = NULL;
    if (c->server->log_is_live)
        refused = fault_count_in_log(c->server->log_path, log_from, "in a read-only transaction");
    snprintf(r->evidence, sizeof r->evidence,
        "new sessions were read-only; the server refused %u %s", refused,
        NOUN(refused, "statement", "statements"));
    return ok;
}

const struct fault_verb fault_server_verbs[] = {
    {VERB_STOP_SERVER, .begin = fault_stop_server, .end = fault_start_server, .need = NEEDS_STOP},
    {VERB_RESTART_SERVER, .begin = fault_stop_server, .end = fault_start_server,
        .need = NEEDS_STOP},
    {VERB_CRASH_SERVER, .begin = fault_stop_server, .end = fault_start_server, .need = NEEDS_STOP},
    {VERB_KILL_SERVER, .begin = fault_stop_server, .end = fault_start_server, .need = NEEDS_STOP},
    {VERB_CUT_POWER, .begin = cut_power, .end = fault_start_server, .need = NEEDS_DISK},
    {VERB_PAUSE_SERVER, .begin = pause_server, .end = continue_server, .need = NEEDS_PAUSE},
    // NEEDS_STOP: it changes a setting of the whole server, which the harness must control.
    {VERB_READ_ONLY_SERVER, .begin = refuse_writes, .end = accept_writes, .need = NEEDS_STOP},
    {VERB_PROMOTE_STANDBY, .begin = promote_standby, .need = NEEDS_PROMOTE},
    {0},
};
