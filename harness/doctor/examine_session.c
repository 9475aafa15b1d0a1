// Examines whether a session serves one client alone, and whether it keeps what a collector needs.
// A pooler may lend one server session to many clients. Then locks and LISTEN are not kept, and no
// error tells so.
#include <poll.h>

#include "doctor/patient.h"
#include "postgres/sql.h"

#define CHANNEL "mailproof_doctor"
#define ANSWER_NS (2 * NS_PER_S)

static const char advice_session_mode[] =
    "Connect to the server itself, or to a pool in session mode (pool_mode = session).";

// Tries a transaction block. A pooler in statement mode refuses every one.
static void examine_transactions(struct patient *p)
{
    struct err why;

    if (sql_exec(p->first, "BEGIN", &why) && sql_exec(p->first, "COMMIT", &why)) {
        patient_good(p, "transactions of several statements work");
        return;
    }
    patient_breaks(
        p, advice_session_mode, "a transaction of several statements is refused: %.200s", why.text);
}

// True when libpq was told another pid than that of the server process: a pooler made up its own.
static bool behind_pooler(struct patient *p)
{
    char pid[32];

    return patient_ask(p, p->first, "SELECT pg_backend_pid()", pid, sizeof pid) &&
           strtol(pid, NULL, 10) != PQbackendPID(p->first);
}

// Sets *kept to whether the second session is refused a lock that the first one holds. The lock is
// granted if the server sees both as one session. Returns false when a query failed.
static bool ask_lock_kept(struct patient *p, bool *kept)
{
    char got[8], got_again[8], ignored[8];
    // A lock with two numbers never meets a collector's locks, which have one.
    const char *try = "SELECT pg_try_advisory_lock(752647361, 509837210)";

    bool ok = patient_ask(p, p->first, try, got, sizeof got) &&
              patient_ask(p, p->second, try, got_again, sizeof got_again);
    *kept = ok && got[0] == 't' && got_again[0] == 'f';
    return ok &&
           patient_ask(p, p->second, "SELECT pg_advisory_unlock_all()", ignored, sizeof ignored) &&
           patient_ask(p, p->first, "SELECT pg_advisory_unlock_all()", ignored, sizeof ignored);
}

// Examines whether a lock of a session is kept, which fails when a pooler shares the session.
static void examine_locks(struct patient *p)
{
    bool kept;

    // Without a second session this cannot be tried, and open_sessions has reported that.
    if (!p->second || !ask_lock_kept(p, &kept))
        return;
    if (!kept)
        patient_breaks(p, advice_session_mode,
            "session locks are not kept: two collectors would both believe that they hold the "
            "queue");
    else if (behind_pooler(p))
        patient_note(p,
            "Give the pool one connection for each collector, beside the application's.",
            "there is a pooler in front of the server; in session mode each collector takes one of "
            "its connections for good");
    else
        patient_good(p, "session locks are kept");
}

// True when the session gets a notification within ANSWER_NS.
static bool session_hears_notify(PGconn *conn)
{
    const int64_t until_ns = clock_now_ns() + ANSWER_NS;
    PGnotify *notify = NULL;

    // The notification may still be on its way, so wait for it.
    while (PQconsumeInput(conn) && !(notify = PQnotifies(conn))) {
        struct pollfd fd = {.fd = PQsocket(conn), .events = POLLIN};
        int64_t left_ns = until_ns - clock_now_ns();
        if (left_ns <= 0 || poll(&fd, 1, (int)(left_ns / NS_PER_MS) + 1) < 0)
            break;
    }
    bool heard = notify != NULL;
    PQfreemem(notify);
    return heard;
}

// Examines whether a notification from the second session reaches the first one.
static void examine_listen(struct patient *p)
{
    struct err why;

    if (!p->second)
        return;
    if (!sql_exec(p->first, "LISTEN " CHANNEL, &why)) {
        patient_breaks(p, "Connect to the primary; a standby cannot LISTEN.",
            "LISTEN is refused: %.200s", why.text);
        return;
    }
    if (!sql_exec(p->second, "NOTIFY " CHANNEL, &why))
        patient_breaks(p, "Connect to the primary.", "NOTIFY is refused: %.200s", why.text);
    else if (session_hears_notify(p->first))
        patient_good(p, "notifications arrive");
    else
        patient_breaks(p, advice_session_mode,
            "LISTEN is accepted, but a notification does not arrive: a collector would look at the "
            "queue only at its health checks");
    if (!sql_exec(p->first, "UNLISTEN *", &why)) {
        // A failure does not matter, because listening ends with the session.
    }
}

static bool is_local_host(const char *host)
{
    return !host || !*host || *host == '/' || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0;
}

// Examines the way to the server. The server names the port at which it was reached. If the client
// connected to another port, something lies in between.
static void examine_path(struct patient *p)
{
    char port[16], want[16];
    const char *ours = PQport(p->first);

    if (!patient_ask(p, p->first, "SELECT inet_server_port()", port, sizeof port))
        return;
    snprintf(want, sizeof want, "%s", ours && *ours ? ours : "5432");
    // A session through a Unix socket has no port. A pooler has a port of its own as well, and
    // examine_locks has reported it.
    if (*port && strcmp(port, want) != 0 && !behind_pooler(p))
        patient_note(p,
            "Set its idle timeouts above MAILROOM_HEALTHCHECK_INTERVAL (270 s), or lower that.",
            "the server listens on port %s, we reached it through port %s: a proxy forwards the "
            "connection, and may end one that is idle",
            port, want);
    if (!is_local_host(PQhost(p->first)) && !PQsslInUse(p->first))
        patient_note(p, "Set sslmode=verify-full.", "the connection to %.100s is not encrypted",
            PQhost(p->first));
}

// Examines a conninfo with several hosts. libpq takes the first that answers, even if it is a
// standby.
static void examine_hosts(struct patient *p)
{
    const char *host = NULL, *attrs = NULL;

    for (const PQconninfoOption *o = p->options; o->keyword; o++) {
        if (strcmp(o->keyword, "host") == 0)
            host = o->val;
        else if (strcmp(o->keyword, "target_session_attrs") == 0)
            attrs = o->val;
    }
    // One host is either the right one or not, and examine_role says which.
    if (host && strchr(host, ',') && (!attrs || strcmp(attrs, "any") == 0))
        patient_breaks(p, "Add target_session_attrs=read-write.",
            "several hosts are named, and libpq may connect to a standby among them");
}

const struct examination doctor_session_examinations[] = {
    {"transactions", examine_transactions, CONCERNS_BOTH},
    {"locks", examine_locks, CONCERNS_BOTH},
    {"notifications", examine_listen, CONCERNS_BOTH},
    {"path", examine_path, CONCERNS_BOTH},
    {"hosts", examine_hosts, CONCERNS_BOTH},
    {0},
};
