// Completes the ledger from the database and from the finished log.
//
// The database is asked twice: for the transactions whose answer was lost, when the load's backends
// have ended and nothing can still commit; and for all rows, when the collector has ended.
//
// A delivery is compared with its row by a fingerprint of the fields, because secrets are kept
// neither here nor in the history. Of the tables that are a collector's own, only the reference
// collector's are read, as far as the version of the schema has them.
#include "ledger/ledger.h"

#include <arpa/inet.h>

#include "ledger_sql.h"
#include "postgres/sql.h"
#include "subject/decoder.h"

// Stores one row of a binary result in the ledger.
typedef void row_function(struct ledger *l, const PGresult *row);

// Finds the token of a row. The first two columns are the login of its account and its code.
// Returns false when the plan has no such token.
static bool token_of(const struct ledger *l, const PGresult *row, uint32_t *token)
{
    return plan_token(l->plan, PQgetvalue(row, 0, 0), (size_t)PQgetlength(row, 0, 0),
        PQgetvalue(row, 0, 1), (size_t)PQgetlength(row, 0, 1), token);
}

// Makes a query and calls f for each row. The rows come one at a time and in binary form, so that
// ten million rows need no more memory than one.
static bool each_row(struct ledger *l, PGconn *conn, const char *sql, const char *param,
    row_function *f, struct err *e)
{
    const char *params[] = {param};

    if (!PQsendQueryParams(conn, sql, param ? 1 : 0, NULL, params, NULL, NULL, 1) ||
        !PQsetSingleRowMode(conn))
        return sql_fail(conn, NULL, "cannot read the tables", e);
    bool ok = true;
    // All results are read, also after an error, because the connection is used again.
    for (PGresult *row; (row = PQgetResult(conn)) != NULL; PQclear(row)) {
        ExecStatusType status = PQresultStatus(row);
        if (status == PGRES_SINGLE_TUPLE)
            f(l, row);
        else if (status != PGRES_TUPLES_OK)
            ok = sql_fail(conn, row, "cannot read the tables", e);
    }
    return ok;
}

// Marks the token of a row of sql/present.sql when the outcome of its transaction is unknown: the
// database has it, so the transaction has committed.
static void settle_row(struct ledger *l, const PGresult *row)
{
    uint32_t token;

    // The query finds all tokens of an account, also those of transactions with a known outcome.
    if (token_of(l, row, &token) && ledger_txn(l, token)->outcome == TXN_UNKNOWN)
        l->tokens[token].flags |= TOKEN_SETTLED;
}

bool ledger_settle_unknown(struct ledger *l, PGconn *conn, struct err *e)
{
    enum { CHUNK = 10000 };
    // The cap is far above the length of CHUNK logins.
    struct buf logins FREED_BY(buf_fini) = BUF_INIT(32 << 20);
    size_t held = 0;
    bool ok = true;

    for (uint32_t t = 0; ok && t < l->plan->token_count; t++) {
        struct names names;
        if (ledger_txn(l, t)->outcome == TXN_UNKNOWN) {
            plan_names(l->plan, &l->plan->txns[l->txn_of[t]], t, &names);
            buf_append_char(&logins, held++ ? ',' : '{');
            names_quote(&logins, names.login);
        }
        // The logins are asked for in chunks: a crash can leave a hundred thousand outcomes
        // unknown, and one query for each would take long.
        if (held == 0 || (held < CHUNK && t + 1 < l->plan->token_count))
            continue;
        buf_append(&logins, "}", 2); // also appends the NUL that ends the parameter
        ok = !logins.failed ? each_row(l, conn, ledger_sql_present, logins.data, settle_row, e)
                            : err_memory(e);
        buf_clear(&logins);
        held = 0;
    }
    return ok;
}

static int32_t get_int4(const PGresult *row, int column)
{
    uint32_t value;

    memcpy(&value, PQgetvalue(row, 0, column), sizeof value);
    return (int32_t)ntohl(value);
}

