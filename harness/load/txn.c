// One planned transaction as messages.
//
// A single account is one statement that commits by itself, at the Sync, so the answer to the Sync
// is the one that counts. Any other insert (several rows, recovery tokens, tokens made ineligible
// or unsendable) travels in one trip as BEGIN, statements, and COMMIT or ROLLBACK, which a
// transaction that is held open sends later. With `insert: savepoint` each row has a subtransaction
// of its own. `copy` sends BEGIN and COPY outside of the pipeline and everything else in it.
// `upsert` conflicts with accounts that accounts.c has made.
#include "load/txn.h"

#include "load/change.h"
#include "load_sql.h"

// True when the transaction inserts the token's account, even if the insert conflicts with an
// account that is there already. (token_kind_has_account: the account was made before the load.)
static bool makes_account(const struct plan *plan, uint32_t token)
{
    enum token_kind kind = plan->kinds[token];

    return !token_kind_has_account(kind) || kind == TOKEN_CONFLICT;
}

// True for a token whose code a statement of its own removes: every 64th token, if it is an
// activation. An activation may be without a code; its field on the wire is then empty.
static bool lacks_code(const struct plan *plan, uint32_t token)
{
    return plan->kinds[token] == TOKEN_ACTIVATION && token % 64 == 63;
}

// True when other tokens may have the same account; only such a token has a planned code.
static bool shares_account(const struct plan *plan, uint32_t token)
{
    char code[PLAN_CODE_SIZE];

    return plan_code(plan, token, code);
}

static bool is_own_recovery(const struct plan *plan, uint32_t token)
{
    return plan->kinds[token] == TOKEN_RECOVERY && !shares_account(plan, token);
}

#define IS_OF_KIND(name, wanted)                                                                   \
    static bool name(const struct plan *plan, uint32_t token)                                      \
    {                                                                                              \
        return plan->kinds[token] == (wanted);                                                     \
    }
IS_OF_KIND(is_without_code, TOKEN_WITHOUT_CODE)
IS_OF_KIND(is_active, TOKEN_ACTIVE)
IS_OF_KIND(is_provisioned, TOKEN_PROVISIONED)
IS_OF_KIND(is_expired, TOKEN_EXPIRED)
IS_OF_KIND(is_consumed, TOKEN_CONSUMED)
IS_OF_KIND(is_suspended, TOKEN_SUSPENDED)
IS_OF_KIND(is_short, TOKEN_SHORT_SECRET)

// The arrays that a statement takes as $1 and $2, and the column that an array holds.
enum arrays { EMAILS_AND_LOGINS, LOGINS, LOGINS_AND_CODES };
enum column { EMAIL, LOGIN, CODE };

static const struct statement {
    const char *name;
    const char *sql;
    bool (*applies_to)(const struct plan *plan, uint32_t token); // true: it is sent for this token
    enum arrays arrays;
    bool inserts_rows; // false: it changes rows that the statements above it have inserted
} statements[] = {
    {"accounts", load_sql_insert_accounts, makes_account, EMAILS_AND_LOGINS, true},
    {"upserts", load_sql_upsert_accounts, makes_account, EMAILS_AND_LOGINS, true},
    {"recoveries", load_sql_insert_recoveries, is_own_recovery, LOGINS, true},
    {"recoveries_again", load_sql_insert_recoveries_again, shares_account, LOGINS_AND_CODES, true},
    {"without_code", load_sql_insert_without_code, is_without_code, LOGINS, true},
    {"active", load_sql_insert_activations, is_active, LOGINS, true},
    {"provisioned", load_sql_make_recoveries, is_provisioned, LOGINS, false},
    {"expired", load_sql_make_expired, is_expired, LOGINS, false},
    {"consumed", load_sql_make_consumed, is_consumed, LOGINS, false},
    {"suspended", load_sql_make_suspended, is_suspended, LOGINS, false},
    {"null_code", load_sql_make_null_code, lacks_code, LOGINS, false},
    {"short_secret", load_sql_make_short_secret, is_short, LOGINS, false},
};

#define STATEMENTS (sizeof statements / sizeof *statements)
#define UPSERT 1 // index of "upserts" in the table

bool txn_prepare_all(PGconn *conn, const char *enqueue)
{
    // The transaction of a job also inserts a row into the table `mailproof_sent`, so that an
    // unknown outcome can be settled without looking into the queue's tables.
    if (enqueue)
        return PQsendPrepare(conn, "sent", load_sql_insert_sent, 0, NULL) &&
               PQsendPrepare(conn, "enqueue", enqueue, 0, NULL) && PQpipelineSync(conn);
    if (!PQsendPrepare(conn, "account", load_sql_insert_account, 0, NULL))
        return false;
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (!PQsendPrepare(conn, statements[i].name, statements[i].sql, 0, NULL))
            return false;
    }
    return change_prepare_all(conn) && PQpipelineSync(conn) == 1;
}

