// Planned changes of tokens and accounts: when each may be sent, and its statement.
#pragma once

#include <libpq-fe.h>

#include "load/conn.h"

// Finds the transaction of each planned change and stores it in l->txn_of. False without memory.
bool change_index(struct load *l);

// Returns the index of a change that can be sent now: its second half is due, or it is due and its
// token's insert was acknowledged; SIZE_MAX: none. Gives up due changes whose insert ended in
// another way.
size_t change_due(struct load *l, int64_t now);

// Returns when the next change may become due; CLOCK_NEVER when all are over.
int64_t change_due_ns(const struct load *l);

// Prepares the statements of all changes on a connection. False when the connection is broken.
bool change_prepare_all(PGconn *conn);

// Sends the change, or with `back` its second half, and then a Sync.
bool change_send(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    const struct plan_change *change, bool back);
