#include "session/session.h"

#include <poll.h>

#include "base/log.h"

#define CONNECT_TIMEOUT_NS (5 * NS_PER_S)
#define INSUFFICIENT_PRIVILEGE "42501"
#define INVALID_PASSWORD "28P01"

// Copies the SQLSTATE of a refusal to connect from libpq's text, which alone has it: after the
// severity, which may be in any language, and before a colon ("FATAL:  57P03: the database …"). If
// several hosts refused, it is that of the last.
static void find_sqlstate(const char *text, struct err *e)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    for (const char *p = strstr(text, ":  "); p; p = strstr(p + 1, ":  "))
        if (strspn(p + 3, digits) == 5 && p[8] == ':')
            snprintf(e->sqlstate, sizeof e->sqlstate, "%.5s", p + 3);
}

// When the server asks for a password and libpq has none, libpq itself gives up, without an
// SQLSTATE. For the user that is the same as a wrong password, so the error gets the SQLSTATE of a
// wrong password.
static void find_lack_of_password(const PGconn *conn, struct err *e)
{
    if (!e->sqlstate[0] && PQconnectionNeedsPassword(conn))
        snprintf(e->sqlstate, sizeof e->sqlstate, INVALID_PASSWORD);
}

// Appends the reasons of the other hosts of a list. libpq's text has a line for each host, which
// begins like `start`; the lines between these are hints and details.
static void add_other_hosts(const char *why, struct err *e)
{
    static const char start[] = "connection to server ";

    for (const char *p = strchr(why, '\n'); p; p = strchr(p + 1, '\n')) {
        size_t len = strlen(e->text);
        if (strncmp(p + 1, start, sizeof start - 1) == 0)
            snprintf(
                e->text + len, sizeof e->text - len, "; %.*s", (int)strcspn(p + 1, "\n"), p + 1);
    }
}

// Sets ERR_CONNECTION with libpq's reason and, if the session was not up yet, the SQLSTATE of the
// refusal. Returns false.
static bool connection_lost(struct session *s, struct err *e)
{
    const char *why = s->conn ? PQerrorMessage(s->conn) : "out of memory";

    err_set(e, ERR_CONNECTION, "%.*s", (int)strcspn(why, "\n"), why);
    add_other_hosts(why, e);
    if (!s->up) {
        find_sqlstate(why, e);
        find_lack_of_password(s->conn, e);
    }
    return false;
}

// libpq tries the hosts of a list one after the other. Sets a new deadline when libpq has gone on
// to the next host.
static void watch_host(struct session *s, int64_t now_ns)
{
    const char *host = PQhost(s->conn);
    const char *port = PQport(s->conn);
    char name[sizeof s->host];

    snprintf(name, sizeof name, "%.200s %.20s", host ? host : "", port ? port : "");
    if (strcmp(name, s->host) == 0)
        return;
    memcpy(s->host, name, sizeof name);
    s->hosts_tried++;
    s->connect_deadline_ns = now_ns + CONNECT_TIMEOUT_NS;
}

// Returns how many items a comma-separated list has.
static int count_items(const char *list)
{
    int n = 1;

    while ((list = strchr(list, ',')) != NULL) {
        list++;
        n++;
    }
    return n;
}

// Moves the first `skip` items of a comma-separated list to its end, in place. The list has more
// items than these. False: there is no memory.
static bool rotate_list(char *list, int skip)
{
    char *copy = strdup(list);

    if (!copy)
        return false;
    char *rest = copy;
    for (int i = 0; i < skip; i++)
        rest = strchr(rest, ',') + 1;
    if (rest > copy)
        snprintf(list, strlen(copy) + 1, "%s,%.*s", rest, (int)(rest - copy) - 1, copy);
    free(copy);
    return true;
}

