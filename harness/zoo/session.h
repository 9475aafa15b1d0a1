// One connection. Every call ends by its deadline, or soon after TERM.
//
// After any failure the owner closes the session and opens another. Nobody knows then what the
// failed statement did.
#pragma once

#include <libpq-fe.h>
#include <stdint.h>

#include "base/err.h"

struct session {
    PGconn *conn; // NULL when closed
    int64_t patience_ns;
};

// Connects and listens. From now on it is a failure when no answer comes for patience_ns.
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

// Puts the first value of the answer into `value`, "" for null or no row. NULL: the value is not
// wanted.
bool session_value(struct session *s, const struct session_call *call, char *value, size_t size,
    struct err *e) MUST_USE;

// Runs `first` and then `call` in one transaction. Both are sent at once. `call` sees everything
// that was committed while `first` waited; the result is that of `call`.
bool session_call_after(struct session *s, const struct session_call *first,
    const struct session_call *call, PGresult **result, struct err *e) MUST_USE;

// Adds the announcements that have come in to *count.
bool session_listen(struct session *s, int *count, struct err *e) MUST_USE;
