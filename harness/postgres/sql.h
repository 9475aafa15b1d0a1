// Blocking SQL for the harness's own use: set-up, faults, settling. The
// load has its own, non-blocking connections.
//
// Errors: ERR_CONNECTION when the connection is gone, ERR_SQL with the sqlstate
// when the server refused. Times out rather than hanging for ever: every
// connection made here has a connect and a statement timeout.
#pragma once

#include <libpq-fe.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

// NULL with the reason; the caller PQfinishes it.
MUST_USE PGconn *sql_connect(const char *conninfo, struct err *e);

// One or more statements without parameters.
MUST_USE bool sql_exec(PGconn *conn, const char *sql, struct err *e);

// One statement with text parameters; the caller PQclears the result, which is
// PGRES_TUPLES_OK or PGRES_COMMAND_OK; NULL on failure.
MUST_USE PGresult *sql_query(
    PGconn *conn, const char *sql, int count, const char *const *params, struct err *e);

// The first column of the first row as text; "" when null; fails without a row.
MUST_USE bool sql_value(PGconn *conn, const char *sql, char *out, size_t size, struct err *e);

// Keeps the connection's notices off the terminal. The server's log tells the same: that the server
// ends, for example, which a fault makes an expected event. Accepts NULL.
void sql_silence(PGconn *conn);

// Fills the error with the message of the result, or of the connection without one, in one line
// behind `doing`, and with the SQLSTATE. Returns false.
bool sql_fail(PGconn *conn, const PGresult *result, const char *doing, struct err *e);

// Writes a message of libpq or the server as one line without a full stop at its end; its lines
// become parts with "; " between them. Pure.
void sql_one_line(char *out, size_t size, const char *text);
