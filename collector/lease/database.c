#include "lease/state.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "lease_sql.h"
#include "line.h"
#include "queue_sql.h"

#define DEADLINE_NS (5 * NS_PER_S) // an answer that takes longer is as good as none
#define OTHERS_NS NS_PER_S         // between two looks at other collectors
#define SOON_NS (50 * NS_PER_MS)   // before a statement that failed is tried again
#define DUE_MARGIN_MS 10000        // by which something due may have been committed late
#define DUE_ALL_NS (30 * NS_PER_S) // between two looks at all that is due

static const struct session_params none = {0};

static bool is_awaited(const struct leased *l, enum request request)
{
    return l->awaited[request] > 0;
}

static int64_t deadline_ns(const struct leased *l)
{
    return l->now_ns + DEADLINE_NS;
}

static void expect(struct leased *l, enum request request)
{
    l->awaited[request]++;
    l->sent_ns[request] = l->now_ns;
}

static bool ask(struct leased *l, enum request request, const char *sql, struct session_params p,
    int64_t deadline, struct err *e)
{
    expect(l, request);
    return session_query(&l->session, (int)request, sql, p, deadline, e);
}

// --- from no session to one that has joined ------------------------------------

void database_lose(struct leased *l, const struct err *e)
{
    bool complained = session_remedy(e->sqlstate) == REMEDY_COMPLAIN;
    bool silent = session_silent(&l->session, l->now_ns);
    struct err ignored;

    log_line("PG", "%s: %s%s%s%s", l->session.up ? "lost" : "cannot connect", e->text,
        e->kind == ERR_SQL ? ", SQLSTATE " : "", e->kind == ERR_SQL ? e->sqlstate : "",
        complained ? "; this needs somebody's attention" : "");
    session_close(&l->session);
    pooler_close(&l->pooler);
    memset(l->awaited, 0, sizeof l->awaited);
    outbox_lost(&l->outbox);
    // What was not begun may be another's when we come back.
    err_clear(&ignored);
    if (!sender_return_ready(l, "the session ended", &ignored))
        log_line("MAIN", "%s", ignored.text);
    l->link = LINK_BACK_OFF;
    l->greeted = false;
    l->retry_ns = l->now_ns + backoff_next_ns(&l->backoff,
                                  complained || silent ? BACKOFF_CAP_NS : BACKOFF_SOON_NS);
    log_line("PG", "reconnecting in %" PRId64 " ms", (l->retry_ns - l->now_ns) / NS_PER_MS);
}

static bool send_listen(struct leased *l, struct err *e)
{
    const char *name = l->config->channel_name;
    char sql[sizeof "LISTEN \"\"" + 126];
    char *quoted = PQescapeIdentifier(l->session.conn, name, strlen(name));

    if (!quoted)
        return err_set(e, ERR_USAGE, "MAILROOM_CHANNEL_NAME is '%s'; allowed is valid UTF-8", name);
    snprintf(sql, sizeof sql, "LISTEN %s", quoted);
    PQfreemem(quoted);
    return ask(l, REQUEST_SETTINGS, sql, none, deadline_ns(l), e);
}

// The rows of deliveries that we know; the others of ours were leased by a
// request whose answer never came.
static bool known_rows(const struct leased *l, struct buf *out)
{
    buf_append_char(out, '{');
    for (int i = 0; i < l->flight.count; i++)
        if (l->flight.lines[i].state == FLIGHT_READY || l->flight.lines[i].state == FLIGHT_OUT)
            buf_printf(out, "%s%" PRId64, out->len > 1 ? "," : "", l->flight.lines[i].row);
    for (size_t i = l->outbox.first; i < l->outbox.count; i++)
        buf_printf(out, "%s%" PRId64, out->len > 1 ? "," : "", l->outbox.results[i].row);
    buf_append_char(out, '}');
    return buf_str(out) != NULL && !out->failed;
}

