// One planned transaction as messages to the server.
//
// Everything of a transaction that can travel together travels in one pipeline
// trip. A single account commits by itself, at the Sync; anything longer stands
// between BEGIN and COMMIT or ROLLBACK.
#pragma once

#include <libpq-fe.h>

#include "plan/plan.h"

// Prepares the statements on a connection. Returns false when it is broken.
// With `enqueue`, a subject's statement, a token is a job of its queue; NULL: an account.
bool txn_prepare_all(PGconn *conn, const char *enqueue);

// True when its COMMIT travels with its statements; otherwise txn_send_end
// sends it later.
bool txn_ends_at_once(const struct plan_txn *txn);

// Sends the statements, the end too if it is due at once, and a Sync. Takes room for the arrays
// from `scratch`. Not for a transaction that copies.
struct buf;
bool txn_send(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    enum load_insert insert, struct buf *scratch);

// Sends the statements for the jobs of a subject.
bool txn_send_jobs(PGconn *conn, const struct plan_txn *txn, const char *enqueue);

// True for a transaction whose accounts come by COPY. A pipeline cannot carry COPY, so BEGIN and
// COPY are sent outside it, then the rows when the server asks for them; the rest goes through the
// pipeline again.
bool txn_copies(const struct plan *plan, const struct plan_txn *txn, enum load_insert insert);
bool txn_send_copy(PGconn *conn);
bool txn_send_copied(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch);
bool txn_send_rest(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch);

// Sends the COMMIT or ROLLBACK of a transaction that was held open.
bool txn_send_end(PGconn *conn, const struct plan_txn *txn);