bool txn_ends_at_once(const struct plan_txn *txn)
{
    return !(txn->flags & TXN_HOLD);
}

// True for a plain insert of one account. It is sent without BEGIN and commits by itself, as the
// smallest application would send it. All others need BEGIN: rollbacks, transactions that are held
// open, and those that take other statements or more than one.
static bool commits_alone(
    const struct plan *plan, const struct plan_txn *txn, enum load_insert insert)
{
    enum token_kind kind = plan->kinds[txn->first_token];

    return insert == INSERT_ROW && txn->rows == 1 && !(txn->flags & (TXN_ROLLBACK | TXN_HOLD)) &&
           (kind == TOKEN_ACTIVATION || kind == TOKEN_BAD_NAME) &&
           !lacks_code(plan, txn->first_token);
}

static bool send_account(PGconn *conn, const struct plan *plan, const struct plan_txn *txn)
{
    struct names names;
    const char *values[] = {names.email, names.login};

    plan_names(plan, txn, txn->first_token, &names);
    return PQsendQueryPrepared(conn, "account", 2, values, NULL, NULL, 0) && PQpipelineSync(conn);
}

// A range of the tokens of a transaction: from `first` up to, but not including, `end`.
struct part {
    const struct plan *plan;
    const struct plan_txn *txn;
    uint32_t first, end;
};

static struct part whole_txn(const struct plan *plan, const struct plan_txn *txn)
{
    return (struct part){plan, txn, txn->first_token, txn->first_token + txn->rows};
}

// Appends an array literal, and a NUL, with the column's value for each token of the part to which
// the statement applies. Returns the number of these tokens.
static size_t append_array(
    const struct part *p, const struct statement *st, enum column column, struct buf *out)
{
    char code[PLAN_CODE_SIZE];
    size_t count = 0;
    struct names names;

    buf_append_char(out, '{');
    for (uint32_t t = p->first; t < p->end; t++) {
        if (!st->applies_to(p->plan, t))
            continue;
        plan_names(p->plan, p->txn, t, &names);
        plan_code(p->plan, t, code);
        if (count++ > 0)
            buf_append_char(out, ',');
        names_quote(out, column == EMAIL ? names.email : column == LOGIN ? names.login : code);
    }
    buf_append(out, "}", 2); // 2: with the string's NUL
    return count;
}

// Sends a statement for those tokens of the part to which it applies; nothing if there are none.
// False when the connection or the memory fails.
static bool send_statement(
    PGconn *conn, const struct part *p, const struct statement *st, struct buf *scratch)
{
    buf_clear(scratch);
    if (append_array(p, st, st->arrays == EMAILS_AND_LOGINS ? EMAIL : LOGIN, scratch) == 0)
        return true;
    size_t second = scratch->len; // the second array follows the first and its NUL
    if (st->arrays != LOGINS)
        append_array(p, st, st->arrays == EMAILS_AND_LOGINS ? LOGIN : CODE, scratch);
    if (scratch->failed)
        return false;
    const char *values[] = {scratch->data, scratch->data + second};
    return PQsendQueryPrepared(
               conn, st->name, st->arrays == LOGINS ? 1 : 2, values, NULL, NULL, 0) == 1;
}