static bool send_join(struct leased *l, struct err *e)
{
    static const char patient[] = "SELECT set_config('statement_timeout', '0', false)";
    static const char usual[] = "SELECT set_config('statement_timeout', '4s', false)";
    char host[256] = "", settings[256];
    struct buf rows;
    const struct config *c = l->config;

    gethostname(host, sizeof host - 1);
    snprintf(settings, sizeof settings,
        "limit %" PRId64 ", timeout %" PRId64 " ms, in flight %" PRId64 ", attempts %" PRId64,
        c->batch_limit, c->batch_timeout_ms, c->in_flight, c->attempts);
    buf_init(&rows, 64 * 1024 * 1024);
    bool ok = known_rows(l, &rows) || err_set(e, ERR_SYSTEM, "no memory for the lines we know");
    // A queue that was used otherwise is carried over first, for as long as it takes.
    ok = ok && ask(l, REQUEST_SETTINGS, patient, none, CLOCK_NEVER, e) &&
         ask(l, REQUEST_JOIN, lease_sql_join,
             SESSION_PARAMS(c->queue_name, l->owner, rows.data, l->started ? NULL : host,
                 MAILROOM_VERSION, settings),
             CLOCK_NEVER, e) &&
         ask(l, REQUEST_SETTINGS, usual, none, CLOCK_NEVER, e);
    buf_fini(&rows);
    return ok;
}

static bool prepare(struct leased *l, const char *name, const char *sql, struct err *e)
{
    expect(l, REQUEST_SETTINGS);
    return session_prepare(&l->session, REQUEST_SETTINGS, name, sql, deadline_ns(l), e);
}

static bool send_setup(struct leased *l, struct err *e)
{
    // LISTEN before the first look: what is committed in between is announced.
    return ask(l, REQUEST_SETTINGS, queue_sql_settings, none, deadline_ns(l), e) &&
           ask(l, REQUEST_SCHEMA, lease_sql_schema, none, deadline_ns(l), e) && send_listen(l, e) &&
           prepare(l, "lease", lease_sql_lease, e) && prepare(l, "answer", lease_sql_answer, e) &&
           send_join(l, e);
}

static bool greet(struct leased *l, struct err *e)
{
    if (!pooler_step(&l->pooler, l->config->database_url, 0, PQbackendPID(l->session.conn), l->pid,
            l->now_ns)) {
        leased_wake_at(l, l->pooler.deadline_ns);
        return true;
    }
    if (l->pooler.shared)
        return err_set(e, ERR_USAGE,
            "MAILROOM_DATABASE_URL leads to a pooler that lends our session to others, so "
            "notifications would get lost; connect to the server, or to a pool in session mode");
    l->link = LINK_JOIN;
    return send_setup(l, e);
}

static bool connect_on(struct leased *l, struct err *e)
{
    switch (l->link) {
    case LINK_BACK_OFF:
        if (l->now_ns < l->retry_ns) {
            leased_wake_at(l, l->retry_ns);
            return true;
        }
        l->link = LINK_CONNECT;
        return session_open(&l->session, l->config->database_url, 0, l->now_ns, e);
    case LINK_CONNECT:
        if (!l->session.up)
            return true;
        l->link = LINK_GREET;
        return ask(l, REQUEST_SELF, queue_sql_self, none, deadline_ns(l), e);
    case LINK_GREET:
        return l->session.count > 0 || greet(l, e);
    default:
        return true; // the answer to the join is awaited
    }
}

static bool on_join(struct leased *l, const PGresult *r, struct err *e)
{
    const struct config *c = l->config;

    if (PQgetisnull(r, 0, 0)) {
        l->link = LINK_UP;
        l->started = true;
        backoff_reset(&l->backoff);
        fill_restart(&l->fill, l->now_ns);
        watch_restart(&l->watch);
        l->others_at_ns = l->now_ns;
        l->renew_at_ns = l->check_at_ns = l->now_ns;
        l->complete_ns = CLOCK_NEVER;
        l->slow = 0;
        log_line("QUEUE", "leasing from '%s' with others, as %s", c->queue_name, l->owner);
        return true;
    }
    const char *why = PQgetvalue(r, 0, 0);
    if (strcmp(why, "unknown") == 0)
        return err_set(e, ERR_USAGE,
            "MAILROOM_QUEUE_NAME is '%s'; allowed is a job_type that has a row in the table jobs",
            c->queue_name);
    if (strcmp(why, "bell") == 0)
        return err_set(e, ERR_USAGE,
            "producers ring a bell, which leased mode does not hear yet; have each token announced "
            "with SELECT mailroom_announce('each')");
    if (strcmp(why, "locked") == 0)
        return err_set(e, ERR_CONNECTION, "our last session has not ended yet");
    return err_set(e, ERR_USAGE,
        "MAILROOM_DEQUEUE is 'leased', but this queue is used with '%s'; stop all collectors and "
        "run mailroom-collector --switch-mode",
        why);
}

