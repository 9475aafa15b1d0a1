#include "loop/link.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/log.h"

bool link_open(struct link *l, const char *url, int64_t now_ns, struct err *e)
{
    l->pooler_checked = false;
    return session_open(&l->session, url, l->silent_hosts, now_ns, e);
}

// True for a connection over TCP, unless it goes to the loopback address 127.0.0.1 or ::1.
static bool is_remote(int fd)
{
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof at;

    if (getpeername(fd, (struct sockaddr *)&at, &len) != 0)
        return false;
    if (at.ss_family == AF_INET)
        return ((struct sockaddr_in *)&at)->sin_addr.s_addr != htonl(INADDR_LOOPBACK);
    return at.ss_family == AF_INET6 &&
           !IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&at)->sin6_addr);
}

// Warns if nothing has proved that the server is the right one. libpq's default, sslmode=prefer,
// does not check that, and gives no warning. GSSAPI proves the identity of both sides.
static void warn_of_unproved_server(struct link *l)
{
    PGconn *conn = l->session.conn;
    PQconninfoOption *options = PQconninfo(conn);

    for (PQconninfoOption *o = options; o && o->keyword; o++)
        if (strcmp(o->keyword, "sslmode") == 0 && o->val && strcmp(o->val, "verify-full") != 0 &&
            is_remote(PQsocket(conn)) && !PQgssEncInUse(conn)) {
            log_line("PG",
                "sslmode is '%s', so nobody has proved who the server is; use verify-full", o->val);
            l->warned = true;
        }
    PQconninfoFree(options);
}

bool link_check_pooler(
    struct link *l, const char *url, const char *backend_pid, int64_t now_ns, struct err *e)
{
    // Until pooler_step returns true, it is not known whether the session is lent.
    if (!pooler_step(
            &l->pooler, url, l->silent_hosts, PQbackendPID(l->session.conn), backend_pid, now_ns))
        return true;
    l->pooler_checked = !l->pooler.shared;
    if (l->pooler_checked && !l->warned)
        warn_of_unproved_server(l);
    return l->pooler_checked ||
           err_set(e, ERR_USAGE,
               "MAILROOM_DATABASE_URL leads to a pooler that lends our session to others, so "
               "notifications would get lost; connect to the server, or to a pool in session mode");
}

// Returns why the session was lost, by the error and by what is known of the session.
static enum loss loss_of(const struct link *l, int64_t now_ns, const struct err *e)
{
    if (session_remedy(e->sqlstate) == REMEDY_COMPLAIN)
        return LOSS_COMPLAINT;
    if (session_silent(&l->session, now_ns))
        return LOSS_SILENT;
    // An administrator ended the session (57P01, admin_shutdown), or it worked and was lost. The
    // pause is short then, so that even if sessions are terminated again and again, there is time
    // to send a batch.
    if (strcmp(e->sqlstate, "57P01") == 0 ||
        (l->session.up && l->pooler_checked && e->kind == ERR_CONNECTION))
        return LOSS_ENDED;
    return LOSS_REFUSED;
}

void link_lose(struct link *l, struct meters *meters, int64_t now_ns, const struct err *e)
{
    static const enum meter_id reasons[] = {
        [LOSS_REFUSED] = METER_RECONNECTS_REFUSED,
        [LOSS_ENDED] = METER_RECONNECTS_ENDED,
        [LOSS_SILENT] = METER_RECONNECTS_SILENT,
        [LOSS_COMPLAINT] = METER_RECONNECTS_COMPLAINT,
    };
    char advice[SESSION_ADVICE_LEN];

    l->loss = loss_of(l, now_ns, e);
    meters_add(meters, reasons[l->loss], 1);
    // The next attempt leaves the hosts that were tried so far for the end. Otherwise libpq would
    // begin with the first host again, and reach the silent host before those that were not tried.
    if (l->loss == LOSS_SILENT && !l->session.up)
        l->silent_hosts += l->session.hosts_tried;
    log_line("PG", "%s: %s%s%s%s", l->session.up ? "the session was lost" : "cannot connect",
        e->text, e->kind == ERR_SQL ? ", SQLSTATE " : "", e->kind == ERR_SQL ? e->sqlstate : "",
        session_advice(&l->session, e->sqlstate, advice));
    link_close(l);
}

void link_plan_retry(struct link *l, int64_t now_ns)
{
    static const int64_t caps_ns[] = {
        [LOSS_REFUSED] = BACKOFF_SOON_NS,
        [LOSS_ENDED] = BACKOFF_BRIEF_NS,
        [LOSS_SILENT] = BACKOFF_CAP_NS,
        [LOSS_COMPLAINT] = BACKOFF_CAP_NS,
    };

    l->retry_at_ns = now_ns + backoff_next_ns(&l->backoff, caps_ns[l->loss]);
    log_line("PG", "reconnecting in %" PRId64 " ms", (l->retry_at_ns - now_ns) / NS_PER_MS);
}

void link_close(struct link *l)
{
    session_close(&l->session);
    pooler_close(&l->pooler);
}