static struct contents_field get_field(const PGresult *row, int column)
{
    return (struct contents_field){PQgetvalue(row, 0, column), (size_t)PQgetlength(row, 0, column)};
}

// The columns of sql/tokens.sql, in their order.
enum { LOGIN, CODE, ACTION, EMAIL, SECRET, EXPIRES_AT, ROW };

// The fields of struct contents, in their order; the code comes last.
enum { FIELD_EMAIL, FIELD_LOGIN, FIELD_SECRET };

static struct contents_field make_field(const char *text)
{
    return (struct contents_field){text, strlen(text)};
}

static bool are_fields_equal(const struct contents_field *a, const struct contents_field *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

// Sets t->older, the fingerprint that a line has if it was written before the plan changed the
// names of the account. Returns true when the address in the database is one that the plan gave to
// the account, at first or later.
static bool compare_names(
    struct ledger *l, uint32_t token, struct contents *c, struct ledger_token *t)
{
    const struct change_record *record;
    const struct plan_change *rename = ledger_rename(l, token, &record);
    struct names names;

    plan_names(l->plan, &l->plan->txns[l->txn_of[token]], token, &names);
    const struct contents_field email = make_field(names.email), login = make_field(names.login);
    bool planned = are_fields_equal(&c->fields[FIELD_EMAIL], &email);
    t->older = t->fingerprint;
    if (!rename)
        return planned;
    struct contents before = *c;
    before.fields[FIELD_EMAIL] = email;
    before.fields[FIELD_LOGIN] = login;
    t->older = decode_fingerprint(&before);
    names_change(&names, token, l->plan->segment, rename->kind == CHANGE_EMAIL);
    const struct contents_field later = make_field(names.email);
    return planned || are_fields_equal(&c->fields[FIELD_EMAIL], &later);
}

// Stores a row of sql/tokens.sql: what the database holds of a token at the end of the run.
static void final_token_row(struct ledger *l, const PGresult *row)
{
    uint32_t token;

    if (!token_of(l, row, &token)) {
        l->strangers++;
        return;
    }
    struct contents c = {.action = get_int4(row, ACTION),
        .fields = {get_field(row, EMAIL), get_field(row, LOGIN), get_field(row, SECRET),
            get_field(row, CODE)}};
    struct ledger_token *t = &l->tokens[token];
    t->flags |= TOKEN_PRESENT;
    t->expires_at_s = get_int4(row, EXPIRES_AT);
    // Only the fingerprint is kept, because a secret must not get into the history.
    t->fingerprint = decode_fingerprint(&c);
    t->marks = decode_marks(&c);
    t->row = (uint16_t)(ROW_READ | get_int4(row, ROW));
    if (l->log_secrets && c.fields[FIELD_SECRET].len == SECRET_SCAN_SECRET_LEN &&
        secret_scan_secret(l->log_secrets, c.fields[FIELD_SECRET].data))
        t->flags |= TOKEN_SECRET_LOGGED;
    t->row |= compare_names(l, token, &c, t) ? 0 : ROW_EMAIL;
}

// Stores a row of sql/dead_letters.sql: the number of a token's dead letters. More than one is a
// defect, also when they name different ids and so come in two rows.
static void dead_letter_row(struct ledger *l, const PGresult *row)
{
    uint32_t token;

    if (!token_of(l, row, &token))
        return;
    uint8_t *flags = &l->tokens[token].flags;
    *flags |= (*flags & TOKEN_DEAD_LETTER) || get_int4(row, 2) > 1 ? TOKEN_DEAD_LETTER_AGAIN : 0;
    *flags |= TOKEN_DEAD_LETTER;
}

// Sets the flags for the token of a row; rows of unknown tokens are left out.
static void set_token_flags(struct ledger *l, const PGresult *row, int flags)
{
    uint32_t token;

    if (token_of(l, row, &token))
        l->tokens[token].flags |= (uint8_t)flags;
}

// Marks a token that the cursor of an older schema has not passed.
static void waiting_row(struct ledger *l, const PGresult *row)
{
    set_token_flags(l, row, TOKEN_WAITING);
}

// Marks a token that the query of the present schema returns. In every mode such a token was not
// taken, or it was taken and not confirmed.
static void waiting_unmarked_row(struct ledger *l, const PGresult *row)
{
    set_token_flags(l, row, TOKEN_WAITING | TOKEN_UNMARKED);
}

// Marks a token that in an older schema does not have the mark of dequeued ones.
static void unmarked_row(struct ledger *l, const PGresult *row)
{
    set_token_flags(l, row, TOKEN_UNMARKED);
}

static void outcome_row(struct ledger *l, const PGresult *row)
{
    uint32_t token;

    if (token_of(l, row, &token))
        l->tokens[token].outcome = (uint8_t)get_int4(row, 2);
}

// Stores a row of sql/attempts.sql and counts it for its token; a late answer is no attempt of its
// own. Both numbers stop at UINT16_MAX.
static void attempt_row(struct ledger *l, const PGresult *row)
{
    enum { NUMBER = 2, END }; // the columns after the login and the code
    struct attempt_record a = {.end = (uint8_t)get_int4(row, END)};
    int32_t number = get_int4(row, NUMBER);

    if (!token_of(l, row, &a.token))
        return;
    a.number = (uint16_t)(number < UINT16_MAX ? number : UINT16_MAX);
    struct ledger_token *t = &l->tokens[a.token];
    t->attempts = (uint16_t)(t->attempts + (a.end != ATTEMPT_LATE && t->attempts < UINT16_MAX));
    memory_grow(&l->attempts, l->attempt_count, 1, sizeof *l->attempts);
    l->attempts[l->attempt_count++] = a;
}

static int by_token_and_number(const void *a, const void *b)
{
    const struct attempt_record *x = a, *y = b;

    return x->token != y->token ? (x->token > y->token) - (x->token < y->token)
                                : (x->number > y->number) - (x->number < y->number);
}

// Reads the outcomes and attempts that leased mode has recorded.
static bool read_outcomes(struct ledger *l, PGconn *conn, struct err *e)
{
    bool ok = each_row(l, conn, ledger_sql_outcomes, NULL, outcome_row, e) &&
              each_row(l, conn, ledger_sql_attempts, NULL, attempt_row, e);

    if (l->attempt_count > 0)
        qsort(l->attempts, l->attempt_count, sizeof *l->attempts, by_token_and_number);
    return ok;
}

// Compares a delivery of a known token with the database. Returns true when it is found to be
// forged, and adds a note that says how. A delivery is forged when it differs from what the
// database holds, unless it only has the names from before a change of the account, which sets
// d->before_rename. It is forged, too, when it prints a name that the wire format cannot carry,
// even if its line can be read.
static bool find_forgery(struct ledger *l, struct delivery *d)
{
    char differing[40]; // names of the fields that differ
    const struct ledger_token *t = &l->tokens[d->token];

    // DELIVERY_NAMED: a torn line only names the token. DELIVERY_FORGED: its signature is wrong, so
    // it is known to be forged already.
    if (!(t->flags & TOKEN_PRESENT) || (d->flags & (DELIVERY_NAMED | DELIVERY_FORGED)))
        return false;
    if (d->fingerprint != t->fingerprint && d->fingerprint == t->older)
        d->before_rename = true;
    decode_differs(d->marks, t->marks, differing, sizeof differing);
    if (l->plan->kinds[d->token] == TOKEN_BAD_NAME)
        subject_note(
            l->log, d->line, d->token, "a name that the wire cannot carry, printed as it is");
    else if (d->fingerprint != t->fingerprint && !d->before_rename)
        subject_note(l->log, d->line, d->token, "not what the database holds: %s", differing);
    else
        return false;
    return true;
}

// Counts the valid deliveries: signed, whole, and not forged (find_forgery). A token that the
// database does not have cannot be compared: its delivery is a phantom and not a forgery.
static void count_valid_deliveries(struct ledger *l)
{
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        struct delivery *d = &l->log->deliveries[i];
        if (d->token >= l->plan->token_count)
            continue;
        struct ledger_token *t = &l->tokens[d->token];
        if (find_forgery(l, d))
            d->flags |= DELIVERY_FORGED;
        // The job's handler did not finish, so this is no delivery.
        if (d->flags & DELIVERY_REFUSED)
            continue;
        // A delivery with any other flag is not valid; it only names the token.
        if (d->flags)
            t->flags |= TOKEN_NAMED;
        else if (t->deliveries++ == 0)
            t->first_line = d->line;
    }
}

