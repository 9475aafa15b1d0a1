// One planned transaction as messages to the server.
//
// Everything of a transaction that can travel together travels in one pipeline
// trip. A single account commits by itself, at the Sync; anything longer stands
// between BEGIN and COMMIT or ROLLBACK.
#pragma once

#include <libpq-fe.h>

#include "plan/plan.h"

// What the statements are prepared as, on every connection. Returns false when
// the connection is broken.
bool txn_prepare_all(PGconn *conn);
size_t txn_prepared_count(void);

// True when its COMMIT travels with its statements; otherwise txn_send_end
// sends it later.
bool txn_ends_at_once(const struct plan_txn *txn);

// Sends the statements, and the end if it is due at once, with a Sync behind.
// Room for the arrays is taken from `scratch`.
struct buf;
bool txn_send(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch);

// COMMIT or ROLLBACK of a transaction that was held open.
bool txn_send_end(PGconn *conn, const struct plan_txn *txn);
