// A connection to the server. Every call ends by its deadline, or soon after TERM.
//
// After any failure the owner closes the session and opens another one. It is then not known what
// the failed statement did.
#pragma once

#include <libpq-fe.h>

#include "base/base.h"

struct session {
    PGconn *conn;        // NULL when closed
    int64_t patience_ns; // how long an answer of the server may take
};

// Connects and listens on the channel. Here and in later calls it is a failure when the server does
// not answer within patience_ns.
bool session_open(struct session *s, const char *url, const char *channel, int64_t patience_ns,
    struct err *e) MUST_USE;
void session_close(struct session *s);

// Runs a statement. The caller clears the result with PQclear.
bool session_query(struct session *s, const char *sql, int count, const char *const *params,
    PGresult **result, struct err *e) MUST_USE;

// A statement and its parameters.
struct session_call {
    const char *sql;
    int count;
    const char *const *params;
};

// Runs a statement and writes the first value of its answer to `value`: "" for null or when there
// is no row. `value` NULL: the answer is ignored.
bool session_value(struct session *s, const struct session_call *call, char *value, size_t size,
    struct err *e) MUST_USE;

// Runs `first` and then `call` in one transaction; both are sent together. `call` sees everything
// that was committed while `first` waited. *result is the result of `call`.
bool session_call_after(struct session *s, const struct session_call *first,
    const struct session_call *call, PGresult **result, struct err *e) MUST_USE;

// Adds the number of announcements that have come in to *count.
bool session_listen(struct session *s, int *count, struct err *e) MUST_USE;
