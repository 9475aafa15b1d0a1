// The states of a connection, in the order in which it goes through them:
//
//  down -> connecting -> preparing -> idle -> running -> idle
//  idle -> copying -> running -> idle            (COPY, outside of the pipeline)
//  idle -> running -> holding -> running -> idle (a transaction that is held open)
//
// From any state it goes to `down` when it breaks.
#include "load/conn.h"

#include "load/change.h"
#include "load/txn.h"
#include "postgres/sql.h"

static const int64_t reconnect_pause_ns = 20 * NS_PER_MS;
static const int64_t connect_limit_ns = 10 * NS_PER_S; // limit of each step of the handshake
// The limit for the first answer to a TCP connect. While a container restarts, its address may give
// no error and no answer. The kernel would send the SYN again only after 1 s and after 3 s; a new
// connection tries sooner.
static const int64_t reach_limit_ns = 500 * NS_PER_MS;

// While a server refuses connections, one of the waiting connections, the prober, tries every 20
// ms. The others try again after this time, or as soon as any connection is open. If all of them
// tried every 20 ms, they would keep a processor busy and slow down the recovery that they wait
// for. They do not wait for the prober alone, because it may be trying a host that is silent.
static const int64_t others_pause_ns = 500 * NS_PER_MS;

static const char no_writes[] = "25006"; // the SQLSTATE read_only_sql_transaction

static const struct plan_txn *txn_of(const struct load *l, const struct conn *c)
{
    return &l->config->plan->txns[c->index];
}

// --- outcomes ----------------------------------------------------------------

// Records the outcome of the transaction on the connection, which is then free again.
static void finish_txn(struct load *l, struct conn *c, enum txn_outcome outcome, int64_t now)
{
    struct txn_record *r = &l->result->records[c->index];

    r->outcome = outcome;
    r->ended_ns = now;
    l->ended++;
    // A planned rollback counts neither as committed nor as failed.
    if (outcome == TXN_COMMITTED) {
        atomic_fetch_add(&l->progress->committed, 1);
        atomic_fetch_add(&l->progress->tokens, txn_of(l, c)->rows);
    } else if (!(txn_of(l, c)->flags & TXN_ROLLBACK)) {
        atomic_fetch_add(&l->progress->failed, 1);
    }
    c->state = CONN_IDLE;
}

static const struct plan_change *change_of(const struct load *l, const struct conn *c)
{
    return &l->config->plan->changes[c->index];
}

// Notes the end of a change's statement. The first half of a change decides its outcome; the second
// half, which comes later, only makes the token eligible again.
static void finish_change_half(struct load *l, struct conn *c, bool answered, int64_t now)
{
    struct change_record *r = &l->result->changes[c->index];
    bool first_half = r->ended_ns == 0, done = answered && !c->failed;

    c->state = CONN_IDLE;
    if (first_half) {
        r->outcome = done && !c->warned ? TXN_COMMITTED : TXN_UNKNOWN;
        r->ended_ns = now;
    } else {
        r->back_ended_ns = now;
    }
    // A CHANGE_REACTIVATE suspends the account first. Then it is not over: it waits in
    // l->reactivations until change_due finds its second half due. The second half has no planned
    // time, because the suspension might not be answered by then. It is due some time after this
    // answer.
    if (first_half && done && change_of(l, c)->kind == CHANGE_REACTIVATE)
        l->reactivations[l->reactivation_count++] = c->index;
    else
        l->changes_ended++;
}

// True when a fault of the scenario makes the server refuse statements and yet leaves it reachable.
// A refused write then does not mean that another server has become the leader.
static bool fault_only_refuses(const struct load *l)
{
    const struct scenario *s = l->config->scenario;

    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb->refuses && !s->faults[i].verb->keeps_away)
            return true;
    }
    return false;
}

