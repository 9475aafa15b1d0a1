// The plan of a run: every insert, change and fault with its time. It is made from the scenario and
// its seed alone, before anything starts.
//
// Tokens are numbered from 0 in the order of their transactions. The number is a token's identity
// in the whole harness, and its account is named after it or after an earlier token (plan_account).
// Transactions are sorted by intended time. plan_fini accepts a zeroed struct.
#pragma once

#include "plan/names.h"
#include "scenario/scenario.h"

enum token_kind {
    TOKEN_ACTIVATION,   // a provisioned account, whose trigger makes the token
    TOKEN_RECOVERY,     // a password_recovery token of an account that existed before the load
    TOKEN_EXPIRED,      // ineligible: expires_at lies in the past
    TOKEN_CONSUMED,     // ineligible: consumed_at is set
    TOKEN_SUSPENDED,    // ineligible: its account is suspended
    TOKEN_SHORT_SECRET, // unsendable: the secret is not 32 bytes long
    TOKEN_WITHOUT_CODE, // unsendable: a recovery token without a code
    TOKEN_BAD_NAME,     // unsendable: a login or an address that would forge a field
    TOKEN_CONFLICT,     // an upsert that finds its account already there, and makes no token
    TOKEN_ACTIVE,       // ineligible: an activation, though its account is active
    TOKEN_PROVISIONED,  // ineligible: a recovery, though its account is provisioned
    TOKEN_KINDS,
};

const char *token_kind_name(enum token_kind kind);

static inline bool token_kind_ineligible(enum token_kind kind)
{
    return kind == TOKEN_EXPIRED || kind == TOKEN_CONSUMED || kind == TOKEN_SUSPENDED ||
           kind == TOKEN_ACTIVE || kind == TOKEN_PROVISIONED;
}

static inline bool token_kind_unsendable(enum token_kind kind)
{
    return kind == TOKEN_SHORT_SECRET || kind == TOKEN_WITHOUT_CODE || kind == TOKEN_BAD_NAME;
}

// True for a token that a collector must deliver once it is committed.
static inline bool token_kind_deliverable(enum token_kind kind)
{
    return kind == TOKEN_ACTIVATION || kind == TOKEN_RECOVERY;
}

static inline bool token_kind_recovery(enum token_kind kind)
{
    return kind == TOKEN_RECOVERY || kind == TOKEN_WITHOUT_CODE || kind == TOKEN_PROVISIONED;
}

// True for a token whose account exists before the load.
static inline bool token_kind_has_account(enum token_kind kind)
{
    return kind == TOKEN_RECOVERY || kind == TOKEN_WITHOUT_CODE || kind == TOKEN_ACTIVE ||
           kind == TOKEN_CONFLICT;
}

enum txn_flags {
    TXN_ROLLBACK = 1 << 0, // it ends with ROLLBACK
    TXN_HOLD = 1 << 1,     // it stays open for the phase's hold_for_ns after its insert
    TXN_HOSTILE = 1 << 2,  // its accounts have names of all shapes that the wire can carry
    TXN_BACKLOG = 1 << 3,  // committed before the collector starts; has no planned time
};

struct plan_txn {
    int64_t at_ns; // intended time, counted from the start of the load
    uint32_t first_token;
    uint16_t rows;
    uint8_t phase; // index into scenario.load
    uint8_t flags; // bits of enum txn_flags
};

// Changes to a token or its account while the token waits.
enum change_kind {
    CHANGE_CONSUME,
    CHANGE_SUSPEND,
    CHANGE_REACTIVATE, // suspended first, then active again
    CHANGE_EXPIRE,
    CHANGE_DELETE, // the account is deleted, and its token with it
    CHANGE_EMAIL,  // the account gets another address
    CHANGE_LOGIN,  // the account gets another login
    CHANGE_KINDS,
};

// True for a change of the account's address or login. It does not affect whether the token is
// eligible.
static inline bool change_kind_renames(enum change_kind kind)
{
    return kind == CHANGE_EMAIL || kind == CHANGE_LOGIN;
}

const char *change_kind_name(enum change_kind kind);

struct plan_change {
    int64_t at_ns;   // planned time; the change also waits until the insert is acknowledged
    int64_t back_ns; // CHANGE_REACTIVATE: how long the account stays suspended; else 0
    uint32_t token;
    uint8_t kind; // enum change_kind
};

struct plan_fault {
    int64_t at_ns;  // planned start, counted from the start of the load
    int64_t end_ns; // planned time at which the fault is undone or, for a cut-at with `for`, gives
                    // up waiting for its message; == at_ns for any other instant fault
    uint32_t spec;  // index into scenario.faults
    uint32_t busy;  // 0: the fault takes place. Else it is left out, because it collides with
                    // plan.faults[busy - 1]
};

