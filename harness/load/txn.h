// Turns a planned transaction into messages to the server.
//
// All messages that can travel together go in one pipeline trip. A plain insert of one account, or
// of jobs, commits by itself, at the Sync. Any other transaction stands between BEGIN and COMMIT or
// ROLLBACK.
#pragma once

#include <libpq-fe.h>

#include "plan/plan.h"

// Prepares the statements on a connection. Returns false when the connection is broken. If
// `enqueue` is given, it is a subject's statement, and a token is a job in the subject's queue;
// NULL: a token is an account.
bool txn_prepare_all(PGconn *conn, const char *enqueue);

// True when the transaction's end travels with its statements; otherwise txn_send_end sends it
// later.
bool txn_ends_at_once(const struct plan_txn *txn);

// Sends the statements and a Sync, and before the Sync the transaction's end if it is due at once.
// Makes the arrays in `scratch`. Not for a transaction that copies.
bool txn_send(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    enum load_insert insert, struct buf *scratch);

// Does what txn_send does, for jobs of a subject. `enqueue` is the statement that was prepared.
bool txn_send_jobs(PGconn *conn, const struct plan_txn *txn, const char *enqueue);

// True for a transaction whose accounts come by COPY. A pipeline cannot carry COPY. So
// txn_send_copy sends BEGIN and COPY without a pipeline, and txn_send_copied the rows when the
// server asks for them. txn_send_rest, with INSERT_COPY, sends the statements after the COPY
// through the pipeline again.
bool txn_copies(const struct plan *plan, const struct plan_txn *txn, enum load_insert insert);
bool txn_send_copy(PGconn *conn);
bool txn_send_copied(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch);

// Sends the statements of an open transaction that its kind of insert has not sent before, its
// COMMIT or ROLLBACK unless it is held open, and a Sync.
bool txn_send_rest(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    enum load_insert insert, struct buf *scratch);

// Sends the COMMIT or ROLLBACK of an open transaction, and a Sync.
bool txn_send_end(PGconn *conn, const struct plan_txn *txn);
