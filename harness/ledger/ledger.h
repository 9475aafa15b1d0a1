// The history of every token: what was planned, what the generator saw, what
// the database holds, what the collector's lines held.
//
// The ledger adds nothing of its own to the records of load, subject and fault:
// it brings them together under the token's number and settles from the
// database what the generator could not know. After ledger_settle_end it is
// complete and only read.
#pragma once

#include <libpq-fe.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fault/fault.h"
#include "load/load.h"
#include "plan/plan.h"
#include "postgres/probe.h"
#include "scenario/scenario.h"
#include "subject/subject.h"

enum token_flags {
    TOKEN_SETTLED = 1 << 0,      // of an unknown transaction, and found when the drain began
    TOKEN_PRESENT = 1 << 1,      // in the database at the end
    TOKEN_DEAD_LETTER = 1 << 2,  // in dead_letters at the end
    TOKEN_NAMED = 1 << 3,        // in a torn line or a forged delivery
    TOKEN_WAITING = 1 << 4,      // at the end: still behind the cursor
    TOKEN_UNMARKED = 1 << 5,     // at the end: not taken, or taken and not confirmed
    TOKEN_BURIED_AGAIN = 1 << 6, // more than once in dead_letters
};

// How a token ended in leased mode, as the collector has recorded it.
enum token_outcome { OUTCOME_NONE, OUTCOME_SENT, OUTCOME_DEAD, OUTCOME_EXPIRED };

struct ledger_token {
    uint64_t fingerprint; // decode_fingerprint of what the database holds, when present
    uint32_t deliveries;  // valid ones
    uint32_t first_line;  // of its first delivery; meaningless without one
    int32_t expires_at_s; // seconds after the ledger's server_epoch_s
    uint16_t marks;       // decode_marks of the same
    uint8_t flags;        // of enum token_flags
    uint8_t outcome;      // of enum token_outcome
    uint16_t attempts;    // recorded ones
};

struct ledger {
    const struct scenario *scenario;
    const struct plan *plan;
    const struct txn_record *txns;     // one per plan transaction
    struct subject_log *log;           // NULL before the collector has ended
    const struct fault_record *faults; // as many as were planned
    size_t fault_count;
    const struct probe_sample *probes; // in the order of time
    size_t probe_count;
    const struct probe_sample *flushes; // of the probe that commits; none in an old history
    size_t flush_count;
    const int64_t *sessions; // when each of the collector's opened, in order; NULL: not known
    size_t session_count;
    const struct change_record *changes; // one per planned change; NULL: not known
    uint32_t *change_of;                 // owned; 1 + the change of each token, or 0; NULL: none
    struct ledger_token *tokens;         // owned; one per plan token
    uint32_t *txn_of;                    // owned; the transaction of each token
    int64_t start_ns;                    // the plan's time 0 on the run's clock
    int64_t load_end_ns;                 // load and faults over
    int64_t drain_end_ns;                // TERM was sent to the collector
    int64_t server_epoch_s;              // the server's clock at start_ns, seconds since 1970
    size_t strangers;                    // tokens in the database that the plan does not know
};

// The caller fills the borrowed fields and times as the run goes on.
MUST_USE bool ledger_init(
    struct ledger *l, const struct scenario *s, const struct plan *p, struct err *e);
void ledger_fini(struct ledger *l);

// What became of the plan's changes; the records must outlive the ledger.
MUST_USE bool ledger_take_changes(
    struct ledger *l, const struct change_record *changes, struct err *e);

// When the drain begins, after every load backend has ended: asks the database
// for the outcome of unknown transactions.
MUST_USE bool ledger_settle_unknown(struct ledger *l, PGconn *conn, struct err *e);

// After the collector has ended: what the tables hold, and what was delivered.
// Without a connection (NULL: the server does not start again) nothing is
// present.
MUST_USE bool ledger_settle_end(struct ledger *l, PGconn *conn, struct err *e);

// --- a token's life, for the checks --------------------------------------------

static inline const struct txn_record *ledger_txn(const struct ledger *l, uint32_t token)
{
    return &l->txns[l->txn_of[token]];
}

// Acknowledged, or found in the database though nobody had acknowledged it.
bool ledger_committed(const struct ledger *l, uint32_t token);

// Of a token whose change was sent: what it was, and how it went. NULL: it is as it
// was inserted.
const struct plan_change *ledger_change(
    const struct ledger *l, uint32_t token, const struct change_record **record);

// When that change was sent; CLOCK_NEVER without one.
int64_t ledger_changed_ns(const struct ledger *l, uint32_t token);

// It was there when the collector started.
bool ledger_is_backlog(const struct ledger *l, uint32_t token);

// When it was meant to be inserted, on the run's clock; of a backlog, when it was.
int64_t ledger_intended_ns(const struct ledger *l, uint32_t token);

// When its first delivery was read; CLOCK_NEVER without one.
int64_t ledger_read_ns(const struct ledger *l, uint32_t token);

// A time on the run's clock as seconds since the load began, for people.
static inline double ledger_seconds(const struct ledger *l, int64_t ns)
{
    return (double)(ns - l->start_ns) / 1e9;
}

// When it expires, on the run's clock.
int64_t ledger_expires_ns(const struct ledger *l, uint32_t token);
