// Planned changes of tokens and accounts: when each may be sent, and its statement. A reactivation
// has two halves, of which the first suspends the account; any other change has only a first half.
#pragma once

#include <libpq-fe.h>

#include "load/conn.h"

// Finds the transaction that inserts the token of each planned change. Makes and fills
// l->insert_of, and makes l->reactivations.
MUST_USE bool change_find_inserts(struct load *l, struct err *e);

// Returns the index of a change of which a half can be sent now; SIZE_MAX: none. The first half can
// be sent when it is due and its token's insert was acknowledged. Gives up due changes whose insert
// ended in another way.
size_t change_due(struct load *l, int64_t now);

// Returns when change_due is to be called again; CLOCK_NEVER when no half waits to be sent.
int64_t change_due_ns(const struct load *l);

// Prepares the statements of all changes on a connection. False when the connection is broken.
bool change_prepare_all(PGconn *conn);

// Sends a half of the change and then a Sync. `txn` is the transaction that inserted its token.
bool change_send(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    const struct plan_change *change, bool second_half);
