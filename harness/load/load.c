#include "load/load.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "load/txn.h"
#include "plan/names.h"

static const int64_t reconnect_pause_ns = 20 * NS_PER_MS;
static const int64_t connect_limit_ns = 10 * NS_PER_S;
static const int64_t idle_step_ns = 50 * NS_PER_MS; // how soon a stop is seen

enum conn_state {
    CONN_DOWN,       // to be opened at retry_at_ns
    CONN_CONNECTING, // until the handshake is over
    CONN_PREPARING,
    CONN_IDLE,
    CONN_RUNNING, // waits for the answer to a Sync
    CONN_HOLDING, // its transaction stays open until hold_until_ns
};

struct conn {
    PGconn *pg;
    enum conn_state state;
    int64_t until_ns; // DOWN: when to try again; CONNECTING: when to give up; HOLDING: its end
    PostgresPollingStatusType polling;
    size_t txn;
    bool end_sent; // COMMIT or ROLLBACK has left
    bool failed;   // the server refused a statement of it
    bool warned;   // an answer came with a warning
};

struct load {
    const struct load_config *config;
    struct load_progress *progress;
    struct load_result *result;
    struct conn *conns;
    size_t conn_count;
    size_t next;  // the first transaction that was not begun
    size_t ended; // how many have an outcome
    struct buf scratch;
};

bool load_prepare(PGconn *conn, const struct plan *plan, struct err *e)
{
    enum { CHUNK = 10000 };
    static const char sql[] =
        "INSERT INTO accounts (email, login, status)"
        " SELECT email, login, 'active' FROM unnest($1::text[], $2::text[]) AS p (email, login)";
    struct buf emails, logins;
    bool ok = true;

    buf_init(&emails, 1 << 20);
    buf_init(&logins, 1 << 20);
    for (size_t t = 0, held = 0; ok && t < plan->token_count; t++) {
        char name[NAMES_MAX];
        if (token_kind_recovery(plan->kinds[t])) {
            buf_append_char(&emails, held ? ',' : '{');
            buf_append_char(&logins, held ? ',' : '{');
            buf_append(&emails, name, names_email(name, (uint32_t)t));
            buf_append(&logins, name, names_login(name, (uint32_t)t));
            held++;
        }
        if (held == 0 || (held < CHUNK && t + 1 < plan->token_count))
            continue;
        buf_append(&emails, "}", 2);
        buf_append(&logins, "}", 2);
        const char *values[] = {emails.data, logins.data};
        PGresult *result = PQexecParams(conn, sql, 2, NULL, values, NULL, NULL, 0);
        ok = PQresultStatus(result) == PGRES_COMMAND_OK ||
             err_set(e, ERR_SQL, "cannot make the accounts for recovery tokens: %s",
                 PQresultErrorMessage(result));
        PQclear(result);
        buf_clear(&emails);
        buf_clear(&logins);
        held = 0;
    }
    buf_fini(&emails);
    buf_fini(&logins);
    return ok;
}

static const struct plan_txn *txn_of(const struct load *l, const struct conn *c)
{
    return &l->config->plan->txns[c->txn];
}

// --- outcomes ----------------------------------------------------------------

static void finish(struct load *l, struct conn *c, enum txn_outcome outcome, int64_t now)
{
    struct txn_record *r = &l->result->records[c->txn];

    r->outcome = outcome;
    r->ended_ns = now;
    l->ended++;
    if (outcome == TXN_COMMITTED) {
        atomic_fetch_add(&l->progress->committed, 1);
        atomic_fetch_add(&l->progress->tokens, txn_of(l, c)->rows);
    } else if (!(txn_of(l, c)->flags & TXN_ROLLBACK)) {
        atomic_fetch_add(&l->progress->failed, 1);
    }
    c->state = CONN_IDLE;
}

static void note_refusal(struct load *l, const char *text)
{
    if (l->result->refused++ == 0)
        snprintf(
            l->result->refusal, sizeof l->result->refusal, "%.*s", (int)strcspn(text, "\n"), text);
}

// The connection is gone: what it was doing is unknown if its COMMIT had left.
static void broke(struct load *l, struct conn *c, int64_t now)
{
    bool had_txn = c->state == CONN_RUNNING || c->state == CONN_HOLDING;
    bool unknown = c->end_sent && !(txn_of(l, c)->flags & TXN_ROLLBACK);

    if (had_txn)
        finish(l, c, unknown ? TXN_UNKNOWN : TXN_ROLLED_BACK, now);
    PQfinish(c->pg);
    c->pg = NULL;
    // At once after a death; a server that refuses is asked again a little later.
    c->until_ns = c->state == CONN_CONNECTING ? now + reconnect_pause_ns : now;
    c->state = CONN_DOWN;
}