// Begins to connect, with the first `skip` hosts of the list at its end. `skip` may be larger than
// the number of hosts; then it counts them again from the first. NULL: there is no memory.
static PGconn *start_session(const char *url, int skip)
{
    // Keywords before dbname are defaults, which the conninfo overrides; those after it override
    // the conninfo. At the end there is room for host, hostaddr and port, and for the NULL that
    // ends the list.
    const char *keywords[] = {"keepalives_idle", "keepalives_interval", "keepalives_count",
        "tcp_user_timeout", "fallback_application_name", "dbname", "client_encoding", NULL, NULL,
        NULL, NULL};
    const char *values[] = {
        "10", "2", "3", "5000", "mailroom-collector", url, "UTF8", NULL, NULL, NULL, NULL};
    size_t n = 7; // where the next keyword goes
    bool ok = true;
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    int hosts = 1;

    for (PQconninfoOption *o = options; o && o->keyword; o++)
        if (o->val && strncmp(o->keyword, "host", 4) == 0) // host or hostaddr
            hosts = count_items(o->val);
    // A list is rotated only if it has an item for each host, because a single port belongs to all
    // hosts.
    for (PQconninfoOption *o = options; o && o->keyword && skip % hosts; o++) {
        bool list = strncmp(o->keyword, "host", 4) == 0 || strcmp(o->keyword, "port") == 0;
        if (!o->val || !list || count_items(o->val) != hosts)
            continue;
        ok = ok && rotate_list(o->val, skip % hosts);
        keywords[n] = o->keyword;
        values[n++] = o->val;
    }
    PGconn *conn = ok ? PQconnectStartParams(keywords, values, 1) : NULL;
    PQconninfoFree(options);
    return conn;
}

// Logs what the server says unasked, such as why it ends a session. Without this function libpq
// would print the text unchanged.
static void on_notice(void *context, const PGresult *notice)
{
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY);
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);

    (void)context;
    log_line("PG", "%s: %s", severity ? severity : "notice", text ? text : "without a text");
}

bool session_open(struct session *s, const char *url, int skip, int64_t now_ns, struct err *e)
{
    *s = (struct session){.polling = PGRES_POLLING_WRITING, .heard_ns = now_ns, .now_ns = now_ns};
    s->conn = start_session(url, skip);
    if (!s->conn || PQstatus(s->conn) == CONNECTION_BAD)
        return connection_lost(s, e);
    PQsetErrorVerbosity(s->conn, PQERRORS_VERBOSE);
    PQsetNoticeReceiver(s->conn, on_notice, NULL);
    watch_host(s, now_ns);
    return true;
}

// Keeps a result until its sync, in place of one that is kept already; NULL: keeps none.
static void hold_result(struct session *s, PGresult *result)
{
    PQclear(s->held);
    s->held = result;
}

void session_close(struct session *s)
{
    hold_result(s, NULL);
    PQfinish(s->conn);
    *s = (struct session){0};
}

int session_fd(const struct session *s)
{
    return s->conn ? PQsocket(s->conn) : -1;
}

short session_events(const struct session *s)
{
    if (!s->up)
        return s->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    return (short)(POLLIN | (s->flushing ? POLLOUT : 0));
}

bool session_silent(const struct session *s, int64_t now_ns)
{
    return s->conn && now_ns - s->heard_ns >= NS_PER_S && session_deadline_ns(s) <= now_ns;
}

int64_t session_deadline_ns(const struct session *s)
{
    if (s->conn && !s->up)
        return s->connect_deadline_ns;
    return s->count > 0 ? s->requests[s->first].deadline_ns : CLOCK_NEVER;
}

// Sends what the socket takes; the owner polls for room while `flushing` is set.
static bool flush(struct session *s, struct err *e)
{
    int left = PQflush(s->conn);

    if (left < 0)
        return connection_lost(s, e);
    s->flushing = left > 0;
    return true;
}