// True for an error that a fault explains: the connection broke (no SQLSTATE), an operator
// intervened (class 57: terminated, cancelled, shutting down), or a fault of the scenario, at work
// or not, makes the server refuse writes with this error. Any other error means that the statements
// do not fit the schema. `state`: the SQLSTATE, or NULL.
static bool is_explained_by_fault(const struct scenario *s, const char *state)
{
    if (!state || strncmp(state, "57", 2) == 0)
        return true;
    for (size_t i = 0; i < s->fault_count; i++) {
        const struct verb *verb = s->faults[i].verb;
        if (verb->refuses && strcmp(state, verb->refuses) == 0)
            return true;
    }
    return false;
}

// Counts an error that no fault explains, and keeps the first line of the first such error.
static void note_refusal(struct load *l, const PGresult *result)
{
    const char *text = PQresultErrorMessage(result);

    if (l->result->refused++ == 0)
        snprintf(
            l->result->refusal, sizeof l->result->refusal, "%.*s", (int)strcspn(text, "\n"), text);
}

// Returns when a connection that the server refused may try again. If there is no prober yet, this
// connection becomes the prober.
static int64_t next_try_ns(struct load *l, const struct conn *c, int64_t now)
{
    if (!l->prober)
        l->prober = c;
    return now + (l->prober == c ? reconnect_pause_ns : others_pause_ns);
}

// Lets all waiting connections try at once, because a connection was opened.
static void end_probing(struct load *l, int64_t now)
{
    l->prober = NULL;
    for (size_t i = 0; i < l->conn_count; i++) {
        if (l->conns[i].state == CONN_DOWN)
            l->conns[i].until_ns = now;
    }
}

void conn_close(struct load *l, struct conn *c, int64_t now)
{
    // It waits for an answer about a transaction or a change, or holds a transaction open.
    bool busy = c->state == CONN_RUNNING || c->state == CONN_HOLDING || c->state == CONN_COPYING;
    bool unready = c->state == CONN_CONNECTING || c->state == CONN_PREPARING;
    bool unknown = busy && !c->is_change && c->end_sent && !(txn_of(l, c)->flags & TXN_ROLLBACK);

    if (busy && c->is_change)
        finish_change_half(l, c, false, now);
    else if (busy)
        finish_txn(l, c, unknown ? TXN_UNKNOWN : TXN_ROLLED_BACK, now);
    PQfinish(c->pg);
    c->pg = NULL;
    // A connection that was ready before is opened again at once.
    c->until_ns = unready ? next_try_ns(l, c, now) : now;
    c->state = CONN_DOWN;
}

// Handles the answer to a Sync: all answers before it have arrived.
static void handle_sync(struct load *l, struct conn *c, int64_t now)
{
    if (c->is_change) {
        finish_change_half(l, c, true, now);
        return;
    }
    const struct plan_txn *txn = txn_of(l, c);

    if (c->failed) {
        // After an error the server skips all statements up to the Sync, and so a COMMIT, too. A
        // transaction that began with BEGIN is then still open, so its end is sent, with a Sync
        // whose answer comes here again. In a failed transaction even COMMIT rolls back.
        if (PQtransactionStatus(c->pg) == PQTRANS_IDLE)
            finish_txn(l, c, TXN_ROLLED_BACK, now);
        else if (!txn_send_end(c->pg, txn))
            conn_close(l, c, now);
    } else if (!c->end_sent) {
        c->state = CONN_HOLDING;
        c->until_ns = now + l->config->scenario->load[txn->phase].hold_for_ns;
    } else if (txn->flags & TXN_ROLLBACK) {
        finish_txn(l, c, TXN_ROLLED_BACK, now);
    } else {
        // A COMMIT that is answered with a warning may have committed on this server alone: the
        // wait for a synchronous standby was cancelled.
        finish_txn(l, c, c->warned ? TXN_UNKNOWN : TXN_COMMITTED, now);
    }
}

// --- connecting --------------------------------------------------------------

// libpq calls this for each notice of the server; only warnings matter here.
static void count_notice(void *arg, const PGresult *notice)
{
    struct conn *c = arg;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (severity && strcmp(severity, "WARNING") == 0)
        c->warned = true;
}