// --- a line ---------------------------------------------------------------------

static int64_t int64_at(const PGresult *r, int row, int column)
{
    uint64_t big;

    if (PQgetisnull(r, row, column))
        return 0;
    assert(PQgetlength(r, row, column) == sizeof big);
    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return (int64_t)be64toh(big);
}

static int int_at(const PGresult *r, int row, int column)
{
    uint32_t big;

    if (PQgetisnull(r, row, column))
        return 0;
    assert(PQgetlength(r, row, column) == sizeof big);
    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return (int)be32toh(big);
}

static struct field field_at(const PGresult *r, int row, int column)
{
    if (PQgetisnull(r, row, column))
        return (struct field){0};
    return (struct field){
        .data = PQgetvalue(r, row, column), .len = (size_t)PQgetlength(r, row, column)};
}

enum { KIND, LINE, TOKEN, NUMBER, ERRORS, ACTION, ACCOUNT, EMAIL, LOGIN, SECRET, CODE, WAIT, DUE };

// Of what the wire cannot carry, the reason goes to the dead letters.
static bool bury(
    struct leased *l, const PGresult *r, int row, bool last, const char *why, struct err *e)
{
    struct outbox_result result = {.row = int64_at(r, row, LINE),
        .token = int64_at(r, row, TOKEN),
        .number = int_at(r, row, NUMBER),
        .kind = RESULT_DEAD,
        .last = last};

    snprintf(result.text, sizeof result.text, "%s", why);
    return outbox_add(&l->outbox, &result, e);
}

static bool add_token(
    struct leased *l, struct flight_line *line, const PGresult *r, int row, struct err *e)
{
    struct token t = {
        .id = int64_at(r, row, TOKEN),
        .account = int64_at(r, row, ACCOUNT),
        .action = (enum token_action)int_at(r, row, ACTION),
        .email = field_at(r, row, EMAIL),
        .login = field_at(r, row, LOGIN),
        .secret = field_at(r, row, SECRET),
        .code = field_at(r, row, CODE),
    };
    const char *why = line_unsendable(&t);

    if (why)
        return bury(l, r, row, line->count == 0 && row == PQntuples(r) - 1, why, e);
    line->alone = int64_at(r, row, WAIT) != 0;
    return line_add(&line->text, &l->sign, &t, e) &&
           flight_add(line,
               (struct flight_token){
                   .id = t.id, .number = int_at(r, row, NUMBER), .errors = int_at(r, row, ERRORS)},
               e);
}

static bool make_line(struct leased *l, const PGresult *r, struct err *e)
{
    struct flight_line *line = flight_new(&l->flight, int64_at(r, 1, LINE));

    for (int row = 1; row < PQntuples(r); row++)
        if (!add_token(l, line, r, row, e))
            return false;
    if (line->count == 0) {
        line->state = FLIGHT_OVER;
        return true;
    }
    return line_end(&line->text, e);
}

