// Keeps the history of every token: what was planned, what the generator saw, and what the database
// and the collector's lines held.
//
// The ledger joins the records of load, subject and fault by the token's number, and adds what only
// the database knows, such as outcomes that the generator never learned. After ledger_settle_end it
// is complete and read-only.
#pragma once

#include <libpq-fe.h>

#include "fault/fault.h"
#include "load/load.h"
#include "os/starved.h"
#include "plan/names.h"
#include "plan/plan.h"
#include "postgres/presence.h"
#include "postgres/probe.h"
#include "scenario/scenario.h"
#include "subject/secret_scan.h"
#include "subject/subject.h"

// --- rows.c ------------------------------------------------------------------------
//
// Names the columns of tokens and accounts that a collector must leave alone: only the load and the
// schema's triggers change them.

// Each bit says what one of these columns held at the end of the run. sql/tokens.sql has the same
// numbers.
enum token_row {
    ROW_ACTIVE = 1 << 0,         // the account is active; with neither bit set it is provisioned
    ROW_SUSPENDED = 1 << 1,      // the account is suspended
    ROW_CONSUMED = 1 << 2,       // consumed_at is set
    ROW_STATUS_CHANGED = 1 << 3, // status_changed_at is set
    ROW_ACTIVATED_AT = 1 << 4,   // activated_at is set
    ROW_SUSPENDED_AT = 1 << 5,   // suspended_at is set
    ROW_UNSUSPENDED_AT = 1 << 6, // unsuspended_at is set
    ROW_EXPIRED = 1 << 7,        // expires_at lies before created_at
    ROW_LIFETIME = 1 << 8, // expires_at lies neither before created_at nor 15 minutes after it
    ROW_RECOVERY = 1 << 9, // the action is password_recovery
    ROW_EMAIL = 1 << 10,   // the account's address is neither the one that was inserted nor the one
                           // that the plan gave it later
    ROW_READ = 1 << 11,    // the other bits are known; an old history does not have them
};

struct row_column {
    unsigned bits; // of enum token_row
    const char *name;
};

#define ROW_COLUMNS 9

extern const struct row_column row_columns[ROW_COLUMNS];

// Returns the bits of enum token_row that a token of this kind has when nobody but the load touches
// its row.
unsigned row_inserted(enum token_kind kind);

enum token_flags {
    TOKEN_SETTLED = 1 << 0, // the generator does not know the outcome of its transaction, but the
                            // database has the token
    TOKEN_PRESENT = 1 << 1, // in the database at the end of the run
    TOKEN_DEAD_LETTER = 1 << 2, // in dead_letters at the end of the run
    TOKEN_NAMED = 1 << 3,       // a torn line or a forged delivery names this token
    // At the end of the run:
    TOKEN_WAITING = 1 << 4,  // beyond the cursor. In the present schema: the same as TOKEN_UNMARKED
    TOKEN_UNMARKED = 1 << 5, // not taken, or taken and not confirmed
    TOKEN_DEAD_LETTER_AGAIN = 1 << 6, // in dead_letters more than once
    TOKEN_SECRET_LOGGED = 1 << 7,     // its secret stands in a log of the collector
};

// The outcome of a token in leased mode, as the collector has recorded it.
enum token_outcome { OUTCOME_NONE, OUTCOME_SENT, OUTCOME_DEAD, OUTCOME_EXPIRED };

// How an attempt ended, as the collector has recorded it. sql/attempts.sql lists the ends in this
// order.
enum attempt_end {
    ATTEMPT_SENT,
    ATTEMPT_TRANSIENT,
    ATTEMPT_DEAD,
    ATTEMPT_EXPIRED,
    ATTEMPT_RETURNED,
    ATTEMPT_LOST,
    ATTEMPT_LATE,    // the answer came after the attempt had ended
    ATTEMPT_RETRIED, // an operator tried the token again by hand
    ATTEMPT_ENDS
};

struct attempt_record {
    uint32_t token;
    uint16_t number;
    uint8_t end; // enum attempt_end
};

