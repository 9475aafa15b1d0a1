// Examines the server itself: whether it takes writes, whether it keeps what it acknowledged, and
// whether anything would end or delay a collector's session.
#include <math.h>

#include "doctor/patient.h"
#include "scenario/scenario.h"

#define OLDEST_VERSION 130000
#define DEADLINE_MS 4000 // the least time that the collector itself gives a statement
#define TOKEN_LIFE_S 900 // life of a token: accounts get 15 minutes to answer
// Enough for a run: by default its load opens eight, and the harness and the collector open fewer.
#define RUN_CONNECTIONS 16

static void examine_version(struct patient *p)
{
    const int version = PQserverVersion(p->first);
    const char *text = PQparameterStatus(p->first, "server_version");

    if (version < OLDEST_VERSION)
        patient_breaks(p, "Upgrade to PostgreSQL 13 or later.",
            "PostgreSQL %.40s lacks pg_snapshot and xid8, on which the cursor rests", text);
    else
        patient_good(p, "PostgreSQL %.40s", text);
}

// Examines whether the server takes writes.
static void examine_role(struct patient *p)
{
    char standby[8], readonly[8];

    if (!patient_ask(p, p->first, "SELECT pg_is_in_recovery()", standby, sizeof standby) ||
        !patient_ask(p, p->first, "SHOW transaction_read_only", readonly, sizeof readonly))
        return;
    // Look for a standby first: it is read-only as well, but the user must do something else about
    // it.
    if (*standby == 't')
        patient_breaks(p, "Connect to the primary, with target_session_attrs=read-write.",
            "this is a standby: it takes no writes and no LISTEN");
    else if (strcmp(readonly, "on") == 0)
        patient_breaks(p, "ALTER ROLE or ALTER DATABASE … RESET default_transaction_read_only.",
            "transactions are read-only here: a collector cannot move its cursor");
    else
        patient_good(p, "a primary that takes writes");
}

// Examines the settings without which an acknowledged commit may not survive. Each must have the
// value `good`; NULL: any value but off.
static void examine_durability(struct patient *p)
{
    static const struct {
        const char *name, *good, *harm;
    } settings[] = {
        {"fsync", "on", "a crash of the host loses acknowledged mail and may ruin the database"},
        {"full_page_writes", "on", "a crash of the host may leave torn pages"},
        {"synchronous_commit", NULL, "a crash loses the last acknowledged commits"},
    };
    bool good = true;

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char sql[64], value[32], advice[96];
        snprintf(sql, sizeof sql, "SHOW %s", settings[i].name);
        if (!patient_ask(p, p->first, sql, value, sizeof value))
            return;
        if (settings[i].good ? strcmp(value, settings[i].good) == 0 : strcmp(value, "off") != 0)
            continue;
        good = false;
        snprintf(advice, sizeof advice, "Set %s = on.", settings[i].name);
        patient_breaks(p, advice, "%s is %s: %s", settings[i].name, value, settings[i].harm);
    }
    if (good)
        patient_good(p, "fsync and its like are on; whether the disk obeys, only a run can tell");
}

// Finds timeouts of the server that are shorter than a collector needs. A timeout of 0 is off.
static void examine_timeouts(struct patient *p)
{
    static const struct {
        const char *name;
        double least_ms;
        const char *harm;
    } timeouts[] = {
        {"idle_session_timeout", SCENARIO_HEALTHCHECK_MS,
            "the server ends a collector's session between two health checks"},
        {"statement_timeout", DEADLINE_MS,
            "a read behind a large backlog may be cancelled again and again"},
        {"transaction_timeout", DEADLINE_MS,
            "a read behind a large backlog may be cancelled again and again"},
        {"lock_timeout", 100, "a migration or a change of mode may give up at once"},
    };

    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        char sql[160], advice[200];
        double ms;
        // A setting that this version of the server lacks has no row, which reads as 0.
        snprintf(
            sql, sizeof sql, "SELECT setting FROM pg_settings WHERE name = '%s'", timeouts[i].name);
        if (!patient_number(p, sql, &ms))
            return;
        if (ms <= 0 || ms >= timeouts[i].least_ms)
            continue;
        snprintf(sql, sizeof sql, "SELECT format('ALTER ROLE %%I SET %s = 0;', current_user)",
            timeouts[i].name);
        if (!patient_ask(p, p->first, sql, advice, sizeof advice))
            return;
        patient_breaks(p, advice, "%s is %.0f ms: %s", timeouts[i].name, ms, timeouts[i].harm);
    }
}

