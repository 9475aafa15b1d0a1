// Tells which acknowledged data the server itself lost.
//
// The harness commits a counter ten times a second, and the first number that is missing at the end
// dates the loss. A disk that lies may lose single pages, so there the counter says nothing. For a
// cluster the old leader's WAL says which commits a failover left behind; a token among these
// counts as `left_behind`, and `allow` for `vanished` tolerates no other. Where nothing dates the
// loss (an old history, a lying disk), it lies between the beginning and the end of a fault that
// may lose data under the run's settings of `durability`, disk and standby (enum verb_loses).
//
// A repeated delivery counts as `redelivered`, which is the server's fault, only if its line may
// have been confirmed after the first lost commit. If the line's process had written its next line
// by then, the line had been confirmed before, and the collector is to blame.
#include "check/inside.h"

// True when the fault lost commits that were acknowledged. With left_known the harness has found
// out (left_ns: the time of the first one; 0: none). Else the run's settings say whether the fault
// may have lost some.
static bool loses_data(const struct ledger *l, const struct fault_record *f)
{
    const struct scenario_postgres *postgres = &l->scenario->postgres;
    bool waived = postgres->durability == DURABILITY_WAIVE;

    if (f->left_known)
        return f->left_ns != 0;
    switch (f->spec->verb->loses) {
    case LOSES_IF_WAIVED:
        return waived;
    case LOSES_UNFLUSHED:
        return waived || postgres->disk != DISK_HONEST;
    case LOSES_UNCONFIRMED:
        return waived || postgres->standby != STANDBY_SYNC;
    default:
        return false;
    }
}

bool check_server_forgot(
    const struct ledger *l, int64_t from_ns, int64_t until_ns, int64_t committed_ns)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        // The commit is older than the first one that was lost.
        bool before = f->left_known && committed_ns < f->left_ns;
        if (f->began_ns && f->began_ns < until_ns && f->ended_ns > from_ns && loses_data(l, f) &&
            !before)
            return true;
    }
    return false;
}

// True when the token was acknowledged after the first commit that was left behind, and its COMMIT
// was sent before the fault ended. A fault of the leader ends when another member leads; later
// COMMITs go there, because the old leader has stepped down by then.
bool check_left_behind(const struct ledger *l, uint32_t token)
{
    const struct txn_record *txn = ledger_txn(l, token);

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->spec->verb->needs_cluster && f->left_known && f->left_ns &&
            txn->ended_ns >= f->left_ns && txn->commit_ns <= f->ended_ns)
            return true;
    }
    return false;
}

bool check_failovers_known(const struct ledger *l)
{
    bool any = false;

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (!f->began_ns || !f->spec->verb->needs_cluster)
            continue;
        if (!f->left_known)
            return false;
        any = true;
    }
    return any;
}
