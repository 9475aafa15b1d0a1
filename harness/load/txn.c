#include "load/txn.h"

#include "base/buf.h"
#include "load_sql.h"
#include "plan/names.h"

// Which rows of a transaction a statement is for.
static bool is_account(enum token_kind kind)
{
    return !token_kind_recovery(kind);
}

// An activation may have no code: the wire carries it with an empty field. Every
// 64th is made so, in a statement of its own.
static bool lacks_code(const struct plan *plan, uint32_t token)
{
    return plan->kinds[token] == TOKEN_ACTIVATION && token % 64 == 63;
}

struct statement {
    const char *name;
    const char *sql;
    enum token_kind kind; // TOKEN_KINDS: all kinds that need a new account
                          // TOKEN_ACTIVATION: those that are to lose their code
    int params;           // 2: addresses and logins; 1: logins
};

static const struct statement statements[] = {
    {"accounts", load_sql_insert_accounts, TOKEN_KINDS, 2},
    {"recoveries", load_sql_insert_recoveries, TOKEN_RECOVERY, 1},
    {"without_code", load_sql_insert_without_code, TOKEN_WITHOUT_CODE, 1},
    {"expired", load_sql_make_expired, TOKEN_EXPIRED, 1},
    {"consumed", load_sql_make_consumed, TOKEN_CONSUMED, 1},
    {"suspended", load_sql_make_suspended, TOKEN_SUSPENDED, 1},
    {"null_code", load_sql_make_null_code, TOKEN_ACTIVATION, 1},
    {"short_secret", load_sql_make_short_secret, TOKEN_SHORT_SECRET, 1},
};

#define STATEMENTS (sizeof statements / sizeof *statements)

size_t txn_prepared_count(void)
{
    return STATEMENTS + 1;
}

bool txn_prepare_all(PGconn *conn)
{
    if (!PQsendPrepare(conn, "account", load_sql_insert_account, 0, NULL))
        return false;
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (!PQsendPrepare(conn, statements[i].name, statements[i].sql, 0, NULL))
            return false;
    }
    return PQpipelineSync(conn) == 1;
}

bool txn_ends_at_once(const struct plan_txn *txn)
{
    return !(txn->flags & TXN_HOLD);
}

static bool alone(const struct plan *plan, const struct plan_txn *txn)
{
    enum token_kind kind = plan->kinds[txn->first_token];

    return txn->rows == 1 && !(txn->flags & (TXN_ROLLBACK | TXN_HOLD)) &&
           (kind == TOKEN_ACTIVATION || kind == TOKEN_BAD_NAME) &&
           !lacks_code(plan, txn->first_token);
}

static bool is_for(const struct statement *st, const struct plan *plan, uint32_t token)
{
    if (st->kind == TOKEN_KINDS)
        return is_account(plan->kinds[token]);
    return st->kind == TOKEN_ACTIVATION ? lacks_code(plan, token) : plan->kinds[token] == st->kind;
}

static bool send_account(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, uint32_t token)
{
    struct names names;
    const char *values[] = {names.email, names.login};

    names_make(&names, token, plan_name_shape(plan, txn, token));
    return PQsendQueryPrepared(conn, "account", 2, values, NULL, NULL, 0) && PQpipelineSync(conn);
}

// An array literal of the rows that a statement is for. Returns how many there are.
static size_t array_of(const struct plan *plan, const struct plan_txn *txn,
    const struct statement *st, bool emails, struct buf *out)
{
    size_t count = 0;
    struct names names;

    buf_append_char(out, '{');
    for (uint32_t t = txn->first_token; t < txn->first_token + txn->rows; t++) {
        if (!is_for(st, plan, t))
            continue;
        names_make(&names, t, plan_name_shape(plan, txn, t));
        if (count++ > 0)
            buf_append_char(out, ',');
        names_quote(out, emails ? names.email : names.login);
    }
    buf_append(out, "}", 2);
    return count;
}

static bool send_statement(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    const struct statement *st, struct buf *scratch)
{
    buf_clear(scratch);
    size_t count = array_of(plan, txn, st, st->params == 2, scratch);
    size_t second = scratch->len;
    if (count == 0)
        return true;
    if (st->params == 2)
        array_of(plan, txn, st, false, scratch);
    if (scratch->failed)
        return false;
    const char *values[] = {scratch->data, scratch->data + second};
    return PQsendQueryPrepared(conn, st->name, st->params, values, NULL, NULL, 0) == 1;
}

static bool send_word(PGconn *conn, const char *word)
{
    return PQsendQueryParams(conn, word, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static const char *end_word(const struct plan_txn *txn)
{
    return txn->flags & TXN_ROLLBACK ? "ROLLBACK" : "COMMIT";
}

bool txn_send(
    PGconn *conn, const struct plan *plan, const struct plan_txn *txn, struct buf *scratch)
{
    if (alone(plan, txn))
        return send_account(conn, plan, txn, txn->first_token);
    if (!send_word(conn, "BEGIN"))
        return false;
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (!send_statement(conn, plan, txn, &statements[i], scratch))
            return false;
    }
    if (txn_ends_at_once(txn) && !send_word(conn, end_word(txn)))
        return false;
    return PQpipelineSync(conn) == 1;
}

bool txn_send_end(PGconn *conn, const struct plan_txn *txn)
{
    return send_word(conn, end_word(txn)) && PQpipelineSync(conn);
}