static void examine_clock(struct patient *p)
{
    const double before_s = (double)clock_wall_ns() / NS_PER_S;
    double there_s;

    if (!patient_number(p, "SELECT extract(epoch FROM clock_timestamp())", &there_s))
        return;
    const double after_s = (double)clock_wall_ns() / NS_PER_S;
    // The server read its clock between the two readings here, so the offset may be wrong by
    // bound_s.
    const double bound_s = (after_s - before_s) / 2;
    const double offset_s = there_s - (before_s + after_s) / 2;
    if (fabs(offset_s) - bound_s > 60)
        patient_breaks(p, "Synchronise both clocks (NTP).",
            "the server's clock is %+.0f s from ours: tokens live for %d s by the server's clock, "
            "so a verifier elsewhere refuses them early or takes them late",
            offset_s, TOKEN_LIFE_S);
    else if (fabs(offset_s) - bound_s > 1)
        patient_note(p, "Synchronise both clocks (NTP).",
            "the server's clock is %+.1f s from ours: times in logs will not agree", offset_s);
    else
        patient_good(
            p, "the server's clock agrees with ours within %.3f s", fabs(offset_s) + bound_s);
}

// Notes a server that started less than five minutes ago: it may be suspended while idle.
static void examine_suspension(struct patient *p)
{
    double up_s;

    if (patient_number(p,
            "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())", &up_s) &&
        up_s < 300)
        patient_note(p,
            "If it is suspended while idle, switch that off, or lower "
            "MAILROOM_HEALTHCHECK_INTERVAL.",
            "the server started %.0f s ago: a managed database that sleeps while idle drops LISTEN "
            "and sends nothing",
            up_s);
}

static void examine_connections(struct patient *p)
{
    double left;

    if (!patient_number(p,
            "SELECT current_setting('max_connections')::int"
            " - current_setting('superuser_reserved_connections')::int"
            " - coalesce(current_setting('reserved_connections', true)::int, 0)" // since 16
            " - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')",
            &left))
        return;
    // A collector that reconnects needs a second connection until the server has noticed that the
    // first is gone.
    if (left < 2)
        patient_breaks(p, "Raise max_connections, or end idle sessions.",
            "%.0f %s left: a collector that loses its session may not come back", left,
            NOUN(left, "connection is", "connections are"));
    else if (left < RUN_CONNECTIONS)
        patient_note(p, "Raise max_connections, or set load.N.connections lower.",
            "%.0f %s left: a run opens eight and more", left,
            NOUN(left, "connection is", "connections are"));
    else
        patient_good(p, "%.0f %s left", left, NOUN(left, "connection is", "connections are"));
}

// Examines what others do on the server that would harm a queue: old transactions, prepared
// transactions, and a full notification queue.
static void examine_neighbours(struct patient *p)
{
    double oldest_s, prepared_s, queue;

    if (patient_number(p,
            "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)"
            " FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (backend_xid IS NOT NULL"
            " OR backend_xmin IS NOT NULL) AND backend_type = 'client backend'",
            &oldest_s) &&
        oldest_s > 60)
        patient_note(p, "Find it in pg_stat_activity (xact_start) and end it.",
            "a transaction has been open for %.0f s: it keeps dead rows, and delays collectors "
            "that wait for writers",
            oldest_s);
    if (patient_number(p,
            "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - prepared)), 0) FROM "
            "pg_prepared_xacts",
            &prepared_s) &&
        prepared_s > 60)
        patient_note(p, "COMMIT PREPARED or ROLLBACK PREPARED it.",
            "a transaction has been prepared for %.0f s: it keeps dead rows and outlives restarts",
            prepared_s);
    // The notification queue belongs to the whole server, so a listener in any database may make it
    // fill up.
    if (patient_number(p, "SELECT pg_notification_queue_usage()", &queue) && queue > 0.1)
        patient_breaks(p,
            "Find the listener that does not read (wait_event ClientWrite) and end it.",
            "the notification queue is %.0f%% full: when it is full, every insert fails",
            queue * 100);
}

const struct examination doctor_server_examinations[] = {
    {"version", examine_version, CONCERNS_BOTH},
    {"role", examine_role, CONCERNS_BOTH},
    {"durability", examine_durability, CONCERNS_BOTH},
    {"time-outs", examine_timeouts, CONCERNS_BOTH},
    {"clock", examine_clock, CONCERNS_BOTH},
    {"suspension", examine_suspension, CONCERNS_BOTH},
    {"connections", examine_connections, CONCERNS_BOTH},
    {"neighbours", examine_neighbours, CONCERNS_BOTH},
    {0},
};