void conn_open(struct load *l, struct conn *c, int64_t now)
{
    static const char *const keys[] = {"dbname", "application_name", NULL};
    const char *values[] = {l->config->conninfo, "mailproof load", NULL};

    c->state = CONN_CONNECTING;
    c->demoted = false;
    c->until_ns = now + reach_limit_ns;
    c->polling = PGRES_POLLING_WRITING;
    c->pg = PQconnectStartParams(keys, values, 1); // 1: dbname is a conninfo
    if (!c->pg || PQstatus(c->pg) == CONNECTION_BAD)
        conn_close(l, c, now);
    else
        PQsetNoticeReceiver(c->pg, count_notice, c);
}

// Takes the next step of the handshake. When the connection is open, sends the statements to
// prepare.
static void continue_handshake(struct load *l, struct conn *c, int64_t now)
{
    c->polling = PQconnectPoll(c->pg);
    if (c->polling == PGRES_POLLING_FAILED) {
        conn_close(l, c, now);
        return;
    }
    c->until_ns = now + (PQstatus(c->pg) == CONNECTION_STARTED ? reach_limit_ns : connect_limit_ns);
    if (c->polling != PGRES_POLLING_OK)
        return;
    atomic_fetch_add(&l->progress->connects, 1);
    end_probing(l, now);
    c->state = CONN_PREPARING;
    c->failed = false;
    // A statement that is prepared once costs the server no planning at the time of the insert.
    if (PQsetnonblocking(c->pg, 1) != 0 || !PQenterPipelineMode(c->pg) ||
        !txn_prepare_all(c->pg, l->config->enqueue))
        conn_close(l, c, now);
}

// --- answers -----------------------------------------------------------------

// Notes an error of the server: the transaction has failed, and the server may be no leader any
// more.
static void handle_conn_error(struct load *l, struct conn *c, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (!is_explained_by_fault(l->config->scenario, state))
        note_refusal(l, result);
    c->failed = true;
    // Leaving a server that takes no writes helps only if another one takes them.
    c->demoted = c->demoted || (state && strcmp(state, no_writes) == 0 && !fault_only_refuses(l));
}

// Takes the results that have come. At the answer to a Sync all statements before it are answered,
// so the connection goes to its next state.
static void handle_results(struct load *l, struct conn *c, int64_t now)
{
    while (c->state == CONN_PREPARING || c->state == CONN_RUNNING) {
        if (PQisBusy(c->pg))
            return;
        PGresult *result FREED_BY(sql_clear) = PQgetResult(c->pg);
        // NULL is the end of one statement's results. On a broken connection it would come for
        // ever; conn_serve closes such a connection.
        if (!result && PQstatus(c->pg) != CONNECTION_OK)
            return;
        ExecStatusType status = PQresultStatus(result);
        if (result && status == PGRES_FATAL_ERROR)
            handle_conn_error(l, c, result);
        if (status != PGRES_PIPELINE_SYNC)
            continue;
        if (c->state == CONN_RUNNING)
            handle_sync(l, c, now);
        else if (c->failed) // a statement could not be prepared
            conn_close(l, c, now);
        else
            c->state = CONN_IDLE;
        // Leave a server that takes no writes: the next connection may reach the new leader.
        if (c->state == CONN_IDLE && c->demoted) {
            conn_close(l, c, now);
            c->until_ns = now + reconnect_pause_ns;
        }
    }
}

// Sends the statements that follow the COPY. If the COPY failed, the transaction is aborted, and
// only its end is sent.
static void continue_after_copy(struct load *l, struct conn *c, int64_t now)
{
    const struct plan_txn *txn = txn_of(l, c);
    struct txn_record *r = &l->result->records[c->index];

    c->state = CONN_RUNNING;
    // After a failed COPY the end can only be a ROLLBACK, whose time and fate nobody asks about.
    c->end_sent = !c->failed && txn_ends_at_once(txn);
    r->commit_ns = c->end_sent ? now : 0;
    bool ok = PQenterPipelineMode(c->pg) &&
              (c->failed ? txn_send_end(c->pg, txn)
                         : txn_send_rest(c->pg, l->config->plan, txn, INSERT_COPY, &l->scratch));
    if (!ok)
        conn_close(l, c, now);
}