static bool on_lease(struct leased *l, const PGresult *r, struct err *e)
{
    int taken = PQntuples(r) - 1;
    int64_t sent_ns = l->sent_ns[REQUEST_LEASE];
    bool more = int_at(r, 0, ERRORS) != 0;

    if (!PQgetisnull(r, 0, DUE))
        fill_due(&l->fill, l->now_ns + int64_at(r, 0, DUE) * NS_PER_MS);
    if (int64_at(r, 0, WAIT) > 0) {
        l->budget_ns = l->now_ns + int64_at(r, 0, WAIT) * NS_PER_MS;
        log_line("QUEUE", "the budget is spent for %" PRId64 " ms", int64_at(r, 0, WAIT));
        fill_due(&l->fill, l->budget_ns);
        return true;
    }
    if (!more)
        l->complete_ns = sent_ns;
    if (taken == 0) {
        fill_left(&l->fill, int_at(r, 0, NUMBER));
        return true;
    }
    fill_took(&l->fill, more);
    l->others_at_ns = clock_min(l->others_at_ns, l->now_ns + OTHERS_NS);
    return make_line(l, r, e);
}

// A line is leased when it can be written: what waits here is nobody else's.
static bool may_lease(struct leased *l)
{
    if (l->stop != STOP_NOT || l->sender != SENDER_HERE || is_awaited(l, REQUEST_LEASE) ||
        l->writing || flight_in(&l->flight, FLIGHT_READY) > 0 ||
        flight_in(&l->flight, FLIGHT_OUT) >= (int)l->config->in_flight ||
        flight_alone(&l->flight) || !output_ready(&l->output))
        return false;
    int64_t at = fill_look_ns(&l->fill);
    if (l->now_ns < l->budget_ns)
        at = at > l->budget_ns ? at : l->budget_ns;
    leased_wake_at(l, at);
    return at <= l->now_ns;
}

static bool send_lease(struct leased *l, struct err *e)
{
    char wanted[SESSION_NUMBER_LEN], fewest[SESSION_NUMBER_LEN], due[SESSION_NUMBER_LEN],
        daily[SESSION_NUMBER_LEN], per_s[32], burst[32];
    const struct config *c = l->config;
    bool all = l->complete_ns == CLOCK_NEVER || l->now_ns - l->complete_ns > DUE_ALL_NS;

    session_number(wanted, c->batch_limit);
    session_number(fewest, fill_fewest(&l->fill, l->now_ns));
    session_number(due, (l->now_ns - l->complete_ns) / NS_PER_MS + DUE_MARGIN_MS);
    session_number(daily, c->daily);
    snprintf(per_s, sizeof per_s, "%.9g", c->budget_per_s);
    snprintf(burst, sizeof burst, "%" PRId64, c->burst);
    fill_looking(&l->fill, l->now_ns);
    expect(l, REQUEST_LEASE);
    return session_execute(&l->session, REQUEST_LEASE, "lease",
        SESSION_PARAMS(
            c->queue_name, l->owner, wanted, fewest, all ? NULL : due, per_s, burst, daily),
        true, deadline_ns(l), e);
}

// --- what became of tokens --------------------------------------------------------

static bool send_answers(struct leased *l, struct err *e)
{
    const char *c[OUTBOX_COLUMNS];
    bool again;

    if (is_awaited(l, REQUEST_ANSWER) || outbox_left(&l->outbox) == 0)
        return true;
    if (!outbox_send(&l->outbox, c, &again, e))
        return false;
    expect(l, REQUEST_ANSWER);
    return session_execute(&l->session, REQUEST_ANSWER, "answer",
        SESSION_PARAMS(l->config->queue_name, l->owner, c[0], c[1], c[2], c[3], c[4], c[5], c[6],
            c[7], c[8], again ? "t" : "f"),
        false, deadline_ns(l), e);
}

static void on_answer(struct leased *l, const PGresult *r)
{
    outbox_confirmed(&l->outbox);
    if (PQntuples(r) > 0)
        log_line("QUEUE", "%d answers were late: their lines had been freed, token %s first",
            PQntuples(r), PQgetvalue(r, 0, 0));
    // What is to be tried again at once is due now.
    fill_due(&l->fill, l->now_ns);
}

// --- leases: ours and others' -----------------------------------------------------

static bool holds_something(const struct leased *l)
{
    return flight_in(&l->flight, FLIGHT_OUT) + flight_in(&l->flight, FLIGHT_READY) > 0 ||
           outbox_left(&l->outbox) > 0;
}

