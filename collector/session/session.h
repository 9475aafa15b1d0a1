// One connection to PostgreSQL that never blocks its caller.
//
// libpq in pipeline mode: every request travels with a sync of its own, so each request is a
// transaction by itself, and a failed one makes no other fail. Requests are kept in a
// first-in-first-out list, and each answer comes back with the tag of its request.
//
// Every request has a deadline, which may be CLOCK_NEVER. When it passes, the connection counts as
// dead, because a server that answers too late is of no use. The server begins with a request when
// it has answered the one before. So only the oldest request can be late, and each one has, from
// the answer before it on, as much time as it had when it was sent.
//
// The owner polls session_fd for session_events and calls session_pump; any function that fails
// with ERR_CONNECTION leaves a session that can only be closed.
#pragma once

#include <libpq-fe.h>

#include "base/base.h"

#define SESSION_REQUESTS_MAX 24

struct session_request {
    int tag;
    int64_t patience_ns; // from when the server can begin with it until the deadline
    int64_t deadline_ns;
};

struct session {
    PGconn *conn;
    bool up; // connected, in pipeline mode
    PostgresPollingStatusType polling;
    int64_t connect_deadline_ns; // the deadline of the host that is being tried
    char host[256];              // the name of that host, to notice when libpq goes on to the next
    int hosts_tried;             // how many hosts were tried, including that one
    struct session_request requests[SESSION_REQUESTS_MAX];
    int first;        // where the oldest request is in the ring `requests`
    int count;        // requests whose answer is not complete
    PGresult *held;   // an answer whose commit is not confirmed yet; NULL: none
    bool flushing;    // libpq holds bytes that the socket did not take yet
    int64_t heard_ns; // when the server was heard last, or the session was opened
    int64_t now_ns;   // when the session was opened or pumped last
};

// Parameters of a request, as text; NULL is SQL's null.
struct session_params {
    int n;
    const char *const *values;
};

// Makes parameters of its arguments. They live as long as the block in which the macro is used.
#define SESSION_PARAMS(...)                                                                        \
    (struct session_params)                                                                        \
    {                                                                                              \
        .n = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),                    \
        .values = (const char *const[])                                                            \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

// Writes a number as the text of a parameter. Returns `text`.
#define SESSION_NUMBER_LEN 24
const char *session_number(char text[SESSION_NUMBER_LEN], int64_t n);

// One answer. The result belongs to the receiver, who calls PQclear.
struct session_reply {
    int tag;
    PGresult *result;
};

// Begins to connect. `url` is a libpq conninfo string or URI, which may override our values for
// keepalives and the TCP timer. The first `skip` hosts of its list are tried last. Only the
// resolution of a host name may block.
bool session_open(
    struct session *s, const char *url, int skip, int64_t now_ns, struct err *e) MUST_USE;

// Closes and forgets all requests. Accepts a zeroed or closed session.
void session_close(struct session *s);

int session_fd(const struct session *s); // -1 when closed
short session_events(const struct session *s);
// True when a deadline has passed, and nothing was heard from the server for at least a second.
bool session_silent(const struct session *s, int64_t now_ns);
// Returns when the oldest request or, before the session is up, the host that is being tried is
// late; CLOCK_NEVER: nothing is awaited, or it may take any time.
int64_t session_deadline_ns(const struct session *s);

// Does what can be done without waiting: goes on connecting, sends, receives.
// Fails with ERR_CONNECTION when the connection is lost or a deadline passed.
bool session_pump(struct session *s, int64_t now_ns, struct err *e) MUST_USE;

// These queue a request, and send what the socket takes at once. session_query sends a statement's
// text, and session_prepare prepares a statement. session_execute executes a prepared statement,
// with a result in binary (column.h).
bool session_query(struct session *s, int tag, const char *sql, struct session_params p,
    int64_t deadline_ns, struct err *e) MUST_USE;
bool session_prepare(struct session *s, int tag, const char *name, const char *sql,
    int64_t deadline_ns, struct err *e) MUST_USE;
bool session_execute(struct session *s, int tag, const char *name, struct session_params p,
    int64_t deadline_ns, struct err *e) MUST_USE;

// True while the answer to a request with this tag is not complete. A caller that repeats a request
// tests this first, because a session holds at most SESSION_REQUESTS_MAX requests.
bool session_awaits(const struct session *s, int tag);

// Takes the next complete answer. Unless it is an error (see session_check), its transaction is
// committed. False: there is none yet.
bool session_take(struct session *s, struct session_reply *out);

// Takes the next notification; the receiver calls PQfreemem. NULL: none.
PGnotify *session_notification(struct session *s);

// False when the answer is an error: ERR_SQL with the SQLSTATE, or ERR_CONNECTION when the
// connection was lost.
bool session_check(const PGresult *result, struct err *e) MUST_USE;

// Like session_check, for an answer that must have a row. Without a row it is an ERR_SCHEMA:
// somebody has replaced a function of the schema.
bool session_check_row(const PGresult *result, struct err *e) MUST_USE;

// The remedy that an SQLSTATE calls for.
enum session_remedy {
    REMEDY_RETRY,     // the statement may succeed if it is sent again in this session
    REMEDY_RECONNECT, // a new session may succeed
    REMEDY_COMPLAIN,  // somebody has to fix something; we keep trying, and log that
};
enum session_remedy session_remedy(const char *sqlstate);

#define SESSION_ADVICE_LEN 200
// Returns the end of a log line on the error that ended the session: what a person has to do about
// it, or "" when nobody has to. Valid until the next call with the same buffer.
const char *session_advice(
    const struct session *s, const char *sqlstate, char text[SESSION_ADVICE_LEN]);
