// Planned changes of tokens and accounts: when each may be sent, and its statement.
#pragma once

#include <libpq-fe.h>

#include "load/conn.h"

// Finds the transaction of each planned change. False without memory.
bool change_index(struct load *l);

// Returns the index of the next change that is due and whose token's insert was acknowledged;
// SIZE_MAX: none. It gives up due changes whose insert never happened.
size_t change_due(struct load *l, int64_t now);

// Returns when the next change may become due; CLOCK_NEVER when all are over.
int64_t change_due_ns(const struct load *l);

bool change_prepare_all(PGconn *conn);

// Sends the change, or with `back` its second half, and a Sync behind it.
bool change_send(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    const struct plan_change *change, bool back);
