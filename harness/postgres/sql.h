// Blocking SQL for the harness's own use: set-up, faults, settling. The load has its own,
// non-blocking connections.
//
// Errors: ERR_CONNECTION when the connection is gone, ERR_SQL with the sqlstate when the server
// refused. A server that works too long does not make a call hang, because every connection made
// here has a connect timeout and a statement timeout. But an open connection waits as long as the
// server's processes are frozen, or the network is silent.
#pragma once

#include <libpq-fe.h>

#include "base/base.h"

// Connects; NULL with the reason. The caller calls PQfinish.
MUST_USE PGconn *sql_connect(const char *conninfo, struct err *e);

// Runs one or more statements without parameters.
MUST_USE bool sql_exec(PGconn *conn, const char *sql, struct err *e);

// Runs one statement with text parameters. Returns a result that is PGRES_TUPLES_OK or
// PGRES_COMMAND_OK, on which the caller calls PQclear; NULL on failure.
MUST_USE PGresult *sql_query(
    PGconn *conn, const char *sql, int count, const char *const *params, struct err *e);

// Runs a statement and copies the first column of its first row as text, "" for a null. Fails
// without a row.
MUST_USE bool sql_value(PGconn *conn, const char *sql, char *out, size_t size, struct err *e);

// Runs a query again and again until it returns true. ERR_SYSTEM with the text `late`: it has not
// done so within 60 s. ERR_INTERRUPTED: a signal came.
MUST_USE bool sql_await(PGconn *conn, const char *sql, const char *late, struct err *e);

// Keeps the connection's notices off the terminal, such as that the server is shutting down, which
// a fault has caused on purpose. The server's log has them as well. Accepts NULL.
void sql_drop_notices(PGconn *conn);

// For FREED_BY: call PQclear and PQfinish; both accept NULL. *conn is NULL afterwards.
void sql_clear(PGresult **result);
void sql_finish(PGconn **conn);

// Fills the error with one line: `doing`, then the message of the result or, if that is NULL, of
// the connection. Adds the SQLSTATE. Returns false.
bool sql_fail(PGconn *conn, const PGresult *result, const char *doing, struct err *e);

// Writes a message of libpq or the server as one line without a full stop at its end. The message's
// own lines are joined with "; ". Pure.
void sql_one_line(char *out, size_t size, const char *text);
