// Inserts the accounts that must exist before the load: active accounts for recovery tokens and for
// ineligible activations (TOKEN_ACTIVE), and those that upserts conflict with.
#include "load/load.h"
#include "postgres/sql.h"

struct accounts {
    PGconn *conn;
    struct buf emails, logins;
    size_t buffered; // number of accounts in emails and logins
};

// Inserts the accounts in the buffers and empties the buffers. A buffer holds an array literal
// without its last brace.
static bool insert_accounts(struct accounts *a, struct err *e)
{
    static const char sql[] = "INSERT INTO accounts (email, login, status, activated_at)"
                              " SELECT email, login, 'active', extract(epoch FROM now())"
                              " FROM unnest($1::text[], $2::text[]) AS p (email, login)";

    if (a->buffered == 0)
        return true;
    // Two bytes, so that the NUL is appended, too: libpq takes text parameters as strings.
    buf_append(&a->emails, "}", 2);
    buf_append(&a->logins, "}", 2);
    if (a->emails.failed || a->logins.failed)
        return err_memory(e);
    const char *values[] = {a->emails.data, a->logins.data};
    PGresult *result FREED_BY(sql_clear) =
        PQexecParams(a->conn, sql, 2, NULL, values, NULL, NULL, 0);
    bool ok =
        PQresultStatus(result) == PGRES_COMMAND_OK ||
        sql_fail(a->conn, result, "cannot insert the accounts that must exist before the load", e);
    buf_clear(&a->emails);
    buf_clear(&a->logins);
    a->buffered = 0;
    return ok;
}

// Adds the account of a token to the buffers, and inserts them when they hold INSERT_EVERY
// accounts.
static bool add_bulk_account(struct accounts *a, const struct plan *plan,
    const struct plan_txn *txn, uint32_t token, struct err *e)
{
    enum { INSERT_EVERY = 10000 };
    struct names names;

    plan_names(plan, txn, token, &names);
    buf_append_char(&a->emails, a->buffered ? ',' : '{');
    buf_append_char(&a->logins, a->buffered ? ',' : '{');
    names_quote(&a->emails, names.email);
    names_quote(&a->logins, names.login);
    return ++a->buffered < INSERT_EVERY || insert_accounts(a, e);
}

// Disables the trigger of migration 000006, if it is there. The trigger refuses names that the wire
// format cannot carry. A collector must still handle such names, because they may be older than the
// trigger, or have come in another way.
static bool allow_bad_names(PGconn *conn, struct err *e)
{
    return sql_exec(conn,
        "DO $$ BEGIN"
        " IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'accounts'::regclass"
        "  AND tgname = 'account_check_sendable') THEN"
        "  ALTER TABLE accounts DISABLE TRIGGER account_check_sendable;"
        " END IF;"
        "END $$",
        e);
}

static bool has_bad_names(const struct plan *plan)
{
    for (size_t t = 0; t < plan->token_count; t++) {
        if (plan->kinds[t] == TOKEN_BAD_NAME)
            return true;
    }
    return false;
}

bool load_ids_from(PGconn *conn, int first, struct err *e)
{
    char sql[200];

    snprintf(sql, sizeof sql,
        "SELECT setval(pg_get_serial_sequence('tokens', 'id'), %d, false),"
        " setval(pg_get_serial_sequence('accounts', 'id'), %d, false)",
        first, first);
    // The ids of a new database begin with 1 anyway.
    return first == 1 || sql_exec(conn, sql, e);
}

bool load_prepare(PGconn *conn, const struct plan *plan, struct err *e)
{
    const size_t room = 32 << 20; // for INSERT_EVERY of the longest names
    struct accounts a = {.conn = conn, .emails = BUF_INIT(room), .logins = BUF_INIT(room)};
    bool ok = !has_bad_names(plan) || allow_bad_names(conn, e);

    for (size_t i = 0; ok && i < plan->txn_count; i++) {
        const struct plan_txn *txn = &plan->txns[i];
        for (uint32_t t = txn->first_token; ok && t < txn->first_token + txn->rows; t++) {
            // Tokens may share an account; the first of them makes it.
            if (token_kind_has_account(plan->kinds[t]) && plan_account(plan, t) == t)
                ok = add_bulk_account(&a, plan, txn, t, e);
        }
    }
    ok = ok && insert_accounts(&a, e);
    buf_fini(&a.emails);
    buf_fini(&a.logins);
    return ok;
}