struct ledger_token {
    uint64_t fingerprint; // decode_fingerprint of the fields in the database; set when
                          // TOKEN_PRESENT
    uint64_t older; // decode_fingerprint of the fields with the names that its account had before
                    // the plan changed them; equals `fingerprint` without such a change
    uint32_t deliveries;  // number of valid deliveries
    uint32_t first_line;  // index of the line of its first valid delivery; no meaning while
                          // `deliveries` is 0
    int32_t expires_at_s; // seconds after the ledger's server_epoch_s
    uint16_t marks;       // decode_marks of the fields in the database
    uint8_t flags;        // bits of enum token_flags
    uint8_t outcome;      // enum token_outcome
    uint16_t attempts;    // number of recorded attempts, without late answers
    uint16_t row;         // bits of enum token_row; 0 in an old history
};

// Whether the collector's logs were searched for secrets, and whether they hold the signing key.
// Only the run itself can search them, because a history keeps no secrets.
enum logs { LOGS_UNREAD, LOGS_READ, LOGS_HOLD_KEY };

struct ledger {
    const struct scenario *scenario;
    const struct plan *plan;
    const struct txn_record *txns;     // one per plan transaction
    struct subject_log *log;           // NULL until the collector has ended
    const struct fault_record *faults; // one per planned fault
    size_t fault_count;
    const struct probe_sample *probes; // in the order of time
    size_t probe_count;
    const struct probe_sample *flushes; // samples of the probe that commits; none in an old history
    size_t flush_count;
    const struct starved_sample *starved; // in the order of time; none in an old history
    size_t starved_count;
    const struct presence_look *looks; // at the collector's sessions; none if the server hides them
    size_t look_count;
    const struct presence_hold *holds; // transactions that stayed open though nothing held
                                       // them up
    size_t hold_count;
    const int64_t *sessions; // when the collector's sessions opened, in order; NULL: unknown
    size_t session_count;
    const struct change_record *changes; // one per planned change; NULL: unknown
    uint32_t *change_of;                 // owned; per token: 1 + the index of its change, or 0;
                                         // NULL: there are no changes
    struct ledger_token *tokens;         // owned; one per plan token
    struct attempt_record *attempts;     // owned; sorted by token and number; none in an old
                                         // history
    size_t attempt_count;
    uint32_t *txn_of;       // owned; per token: the index of its transaction
    int64_t start_ns;       // the plan's time 0 on the run's clock
    int64_t load_end_ns;    // when load and faults were over
    int64_t drain_end_ns;   // when TERM was sent to the collector
    int64_t server_epoch_s; // the server's clock at start_ns, seconds since 1970
    const struct secret_scan
        *log_secrets; // hashes of what may be secrets in the collector's logs; only
                      // ledger_settle_end reads them; NULL: no log was scanned
    enum logs logs;
    size_t strangers; // number of tokens in the database that the plan does not know
};

// Makes an empty ledger. The caller fills the borrowed fields and the times as the run goes on.
MUST_USE bool ledger_init(
    struct ledger *l, const struct scenario *s, const struct plan *p, struct err *e);
void ledger_fini(struct ledger *l);

// Stores the results of the plan's changes, and which of them belongs to each token. NULL: the
// results are unknown. The records must outlive the ledger. Returns false without memory.
MUST_USE bool ledger_take_changes(
    struct ledger *l, const struct change_record *changes, struct err *e);

// Asks the database for the outcome of unknown transactions: sets TOKEN_SETTLED for their tokens
// that it has. Call it when the drain begins, after every backend of the load has ended, so that
// none can commit any more.
MUST_USE bool ledger_settle_unknown(struct ledger *l, PGconn *conn, struct err *e);

// Reads the tables at the end of the run and counts the valid deliveries. Call it after the
// collector has ended. conn NULL: the tables are not read, because the server does not start again
// (then no token is present) or because a stored history already has what they held.
MUST_USE bool ledger_settle_end(struct ledger *l, PGconn *conn, struct err *e);