// Goes on connecting. Once connected, the session is in pipeline mode.
static bool pump_connect(struct session *s, int64_t now_ns, struct err *e)
{
    struct pollfd p = {.fd = PQsocket(s->conn), .events = session_events(s)};

    // PQconnectPoll must only be called when the socket is ready for it.
    if (poll(&p, 1, 0) <= 0)
        return true;
    s->polling = PQconnectPoll(s->conn);
    if (s->polling == PGRES_POLLING_FAILED)
        return connection_lost(s, e);
    watch_host(s, now_ns);
    if (s->polling != PGRES_POLLING_OK)
        return true;
    if (PQsetnonblocking(s->conn, 1) != 0 || PQenterPipelineMode(s->conn) != 1)
        return connection_lost(s, e);
    s->up = true;
    s->heard_ns = now_ns;
    return true;
}

// Reads what has arrived, and sends what the socket takes.
static bool pump_traffic(struct session *s, int64_t now_ns, struct err *e)
{
    struct pollfd p = {.fd = PQsocket(s->conn), .events = POLLIN};

    if (poll(&p, 1, 0) > 0) {
        if (PQconsumeInput(s->conn) != 1)
            return connection_lost(s, e);
        s->heard_ns = now_ns;
    }
    return flush(s, e);
}

bool session_pump(struct session *s, int64_t now_ns, struct err *e)
{
    s->now_ns = now_ns;
    if (!s->conn)
        return true;
    if (!(s->up ? pump_traffic(s, now_ns, e) : pump_connect(s, now_ns, e)))
        return false;
    // The socket was read first, so an answer that has arrived is not late: libpq is not busy then.
    if (session_deadline_ns(s) <= now_ns && (!s->up || PQisBusy(s->conn)))
        return err_set(e, ERR_CONNECTION, "the server did not answer in time");
    return true;
}

// Ends a request with its sync, and puts it into the list. `sent`: what libpq's function for
// sending it returned; 1: libpq has accepted it.
static bool finish_request(struct session *s, int sent, int tag, int64_t deadline_ns, struct err *e)
{
    if (sent != 1 || PQpipelineSync(s->conn) != 1)
        return connection_lost(s, e);
    assert(s->count < SESSION_REQUESTS_MAX);
    s->requests[(s->first + s->count) % SESSION_REQUESTS_MAX] = (struct session_request){
        .tag = tag, .patience_ns = deadline_ns - s->now_ns, .deadline_ns = deadline_ns};
    s->count++;
    return flush(s, e);
}

const char *session_number(char text[SESSION_NUMBER_LEN], int64_t n)
{
    snprintf(text, SESSION_NUMBER_LEN, "%" PRId64, n);
    return text;
}

bool session_query(struct session *s, int tag, const char *sql, struct session_params p,
    int64_t deadline_ns, struct err *e)
{
    int sent = PQsendQueryParams(s->conn, sql, p.n, NULL, p.values, NULL, NULL, 0);

    return finish_request(s, sent, tag, deadline_ns, e);
}

bool session_prepare(struct session *s, int tag, const char *name, const char *sql,
    int64_t deadline_ns, struct err *e)
{
    return finish_request(s, PQsendPrepare(s->conn, name, sql, 0, NULL), tag, deadline_ns, e);
}

bool session_execute(struct session *s, int tag, const char *name, struct session_params p,
    int64_t deadline_ns, struct err *e)
{
    int sent = PQsendQueryPrepared(s->conn, name, p.n, p.values, NULL, NULL, 1);

    return finish_request(s, sent, tag, deadline_ns, e);
}

bool session_awaits(const struct session *s, int tag)
{
    for (int i = 0; i < s->count; i++)
        if (s->requests[(s->first + i) % SESSION_REQUESTS_MAX].tag == tag)
            return true;
    return false;
}

// Takes the oldest request, which is answered, out of the list. The server could begin with the
// next one only after that answer, which came at heard_ns.
static void end_request(struct session *s)
{
    s->first = (s->first + 1) % SESSION_REQUESTS_MAX;
    s->count--;
    struct session_request *next = &s->requests[s->first];
    if (s->count > 0 && next->deadline_ns != CLOCK_NEVER)
        next->deadline_ns = clock_max(next->deadline_ns, s->heard_ns + next->patience_ns);
}