static bool send_renew(struct leased *l, struct err *e)
{
    static const char sql[] = "SELECT mailroom_renew($1, $2::bigint)";

    l->renew_at_ns = l->now_ns + l->config->lease_ms * NS_PER_MS / 3;
    return is_awaited(l, REQUEST_RENEW) ||
           ask(l, REQUEST_RENEW, sql, SESSION_PARAMS(l->config->queue_name, l->owner),
               deadline_ns(l), e);
}

bool database_fresh(struct leased *l, struct err *e)
{
    int64_t stale_ns = clock_min(250 * NS_PER_MS, l->config->grace_ms * NS_PER_MS / 2);

    if (l->link != LINK_UP)
        return false;
    if (l->now_ns - l->asked_ns <= stale_ns)
        return true;
    // Asked anew; on a network that is always slow, an answer counts from its arrival.
    if (is_awaited(l, REQUEST_RENEW))
        return false;
    if (l->slow >= 3) {
        l->slow = 0;
        return true;
    }
    l->slow++;
    if (!send_renew(l, e))
        database_lose(l, e);
    return false;
}

static bool on_renew(struct leased *l, const PGresult *r, struct err *e)
{
    (void)l;
    return PQgetvalue(r, 0, 0)[0] == 't' ||
           err_set(e, ERR_CONNECTION, "another collector took us for dead and has freed our lines");
}

static bool send_others(struct leased *l, struct err *e)
{
    static const char sql[] = "SELECT * FROM mailroom_others($1, $2::bigint)";

    if (is_awaited(l, REQUEST_OTHERS) || l->now_ns < l->others_at_ns) {
        leased_wake_at(l, l->others_at_ns);
        return true;
    }
    l->others_at_ns = CLOCK_NEVER;
    return ask(
        l, REQUEST_OTHERS, sql, SESSION_PARAMS(l->config->queue_name, l->owner), deadline_ns(l), e);
}

static bool send_free(struct leased *l, struct err *e)
{
    static const char sql[] = "SELECT mailroom_free($1, $2::bigint, $3), $2, $3";
    char owner[SESSION_NUMBER_LEN];
    const char *why;
    int64_t gone = watch_expired(&l->watch, l->config->grace_ms * NS_PER_MS,
        l->config->lease_ms * NS_PER_MS, l->now_ns, &why);

    if (gone == 0 || is_awaited(l, REQUEST_FREE))
        return true;
    watch_forget(&l->watch, gone);
    return ask(l, REQUEST_FREE, sql,
        SESSION_PARAMS(l->config->queue_name, session_number(owner, gone), why), deadline_ns(l), e);
}

static bool on_others(struct leased *l, const PGresult *r, struct err *e)
{
    watch_begin(&l->watch);
    for (int i = 0; i < PQntuples(r); i++)
        watch_seen(&l->watch, strtoll(PQgetvalue(r, i, 0), NULL, 10),
            strtoll(PQgetvalue(r, i, 1), NULL, 10), PQgetvalue(r, i, 2)[0] == 't', l->now_ns);
    watch_end(&l->watch);
    if (PQntuples(r) > 0)
        l->others_at_ns =
            l->now_ns + clock_min(OTHERS_NS, l->config->grace_ms * NS_PER_MS / 2 + 10 * NS_PER_MS);
    return send_free(l, e);
}

static void on_free(struct leased *l, const PGresult *r)
{
    log_line("QUEUE", "freed %s tokens of collector %s: %s", PQgetvalue(r, 0, 0),
        PQgetvalue(r, 0, 1), PQgetvalue(r, 0, 2));
    fill_due(&l->fill, l->now_ns);
}

bool database_leave(struct leased *l, struct err *e)
{
    static const char sql[] = "SELECT mailroom_leave($1, $2::bigint, $3, $4::bigint)";
    char tokens[SESSION_NUMBER_LEN];

    return is_awaited(l, REQUEST_LEAVE) || ask(l, REQUEST_LEAVE, sql,
                                               SESSION_PARAMS(l->config->queue_name, l->owner,
                                                   "stopped", session_number(tokens, l->answered)),
                                               deadline_ns(l), e);
}