// The answer to everything up to the Sync is in.
static void answered(struct load *l, struct conn *c, int64_t now)
{
    const struct plan_txn *txn = txn_of(l, c);

    if (c->state == CONN_PREPARING) {
        c->state = CONN_IDLE;
    } else if (c->failed) {
        // A transaction block that failed ends with our COMMIT or not at all.
        if (PQtransactionStatus(c->pg) == PQTRANS_IDLE)
            finish(l, c, TXN_ROLLED_BACK, now);
        else if (!txn_send_end(c->pg, txn) || PQflush(c->pg) < 0)
            broke(l, c, now);
    } else if (!c->end_sent) {
        c->state = CONN_HOLDING;
        c->until_ns = now + l->config->scenario->load[txn->phase].hold_for_ns;
    } else if (txn->flags & TXN_ROLLBACK) {
        finish(l, c, TXN_ROLLED_BACK, now);
    } else {
        finish(l, c, c->warned ? TXN_UNKNOWN : TXN_COMMITTED, now);
    }
}

// --- connections -------------------------------------------------------------

static void on_notice(void *arg, const PGresult *notice)
{
    struct conn *c = arg;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (severity && strcmp(severity, "WARNING") == 0)
        c->warned = true;
}

static void open_conn(struct load *l, struct conn *c, int64_t now)
{
    static const char *const keys[] = {"dbname", "application_name", NULL};
    const char *values[] = {l->config->conninfo, "mailproof load", NULL};

    c->state = CONN_CONNECTING;
    c->until_ns = now + connect_limit_ns;
    c->polling = PGRES_POLLING_WRITING;
    c->pg = PQconnectStartParams(keys, values, 1);
    if (!c->pg || PQstatus(c->pg) == CONNECTION_BAD)
        broke(l, c, now);
}

static void go_on_connecting(struct load *l, struct conn *c, int64_t now)
{
    c->polling = PQconnectPoll(c->pg);
    if (c->polling == PGRES_POLLING_FAILED) {
        broke(l, c, now);
        return;
    }
    if (c->polling != PGRES_POLLING_OK)
        return;
    PQsetNoticeReceiver(c->pg, on_notice, c);
    atomic_fetch_add(&l->progress->connects, 1);
    c->state = CONN_PREPARING;
    if (PQsetnonblocking(c->pg, 1) != 0 || !PQenterPipelineMode(c->pg) || !txn_prepare_all(c->pg) ||
        PQflush(c->pg) < 0)
        broke(l, c, now);
}

static void take_results(struct load *l, struct conn *c, int64_t now)
{
    while (c->state == CONN_PREPARING || c->state == CONN_RUNNING) {
        if (PQisBusy(c->pg))
            return;
        PGresult *result = PQgetResult(c->pg);
        if (!result && PQstatus(c->pg) != CONNECTION_OK)
            return;
        ExecStatusType status = PQresultStatus(result);
        if (result && status == PGRES_FATAL_ERROR) {
            if (PQstatus(c->pg) == CONNECTION_OK)
                note_refusal(l, PQresultErrorMessage(result));
            c->failed = true;
        }
        PQclear(result);
        if (status == PGRES_PIPELINE_SYNC)
            answered(l, c, now);
    }
}

static void serve_conn(struct load *l, struct conn *c, short revents, int64_t now)
{
    if (c->state == CONN_CONNECTING) {
        if (revents)
            go_on_connecting(l, c, now);
        else if (now >= c->until_ns)
            broke(l, c, now);
        return;
    }
    if (!c->pg || !revents)
        return;
    bool alive =
        (!(revents & (POLLIN | POLLHUP | POLLERR)) || PQconsumeInput(c->pg)) && PQflush(c->pg) >= 0;
    // What arrived before the end is still an answer.
    take_results(l, c, now);
    if (c->pg && (!alive || PQstatus(c->pg) != CONNECTION_OK))
        broke(l, c, now);
}

// --- the plan ----------------------------------------------------------------

static void begin(struct load *l, struct conn *c, int64_t now)
{
    c->txn = l->next++;
    c->state = CONN_RUNNING;
    c->failed = c->warned = false;
    c->end_sent = txn_ends_at_once(txn_of(l, c));
    struct txn_record *r = &l->result->records[c->txn];
    r->sent_ns = now;
    r->commit_ns = c->end_sent ? now : 0;
    atomic_fetch_add(&l->progress->sent, 1);
    if (!txn_send(c->pg, l->config->plan, txn_of(l, c), &l->scratch) || PQflush(c->pg) < 0)
        broke(l, c, clock_now_ns());
}

static void end_hold(struct load *l, struct conn *c, int64_t now)
{
    c->end_sent = true;
    c->state = CONN_RUNNING;
    l->result->records[c->txn].commit_ns = now;
    if (!txn_send_end(c->pg, txn_of(l, c)) || PQflush(c->pg) < 0)
        broke(l, c, clock_now_ns());
}