// The answer to a request is its result, then NULL, then its sync. The commit comes with the sync
// and may still fail. So a result is held until the sync, and an error of the commit takes its
// place. An error in place of the result is given out at once, because no sync follows an error
// that ends the session.
bool session_take(struct session *s, struct session_reply *out)
{
    int nothing = 0;

    while (s->up && s->count > 0 && nothing < 2 && !PQisBusy(s->conn)) {
        PGresult *result = PQgetResult(s->conn);
        if (!result) {
            // NULL twice in a row means that libpq knows that the connection is gone.
            nothing++;
            continue;
        }
        nothing = 0;
        struct session_request *r = &s->requests[s->first];
        *out = (struct session_reply){.tag = r->tag, .result = result};
        switch (PQresultStatus(result)) {
        case PGRES_PIPELINE_SYNC:
            PQclear(result);
            out->result = s->held;
            s->held = NULL;
            end_request(s);
            if (!out->result) // the request has failed, and its error was given out before
                continue;
            return true;
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
            hold_result(s, result);
            continue;
        default: // an error
            hold_result(s, NULL);
            return true;
        }
    }
    return false;
}

PGnotify *session_notification(struct session *s)
{
    return s->up ? PQnotifies(s->conn) : NULL;
}

bool session_check(const PGresult *result, struct err *e)
{
    ExecStatusType status = PQresultStatus(result);

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return true;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    // An error without an SQLSTATE comes from libpq itself: the connection is lost.
    err_set(e, state ? ERR_SQL : ERR_CONNECTION, "%s", text ? text : "the connection was lost");
    if (state)
        snprintf(e->sqlstate, sizeof e->sqlstate, "%s", state);
    return false;
}

bool session_check_row(const PGresult *result, struct err *e)
{
    return session_check(result, e) &&
           (PQntuples(result) > 0 || err_set(e, ERR_SCHEMA,
                                         "the server's answer lacks its row: a function of the "
                                         "schema is not the one that the migrations make; apply "
                                         "them, or restore it"));
}

enum session_remedy session_remedy(const char *sqlstate)
{
    static const struct {
        const char *prefix;
        enum session_remedy remedy;
    } table[] = {
        {"57014", REMEDY_RETRY},     // query_canceled
        {"40001", REMEDY_RETRY},     // serialization_failure
        {"40P01", REMEDY_RETRY},     // deadlock_detected
        {"55P03", REMEDY_RETRY},     // lock_not_available
        {"42P05", REMEDY_RECONNECT}, // duplicate_prepared_statement
        {"28", REMEDY_COMPLAIN},     // invalid authorization
        {"3D000", REMEDY_COMPLAIN},  // the database does not exist
        {"42", REMEDY_COMPLAIN},     // missing rights or objects
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strncmp(sqlstate, table[i].prefix, strlen(table[i].prefix)) == 0)
            return table[i].remedy;
    // The table leaves the rest, such as a shutdown (57P01) or a read-only server (25006).
    return REMEDY_RECONNECT;
}

const char *session_advice(
    const struct session *s, const char *sqlstate, char text[SESSION_ADVICE_LEN])
{
    if (session_remedy(sqlstate) != REMEDY_COMPLAIN)
        return "";
    // The role mailroom_collector gives rights inside of the database, but not the right to
    // connect. So it does not help a session that is not up.
    if (!s->up || strcmp(sqlstate, INSUFFICIENT_PRIVILEGE) != 0)
        return "; it is tried again until somebody corrects it";
    snprintf(text, SESSION_ADVICE_LEN,
        "; it is tried again until somebody corrects it: GRANT mailroom_collector TO \"%.63s\" "
        "gives it rights",
        PQuser(s->conn));
    return text;
}