// --- what arrives -----------------------------------------------------------------

static bool on_schema(const PGresult *r, struct err *e)
{
    return PQgetisnull(r, 0, 0) || err_set(e, ERR_SCHEMA,
                                       "the database lacks what migrations/%s brings; apply the "
                                       "migrations up to the latest",
                                       PQgetvalue(r, 0, 0));
}

static bool on_self(struct leased *l, const PGresult *r, struct err *e)
{
    if (PQntuples(r) != 1)
        return err_set(e, ERR_CONNECTION, "the server does not show us our own session");
    snprintf(l->pid, sizeof l->pid, "%s", PQgetvalue(r, 0, 0));
    return true;
}

static bool dispatch(struct leased *l, enum request request, const PGresult *r, struct err *e)
{
    switch (request) {
    case REQUEST_SELF:
        return on_self(l, r, e);
    case REQUEST_SCHEMA:
        return on_schema(r, e);
    case REQUEST_JOIN:
        return on_join(l, r, e);
    case REQUEST_LEASE:
        return on_lease(l, r, e);
    case REQUEST_ANSWER:
        on_answer(l, r);
        return true;
    case REQUEST_RENEW:
        return on_renew(l, r, e);
    case REQUEST_OTHERS:
        return on_others(l, r, e);
    case REQUEST_FREE:
        on_free(l, r);
        return true;
    case REQUEST_LEAVE:
        l->stop = STOP_DONE;
        return true;
    default:
        return true;
    }
}

// A lease or an answer that met a lock, or was cancelled, is for a second try.
static bool try_again(struct leased *l, enum request request, const struct err *e)
{
    if (session_remedy(e->sqlstate) != REMEDY_RETRY)
        return false;
    if (request == REQUEST_LEASE)
        fill_restart(&l->fill, l->now_ns + SOON_NS);
    else if (request == REQUEST_ANSWER)
        outbox_lost(&l->outbox);
    else if (request != REQUEST_RENEW && request != REQUEST_OTHERS && request != REQUEST_FREE)
        return false;
    log_line("PG", "%s, SQLSTATE %s; trying again", e->text, e->sqlstate);
    return true;
}

bool database_serve(struct leased *l, struct err *e)
{
    struct session_reply reply;
    PGnotify *n;

    if (l->link == LINK_BACK_OFF)
        return true;
    if (!session_pump(&l->session, l->now_ns, e))
        return false;
    while (session_take(&l->session, &reply)) {
        enum request request = (enum request)reply.tag;
        l->awaited[request]--;
        l->asked_ns = l->sent_ns[request];
        if (l->now_ns - l->asked_ns <= 100 * NS_PER_MS)
            l->slow = 0;
        l->check_at_ns = l->now_ns + l->config->healthcheck_interval_ms * NS_PER_MS;
        bool ok = session_check(reply.result, e);
        if (ok)
            ok = dispatch(l, request, reply.result, e);
        else
            ok = try_again(l, request, e);
        PQclear(reply.result);
        if (!ok)
            return false;
    }
    while ((n = session_notification(&l->session))) {
        if (!flight_holds(&l->flight, strtoll(n->extra, NULL, 10)))
            fill_announced(&l->fill, l->now_ns);
        PQfreemem(n);
    }
    return true;
}

bool database_step(struct leased *l, struct err *e)
{
    if (l->link != LINK_UP)
        return connect_on(l, e);
    if (!send_answers(l, e))
        return false;
    if (may_lease(l) && !send_lease(l, e))
        return false;
    if (holds_something(l)) {
        if (l->now_ns >= l->renew_at_ns && !send_renew(l, e))
            return false;
        leased_wake_at(l, l->renew_at_ns);
    }
    if (l->now_ns >= l->check_at_ns) {
        l->check_at_ns = l->now_ns + l->config->healthcheck_interval_ms * NS_PER_MS;
        if (!send_renew(l, e))
            return false;
    }
    leased_wake_at(l, l->check_at_ns);
    return send_others(l, e);
}
