#include "load/change.h"

#include "load_sql.h"

// The pause before change_due is called again for a due change whose insert is not answered yet.
static const int64_t look_again_ns = 2 * NS_PER_MS;

static const struct {
    const char *name;
    const char *sql;
} statements[CHANGE_KINDS] = {
    [CHANGE_CONSUME] = {"consume", load_sql_change_consume},
    [CHANGE_SUSPEND] = {"suspend", load_sql_change_suspend},
    [CHANGE_REACTIVATE] = {"reactivate", load_sql_change_reactivate},
    [CHANGE_EXPIRE] = {"expire", load_sql_change_expire},
    [CHANGE_DELETE] = {"delete", load_sql_change_delete},
    [CHANGE_EMAIL] = {"email", load_sql_change_email},
    [CHANGE_LOGIN] = {"login", load_sql_change_login},
};

// Compares a token's number with the range of a transaction's tokens, for bsearch.
static int by_token(const void *token, const void *txn)
{
    uint32_t t = *(const uint32_t *)token;
    const struct plan_txn *x = txn;

    return t < x->first_token ? -1 : t >= x->first_token + x->rows;
}

bool change_find_inserts(struct load *l, struct err *e)
{
    const struct plan *p = l->config->plan;

    if (p->change_count == 0)
        return true;
    l->insert_of = calloc(p->change_count, sizeof *l->insert_of);
    l->reactivations = calloc(p->change_count, sizeof *l->reactivations);
    if (!l->insert_of || !l->reactivations)
        return err_memory_for(e, "%zu changes", p->change_count);
    for (size_t i = 0; i < p->change_count; i++) {
        const struct plan_txn *txn =
            bsearch(&p->changes[i].token, p->txns, p->txn_count, sizeof *p->txns, by_token);
        l->insert_of[i] = (uint32_t)(txn - p->txns);
    }
    return true;
}

static void give_up_change(struct load *l, size_t change)
{
    l->result->changes[change].outcome = TXN_NOT_NEEDED;
    l->changes_ended++;
}

// True when the change was neither sent nor given up.
static bool is_change_open(const struct load *l, size_t change)
{
    const struct change_record *r = &l->result->changes[change];

    return r->outcome == TXN_NOT_SENT && r->sent_ns == 0;
}

static int64_t change_at_ns(const struct load *l, size_t change)
{
    return l->config->start_ns + l->config->plan->changes[change].at_ns;
}

// Returns when the second half of the i-th of the l->reactivations is due.
static int64_t reactivation_due_ns(const struct load *l, size_t i)
{
    size_t change = l->reactivations[i];

    return l->result->changes[change].ended_ns + l->config->plan->changes[change].back_ns;
}

// Removes a change whose second half is due from l->reactivations. Returns the change's index;
// SIZE_MAX: none is due.
static size_t take_due_reactivation(struct load *l, int64_t now)
{
    for (size_t i = 0; i < l->reactivation_count; i++) {
        size_t change = l->reactivations[i];
        if (reactivation_due_ns(l, i) > now)
            continue;
        l->reactivations[i] = l->reactivations[--l->reactivation_count];
        return change;
    }
    return SIZE_MAX;
}

size_t change_due(struct load *l, int64_t now)
{
    const size_t count = l->config->plan->change_count;
    size_t half_done = take_due_reactivation(l, now);

    if (half_done != SIZE_MAX)
        return half_done;
    while (l->next_change < count && !is_change_open(l, l->next_change))
        l->next_change++;
    for (size_t i = l->next_change; i < count && change_at_ns(l, i) <= now; i++) {
        const struct txn_record *insert = &l->result->records[l->insert_of[i]];
        if (!is_change_open(l, i))
            continue;
        // Before the insert is acknowledged, the row may not be visible, and the change would find
        // nothing. So the change waits while its insert has no outcome (TXN_NOT_SENT).
        if (insert->outcome == TXN_COMMITTED)
            return i;
        if (insert->outcome != TXN_NOT_SENT)
            give_up_change(l, i);
    }
    return SIZE_MAX;
}

int64_t change_due_ns(const struct load *l)
{
    // A due change may still wait for the answer to its insert. If its own time, which has passed,
    // were returned, the loop would not sleep.
    int64_t soon_ns = clock_now_ns() + look_again_ns, due_ns = CLOCK_NEVER;

    if (l->next_change < l->config->plan->change_count)
        due_ns = clock_max(change_at_ns(l, l->next_change), soon_ns);
    for (size_t i = 0; i < l->reactivation_count; i++)
        due_ns = clock_min(due_ns, reactivation_due_ns(l, i));
    return due_ns;
}

bool change_prepare_all(PGconn *conn)
{
    for (size_t i = 0; i < CHANGE_KINDS; i++) {
        if (!PQsendPrepare(conn, statements[i].name, statements[i].sql, 0, NULL))
            return false;
    }
    return true;
}

bool change_send(PGconn *conn, const struct plan *plan, const struct plan_txn *txn,
    const struct plan_change *change, bool second_half)
{
    enum change_kind kind =
        change->kind == CHANGE_REACTIVATE && !second_half ? CHANGE_SUSPEND : change->kind;
    struct names names, later; // the account's names now, and those that the change gives it
    const char *values[] = {names.login, kind == CHANGE_EMAIL ? later.email : later.login};

    plan_names(plan, txn, change->token, &names);
    names_change(&later, change->token, plan->segment, kind == CHANGE_EMAIL);
    return PQsendQueryPrepared(conn, statements[kind].name, change_kind_renames(kind) ? 2 : 1,
               values, NULL, NULL, 0) == 1 &&
           PQpipelineSync(conn) == 1;
}