// Sets *yes to whether the query's value begins with 1. Returns false when the query fails.
static bool is_value_one(PGconn *conn, const char *sql, bool *yes, struct err *e)
{
    char found[8];

    if (!sql_value(conn, sql, found, sizeof found, e))
        return false;
    *yes = found[0] == '1';
    return true;
}

// Sets *found to whether the table has the column; a missing table has none. Returns false when the
// query fails.
static bool has_column(
    PGconn *conn, const char *table, const char *column, bool *found, struct err *e)
{
    char sql[200];

    snprintf(sql, sizeof sql,
        "SELECT count(*) FROM pg_attribute"
        " WHERE attrelid = to_regclass('%s') AND attname = '%s' AND NOT attisdropped",
        table, column);
    return is_value_one(conn, sql, found, e);
}

// Reads which tokens still wait at the end, with the query that fits the version of the schema. The
// present schema has cursors.seen. In an older one, tokens.processed_at marks dequeued tokens, and
// the cursor's position is a transaction and an id if jobs.last_xid exists, or else an id alone.
static bool read_queue(struct ledger *l, PGconn *conn, struct err *e)
{
    bool snapshots, compound, marks;

    if (!has_column(conn, "cursors", "seen", &snapshots, e))
        return false;
    if (snapshots)
        return each_row(l, conn, ledger_sql_waiting, NULL, waiting_unmarked_row, e);
    return has_column(conn, "jobs", "last_xid", &compound, e) &&
           has_column(conn, "tokens", "processed_at", &marks, e) &&
           (!marks || each_row(l, conn, ledger_sql_unmarked, NULL, unmarked_row, e)) &&
           each_row(l, conn, compound ? ledger_sql_waiting_position : ledger_sql_waiting_id_only,
               NULL, waiting_row, e);
}