static bool send_command(PGconn *conn, const char *word)
{
    return PQsendQueryParams(conn, word, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static const char *end_statement_of(const struct plan_txn *txn)
{
    return txn->flags & TXN_ROLLBACK ? "ROLLBACK" : "COMMIT";
}

// Sends the two statements of a job. In pipeline mode and without a Sync in between, both belong to
// one transaction, so the row in `mailproof_sent` tells later whether the job is there.
static bool send_job(PGconn *conn, uint32_t token, const char *enqueue)
{
    char number[16], login[NAMES_MAX], payload[NAMES_MAX];
    const char *sent[] = {number, login}, *values[] = {number, payload};

    snprintf(number, sizeof number, "%u", token);
    names_login(login, token);
    names_email(payload, token);
    // A subject's enqueue statement takes $1, the number, and may take $2, the payload.
    return PQsendQueryPrepared(conn, "sent", 2, sent, NULL, NULL, 0) &&
           PQsendQueryPrepared(
               conn, "enqueue", strstr(enqueue, "$2") ? 2 : 1, values, NULL, NULL, 0);
}

// Without BEGIN, all statements up to the Sync are one transaction, which commits at the Sync.
bool txn_send_jobs(PGconn *conn, const struct plan_txn *txn, const char *enqueue)
{
    bool implicit = !(txn->flags & (TXN_ROLLBACK | TXN_HOLD));
    bool ok = implicit || send_command(conn, "BEGIN");

    for (uint32_t t = txn->first_token; ok && t < txn->first_token + txn->rows; t++)
        ok = send_job(conn, t, enqueue);
    if (ok && !implicit && txn_ends_at_once(txn))
        ok = send_command(conn, end_statement_of(txn));
    return ok && PQpipelineSync(conn) == 1;
}

// True when txn_send_rest is to send this statement: it was not sent before, and belongs to this
// kind of insert.
static bool is_statement_used(const struct statement *st, enum load_insert insert)
{
    // With savepoints, send_savepoints has already sent the statements that insert rows.
    if (st->applies_to != makes_account)
        return insert != INSERT_SAVEPOINT || !st->inserts_rows;
    // Two statements insert accounts, and at most one of them is used. With INSERT_COPY and
    // INSERT_SAVEPOINT the accounts were sent before.
    return st == &statements[UPSERT] ? insert == INSERT_UPSERT : insert == INSERT_ROW;
}

// Sends the statements that insert the rows of a part, for send_savepoints.
static bool send_rows(PGconn *conn, const struct part *p, struct buf *scratch)
{
    for (size_t i = 0; i < STATEMENTS; i++) {
        // "accounts" inserts the accounts here, so "upserts" is left out.
        if (i != UPSERT && statements[i].inserts_rows &&
            !send_statement(conn, p, &statements[i], scratch))
            return false;
    }
    return true;
}

// Sends each row in a subtransaction of its own. Every fourth row is inserted, rolled back and
// inserted again, so the token of its first insert never appears.
static bool send_savepoints(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch)
{
    struct part p = whole_txn(plan, txn);

    for (uint32_t t = txn->first_token; t < txn->first_token + txn->rows; t++) {
        p.first = t;
        p.end = t + 1;
        bool again = t % 4 == 0;
        if (!send_command(conn, "SAVEPOINT row") || !send_rows(conn, &p, scratch) ||
            (again && (!send_command(conn, "ROLLBACK TO SAVEPOINT row") ||
                          !send_rows(conn, &p, scratch))) ||
            !send_command(conn, "RELEASE SAVEPOINT row"))
            return false;
    }
    return true;
}

bool txn_send_rest(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    enum load_insert insert, struct buf *scratch)
{
    const struct part p = whole_txn(plan, txn);

    for (size_t i = 0; i < STATEMENTS; i++) {
        if (is_statement_used(&statements[i], insert) &&
            !send_statement(conn, &p, &statements[i], scratch))
            return false;
    }
    if (txn_ends_at_once(txn) && !send_command(conn, end_statement_of(txn)))
        return false;
    return PQpipelineSync(conn) == 1;
}

bool txn_send(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    enum load_insert insert, struct buf *scratch)
{
    if (commits_alone(plan, txn, insert))
        return send_account(conn, plan, txn);
    return send_command(conn, "BEGIN") &&
           (insert != INSERT_SAVEPOINT || send_savepoints(conn, plan, txn, scratch)) &&
           // With INSERT_COPY only a transaction without accounts to copy comes here. All of its
           // statements are still to be sent, as with INSERT_ROW.
           txn_send_rest(conn, plan, txn, insert == INSERT_COPY ? INSERT_ROW : insert, scratch);
}

// --- COPY ------------------------------------------------------------------------------

bool txn_copies(const struct plan *plan, const struct plan_txn *txn, enum load_insert insert)
{
    for (uint32_t t = txn->first_token; t < txn->first_token + txn->rows; t++) {
        if (insert == INSERT_COPY && makes_account(plan, t))
            return true;
    }
    return false;
}

bool txn_send_copy(PGconn *conn)
{
    // libpq has no COPY in pipeline mode, so it is sent outside of it.
    return PQsendQuery(conn, "BEGIN; COPY accounts (email, login) FROM STDIN") == 1;
}

// Appends a field in COPY's text format, which writes a character that would end a field or a row
// as a backslash and a letter.
static void append_copied(struct buf *out, const char *text)
{
    static const char special[] = "\\\t\n\r", letters[] = "\\tnr";

    for (const char *p = text; *p; p++) {
        const char *found = strchr(special, *p);
        if (found)
            buf_append_char(out, '\\');
        buf_append_char(out, found ? letters[found - special] : *p);
    }
}

bool txn_send_copied(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch)
{
    struct names names;

    buf_clear(scratch);
    for (uint32_t t = txn->first_token; t < txn->first_token + txn->rows; t++) {
        if (!makes_account(plan, t))
            continue;
        plan_names(plan, txn, t, &names);
        append_copied(scratch, names.email);
        buf_append_char(scratch, '\t');
        append_copied(scratch, names.login);
        buf_append_char(scratch, '\n');
    }
    return !scratch->failed && PQputCopyData(conn, scratch->data, (int)scratch->len) == 1 &&
           PQputCopyEnd(conn, NULL) == 1;
}

bool txn_send_end(PGconn *conn, const struct plan_txn *txn)
{
    return send_command(conn, end_statement_of(txn)) && PQpipelineSync(conn);
}