#define ACCOUNT_OWN UINT32_MAX

struct plan {
    struct plan_txn *txns;
    size_t txn_count;
    uint8_t *kinds; // enum token_kind per token
    size_t token_count;
    // For each token: the first token of the account that it may share with others, or ACCOUNT_OWN
    // if no other token can have its account. NULL: no phase has tokens_per_account above 1, so
    // every token has an account of its own.
    uint32_t *accounts;
    struct plan_change *changes; // sorted by at_ns; at most one for each token
    size_t change_count;
    struct plan_fault *faults; // sorted by at_ns
    size_t fault_count;
    uint32_t segment; // number of this run in a soak; 0 in every other run; see names.h
    int64_t load_ns;  // length of all phases together
    int64_t end_ns;   // the time at which load and faults, also those left out, are all over
};

// The limits of a plan, for which the harness's memory is sized.
#define PLAN_TOKENS_MAX 20000000u
#define PLAN_FAULTS_MAX 100000u

// Makes the plan of a scenario. Fails with ERR_USAGE when the scenario asks for more than the
// limits above; *p is then zeroed.
MUST_USE bool plan_make(struct plan *p, const struct scenario *s, struct err *e);
void plan_fini(struct plan *p);

// Returns how many transactions the backlog has. They come first in p->txns.
static inline size_t plan_backlog_txns(const struct plan *p)
{
    size_t count = 0;

    while (count < p->txn_count && (p->txns[count].flags & TXN_BACKLOG))
        count++;
    return count;
}

// True when no other token can have this token's account.
static inline bool plan_has_own_account(const struct plan *p, uint32_t token)
{
    return !p->accounts || p->accounts[token] == ACCOUNT_OWN;
}

// Returns the token whose number names this token's account: the first token of a shared account,
// otherwise the token itself.
static inline uint32_t plan_account(const struct plan *p, uint32_t token)
{
    return plan_has_own_account(p, token) ? token : p->accounts[token];
}

// Returns the shape of an account's names. `account` is what plan_account returns for a token of
// the transaction.
enum name_shape plan_name_shape(const struct plan *p, const struct plan_txn *txn, uint32_t account);

// Fills in the login and the email with which the account of this token is inserted. `txn` is the
// token's transaction.
void plan_names(
    const struct plan *p, const struct plan_txn *txn, uint32_t token, struct names *names);

// Writes the last five digits of the token's number. True: the token may share its account, and
// is inserted with these digits as its code, which tells it from the account's other tokens. False:
// the token has its account to itself, and the database makes its code.
#define PLAN_CODE_SIZE 6
bool plan_code(const struct plan *p, uint32_t token, char code[PLAN_CODE_SIZE]);

// Returns the token of this account that has this code; the account's first token when none has it.
uint32_t plan_token_with_code(
    const struct plan *p, uint32_t account, const char *code, size_t code_len);

// Finds the account with this login and, in it, the token with this code, as plan_token_with_code
// does. False when the plan has no such account.
bool plan_token(const struct plan *p, const char *login, size_t login_len, const char *code,
    size_t code_len, uint32_t *token);

// Appends the timeline, as text or as JSON: inserts, changes and faults, merged in the order of
// their times. The same plan gives the same bytes. False when `out` has failed.
MUST_USE bool plan_print(const struct plan *p, const struct scenario *s, struct buf *out);
MUST_USE bool plan_print_json(const struct plan *p, const struct scenario *s, struct buf *out);

// --- plan_faults.c -----------------------------------------------------------------
//
// Adds the faults to a plan. Each repetition of a repeated fault gets an entry of its own. A fault
// that cannot take effect, because an earlier one still lasts then, is marked (`busy` of struct
// plan_fault).

// Adds the scenario's faults, sorted by time, and moves the plan's end_ns to the end of the last
// fault if that is later. Fails with ERR_USAGE when there are more than PLAN_FAULTS_MAX.
MUST_USE bool plan_add_faults(struct plan *p, const struct scenario *s, struct err *e);

// True when b cannot begin while a lasts: a has taken hold of a thing that b takes or wants (enum
// verb_thing). The plan then leaves b out.
bool plan_collide(const struct fault_spec *a, const struct fault_spec *b);

// Returns the time of a fault's `for`, after which it is undone; 0 if nothing undoes it: without
// `for`, or with `for: rest` (FOR_REST).
int64_t plan_lasts_ns(const struct fault_spec *f);