static int64_t due_ns(const struct load *l)
{
    const struct plan *plan = l->config->plan;

    return l->next < plan->txn_count ? l->config->start_ns + plan->txns[l->next].at_ns
                                     : CLOCK_NEVER;
}

// How many connections the phase of the next transaction may use.
static size_t allowed(const struct load *l)
{
    const struct plan *plan = l->config->plan;

    if (l->next >= plan->txn_count)
        return 0;
    return (size_t)l->config->scenario->load[plan->txns[l->next].phase].connections;
}

// Does what is due now and returns when something is due next.
static int64_t do_due(struct load *l, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    bool free_conn = false;

    for (size_t i = 0; i < l->conn_count; i++) {
        struct conn *c = &l->conns[i];
        if (c->state == CONN_DOWN && now >= c->until_ns)
            open_conn(l, c, now);
        if (c->state == CONN_HOLDING && now >= c->until_ns)
            end_hold(l, c, now);
        if (c->state == CONN_IDLE && i < allowed(l)) {
            if (due_ns(l) <= now) {
                // Its own reading: a loop that begins many transactions in one
                // turn would otherwise stamp the last one too early.
                begin(l, c, clock_now_ns());
            } else {
                free_conn = true;
            }
        }
        if (c->state == CONN_DOWN || c->state == CONN_HOLDING || c->state == CONN_CONNECTING)
            next = clock_min(next, c->until_ns);
    }
    return free_conn ? clock_min(next, due_ns(l)) : next;
}

static short events_of(const struct conn *c)
{
    if (c->state == CONN_CONNECTING)
        return c->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    // PQflush in the serving turn tells what is left; asking it again is cheap.
    return PQflush(c->pg) == 1 ? POLLIN | POLLOUT : POLLIN;
}

static void wait_for_events(struct load *l, struct pollfd *fds, int64_t until)
{
    int64_t now = clock_now_ns();
    int64_t nap = clock_min(until > now ? until - now : 0, idle_step_ns);
    struct timespec timeout = {.tv_sec = nap / NS_PER_S, .tv_nsec = nap % NS_PER_S};

    for (size_t i = 0; i < l->conn_count; i++) {
        struct conn *c = &l->conns[i];
        fds[i] = (struct pollfd){.fd = c->pg ? PQsocket(c->pg) : -1};
        if (c->pg)
            fds[i].events = events_of(c);
    }
    // ppoll, because a timeout in whole milliseconds would make every insert late.
    if (ppoll(fds, l->conn_count, &timeout, NULL) < 0)
        for (size_t i = 0; i < l->conn_count; i++)
            fds[i].revents = 0;
}

static void give_up_open(struct load *l)
{
    int64_t now = clock_now_ns();

    for (size_t i = 0; i < l->conn_count; i++) {
        struct conn *c = &l->conns[i];
        if (c->pg)
            broke(l, c, now);
    }
}

static void run_loop(struct load *l, struct pollfd *fds)
{
    while (l->ended < l->config->plan->txn_count && !atomic_load(&l->progress->stop)) {
        int64_t now = clock_now_ns();
        if (now > l->config->deadline_ns)
            break;
        int64_t until = do_due(l, now);
        wait_for_events(l, fds, until);
        now = clock_now_ns();
        for (size_t i = 0; i < l->conn_count; i++)
            serve_conn(l, &l->conns[i], fds[i].revents, now);
    }
    give_up_open(l);
}

bool load_run(const struct load_config *config, struct load_progress *progress,
    struct load_result *result, struct err *e)
{
    struct load l = {.config = config, .progress = progress, .result = result};
    struct timespec cpu = {0};
    struct pollfd *fds = NULL;
    bool ok = false;

    *result = (struct load_result){0};
    for (size_t i = 0; i < config->scenario->load_count; i++) {
        size_t wanted = (size_t)config->scenario->load[i].connections;
        l.conn_count = wanted > l.conn_count ? wanted : l.conn_count;
    }
    buf_init(&l.scratch, 4 << 20);
    result->records = calloc(config->plan->txn_count + 1, sizeof *result->records);
    l.conns = calloc(l.conn_count, sizeof *l.conns);
    fds = calloc(l.conn_count, sizeof *fds);
    if (!result->records || !l.conns || !fds) {
        err_set(e, ERR_INTERNAL, "out of memory for %zu transactions", config->plan->txn_count);
        goto out;
    }
    run_loop(&l, fds);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    result->cpu_s = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
    ok = true;
out:
    free(fds);
    free(l.conns);
    buf_fini(&l.scratch);
    return ok;
}

void load_result_fini(struct load_result *result)
{
    free(result->records);
    *result = (struct load_result){0};
}