// Reads dead_letters, a table that all collectors share. An old schema does not have it.
static bool read_dead_letters(struct ledger *l, PGconn *conn, struct err *e)
{
    bool found;

    return is_value_one(conn, "SELECT (to_regclass('dead_letters') IS NOT NULL)::int", &found, e) &&
           (!found || each_row(l, conn, ledger_sql_dead_letters, NULL, dead_letter_row, e));
}

// Reads the reference collector's own tables. An old schema may have fewer of them.
static bool read_reference_layout(struct ledger *l, PGconn *conn, struct err *e)
{
    bool outcomes;

    return is_value_one(
               conn, "SELECT (to_regclass('mailroom_status') IS NOT NULL)::int", &outcomes, e) &&
           (!outcomes || read_outcomes(l, conn, e)) && read_queue(l, conn, e);
}

// Reads all tokens, and those other tables that this run's collector has.
static bool read_tables(struct ledger *l, PGconn *conn, struct err *e)
{
    char epoch[32];

    snprintf(epoch, sizeof epoch, "%lld", (long long)l->server_epoch_s);
    return each_row(l, conn, ledger_sql_tokens, epoch, final_token_row, e) &&
           (!scenario_keeps_dead_letters(l->scenario) || read_dead_letters(l, conn, e)) &&
           (l->scenario->collector.layout != LAYOUT_REFERENCE || read_reference_layout(l, conn, e));
}

bool ledger_settle_end(struct ledger *l, PGconn *conn, struct err *e)
{
    if (conn && !read_tables(l, conn, e))
        return false;
    count_valid_deliveries(l);
    return true;
}
