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
size_t txn_prepared_count(void);

// True when its COMMIT travels with its statements; otherwise txn_send_end
// sends it later.
bool txn_ends_at_once(const struct plan_txn *txn);

// Sends the statements, and the end if it is due at once, with a Sync behind.
// Room for the arrays is taken from `scratch`. Not for what is to be copied.
struct buf;
bool txn_send(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    enum load_insert insert, struct buf *scratch);

// The same for the jobs of a subject.
bool txn_send_jobs(PGconn *conn, const struct plan_txn *txn, const char *enqueue);

// A transaction whose accounts come by COPY, which no pipeline carries: outside of it
// BEGIN and COPY are sent, at the server's word the rows, and back in the pipeline the
// rest, like everything else.
bool txn_copies(const struct plan *plan, const struct plan_txn *txn, enum load_insert insert);
bool txn_send_copy(PGconn *conn);
bool txn_send_copied(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch);
bool txn_send_rest(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch);

// COMMIT or ROLLBACK of a transaction that was held open.
bool txn_send_end(PGconn *conn, const struct plan_txn *txn);