// Fills in left_ns, the time from which on acknowledged commits are lost, of each fault that
// stopped the server, unless the provider reported it. ledger_settle_losses asks the database which
// commits of the probe it still holds; call it after the probes have ended. It does nothing without
// a connection (conn NULL) or samples, or if the disk is not honest. ledger_date_losses does the
// rest: kept[i] is true when the database holds the commit of l->flushes[i].
MUST_USE bool ledger_settle_losses(
    struct ledger *l, struct fault_record *faults, PGconn *conn, struct err *e);
void ledger_date_losses(struct ledger *l, struct fault_record *faults, const bool *kept);

// Fills in empty_ns and seen_ns of the lines for which the reader did not note them: both become
// read_ns. If a fault that stopped the reader may have delayed the reading, the line may be as old
// as the fault, so empty_ns becomes the fault's beginning.
void ledger_guess_written(struct ledger *l);

// --- a token's life, for the checks --------------------------------------------

static inline const struct txn_record *ledger_txn(const struct ledger *l, uint32_t token)
{
    return &l->txns[l->txn_of[token]];
}

// True when the commit was acknowledged, or when it was not answered and the database has the
// token.
bool ledger_committed(const struct ledger *l, uint32_t token);

// Returns the change of the token's eligibility if it was sent, and sets *record to its result.
// Returns NULL when none was sent: the token is then as eligible as at its insert. Changes of
// names are left out; see ledger_rename.
const struct plan_change *ledger_change(
    const struct ledger *l, uint32_t token, const struct change_record **record);

// Returns the change of the account's address or login if it was sent, and sets *record to its
// result. Returns NULL when none was sent.
const struct plan_change *ledger_rename(
    const struct ledger *l, uint32_t token, const struct change_record **record);

// Returns when the change that ledger_change returns was sent; CLOCK_NEVER without one.
int64_t ledger_changed_ns(const struct ledger *l, uint32_t token);

// True when a collector must write this token: it was committed, can be sent, and no change that
// may make it ineligible was sent.
bool ledger_must_come(const struct ledger *l, uint32_t token);

// True when the token existed before the collector started.
bool ledger_is_backlog(const struct ledger *l, uint32_t token);

// Writes a token's name for messages, such as t0000048. In a queue a token is a job, such as "job
// 48".
void ledger_name(const struct ledger *l, uint32_t token, char out[NAMES_MAX]);

#define LEDGER_FULL_NAME_MAX ((size_t)2 * NAMES_MAX)

// Writes the token's name and kind, such as "t0000048 (activation)". A queue's jobs have no kind,
// so only the name is written.
void ledger_full_name(const struct ledger *l, uint32_t token, char out[LEDGER_FULL_NAME_MAX]);

// True for an insert without an intended time: a closed loop sent it when the one before was
// answered.
bool ledger_is_closed_loop(const struct ledger *l, uint32_t token);

// Returns when the insert was intended, on the run's clock; for a token of the backlog, when it was
// really sent; for one of a closed loop, when its phase began.
int64_t ledger_intended_ns(const struct ledger *l, uint32_t token);

// Returns when the token's life begins: at its intended insert or, in a closed loop, when it was
// sent.
int64_t ledger_begin_ns(const struct ledger *l, uint32_t token);

// Returns when the token's first delivery was read; CLOCK_NEVER without one.
int64_t ledger_read_ns(const struct ledger *l, uint32_t token);

// Converts a time on the run's clock to seconds since the load began, for messages.
static inline double ledger_seconds(const struct ledger *l, int64_t ns)
{
    return (double)(ns - l->start_ns) / 1e9;
}

// Returns the first time from from_ns on at which the server's clock shows server_ns or more.
// server_ns is a time of the server's clock, converted to the run's clock as if no fault had made
// the server's clock step.
int64_t ledger_clock_shows_ns(const struct ledger *l, int64_t server_ns, int64_t from_ns);

// Returns the earliest time that the server's clock may show at at_ns, in the same form as
// server_ns above.
int64_t ledger_server_clock_ns(const struct ledger *l, int64_t at_ns);

// Returns when the token expires, on the run's clock.
int64_t ledger_expires_ns(const struct ledger *l, uint32_t token);