// Takes the results of BEGIN and COPY: sends the rows when the server asks for them, and the rest
// of the transaction when the COPY has ended.
static void handle_copy_results(struct load *l, struct conn *c, int64_t now)
{
    while (c->state == CONN_COPYING && !PQisBusy(c->pg)) {
        PGresult *result = PQgetResult(c->pg);
        ExecStatusType status = PQresultStatus(result);
        // NULL means that the COPY has ended or, on a broken connection, nothing.
        if (!result && PQstatus(c->pg) != CONNECTION_OK)
            return;
        if (result && status == PGRES_FATAL_ERROR)
            handle_conn_error(l, c, result);
        PQclear(result);
        if (!result)
            continue_after_copy(l, c, now);
        else if (status == PGRES_COPY_IN &&
                 !txn_send_copied(c->pg, l->config->plan, txn_of(l, c), &l->scratch))
            conn_close(l, c, now);
    }
}

// A connection with an answer to read may be broken already. Its answers are handled before it is
// closed, because they still count.
void conn_serve(struct load *l, struct conn *c, short revents, int64_t now)
{
    if (c->state == CONN_CONNECTING) {
        if (revents)
            continue_handshake(l, c, now);
        else if (now >= c->until_ns)
            conn_close(l, c, now);
        return;
    }
    if (!c->pg || !revents)
        return;
    bool alive = !(revents & (POLLIN | POLLHUP | POLLERR)) || PQconsumeInput(c->pg);
    alive = alive && PQflush(c->pg) >= 0;

    handle_copy_results(l, c, now);
    handle_results(l, c, now);
    if (c->pg && (!alive || PQstatus(c->pg) != CONNECTION_OK))
        conn_close(l, c, now);
}

short conn_events(const struct conn *c)
{
    if (c->state == CONN_CONNECTING)
        return c->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    // PQflush makes no system call when nothing is left to send.
    return PQflush(c->pg) == 1 ? POLLIN | POLLOUT : POLLIN;
}

// --- the plan's transactions -------------------------------------------------

void conn_begin(struct load *l, struct conn *c, size_t txn, int64_t now)
{
    struct txn_record *r = &l->result->records[txn];
    const struct plan *plan = l->config->plan;

    c->is_change = false;
    c->index = txn;
    c->failed = c->warned = false;
    const enum load_insert insert = l->config->scenario->load[txn_of(l, c)->phase].insert;
    bool copies = txn_copies(plan, txn_of(l, c), insert);
    c->state = copies ? CONN_COPYING : CONN_RUNNING;
    c->end_sent = !copies && txn_ends_at_once(txn_of(l, c));
    // If the COMMIT travels with the statements, the outcome may be unknown from now on.
    r->sent_ns = now;
    r->commit_ns = c->end_sent ? now : 0;
    atomic_fetch_add(&l->progress->sent, 1);
    // The Sync after the statements also flushes. Bytes that the socket does not take now go out
    // when poll says so.
    bool ok = l->config->enqueue ? txn_send_jobs(c->pg, txn_of(l, c), l->config->enqueue)
              : copies           ? PQexitPipelineMode(c->pg) && txn_send_copy(c->pg)
                                 : txn_send(c->pg, plan, txn_of(l, c), insert, &l->scratch);
    if (!ok)
        conn_close(l, c, clock_now_ns());
}

void conn_begin_change(struct load *l, struct conn *c, size_t change, int64_t now)
{
    struct change_record *r = &l->result->changes[change];
    const struct plan *plan = l->config->plan;
    bool second_half = r->sent_ns != 0; // the first half was sent before

    c->is_change = true;
    c->index = change;
    c->state = CONN_RUNNING;
    c->failed = c->warned = false;
    if (second_half)
        r->back_sent_ns = now;
    else
        r->sent_ns = now;
    if (!change_send(c->pg, plan, &plan->txns[l->insert_of[change]], change_of(l, c), second_half))
        conn_close(l, c, clock_now_ns());
}

void conn_end_hold(struct load *l, struct conn *c, int64_t now)
{
    c->end_sent = true;
    c->state = CONN_RUNNING;
    l->result->records[c->index].commit_ns = now;
    if (!txn_send_end(c->pg, txn_of(l, c)))
        conn_close(l, c, clock_now_ns());
}
