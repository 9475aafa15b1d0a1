#include "lease/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "lease_sql.h"
#include "queue.h"

#define OTHERS_NS NS_PER_S       // the pause between two looks at other collectors
#define SOON_NS (50 * NS_PER_MS) // the pause before a failed statement is tried again

bool leased_ask(struct leased *l, enum request request, const char *sql, struct session_params p,
    int64_t deadline_ns, struct err *e)
{
    leased_stamp(l, request);
    return session_query(&l->link.session, (int)request, sql, p, deadline_ns, e);
}

// --- what became of tokens --------------------------------------------------------

static bool send_answers(struct leased *l, struct err *e)
{
    const char *c[OUTBOX_COLUMNS];
    bool again;

    if (leased_awaits(l, REQUEST_ANSWER) || outbox_left(&l->outbox) == 0)
        return true;
    if (!outbox_send(&l->outbox, c, &again, e))
        return false;
    leased_stamp(l, REQUEST_ANSWER);
    return session_execute(&l->link.session, REQUEST_ANSWER, "answer",
        SESSION_PARAMS(l->config->queue_name, l->owner, c[0], c[1], c[2], c[3], c[4], c[5], c[6],
            c[7], c[8], again ? "t" : "f"),
        leased_deadline_ns(l), e);
}

static void on_answer(struct leased *l, const PGresult *r)
{
    outbox_confirmed(&l->outbox);
    if (PQntuples(r) > 0)
        log_line("QUEUE",
            "%d answers were late, because their lines had ended; the first is for token %s",
            PQntuples(r), PQgetvalue(r, 0, 0));
    // Tokens may have become due to be tried again at once, so we look.
    fill_due(&l->take.fill, l->now_ns);
}

// --- leases: ours and others' -----------------------------------------------------

static bool holds_something(const struct leased *l)
{
    return flight_in(&l->flight, FLIGHT_OUT) + flight_in(&l->flight, FLIGHT_READY) > 0 ||
           outbox_left(&l->outbox) > 0;
}

bool database_renew(struct leased *l, struct err *e)
{
    static const char sql[] = "SELECT mailroom_renew($1, $2::bigint)";

    l->heartbeat.renew_at_ns = l->now_ns + l->config->lease_ms * NS_PER_MS / 3;
    return leased_awaits(l, REQUEST_RENEW) ||
           leased_ask(l, REQUEST_RENEW, sql, SESSION_PARAMS(l->config->queue_name, l->owner),
               leased_deadline_ns(l), e);
}

// True when the request that was answered last was sent so lately that a line may begin.
static bool is_quick(const struct leased *l)
{
    int64_t stale_ns = clock_min(250 * NS_PER_MS, l->config->grace_ms * NS_PER_MS / 2);

    return l->now_ns - l->heartbeat.asked_ns <= stale_ns;
}

bool database_fresh(struct leased *l, struct err *e)
{
    struct heartbeat *h = &l->heartbeat;

    if (l->join.state != JOIN_DONE)
        return false;
    if (is_quick(l))
        return true;
    // Asks for a new sign of life. On a network that is always slow, an answer counts from its
    // arrival instead.
    if (leased_awaits(l, REQUEST_RENEW))
        return false;
    if (h->slow >= 3) {
        h->slow = 0;
        return true;
    }
    h->slow++;
    if (!database_renew(l, e))
        join_lose(l, e);
    return false;
}

static bool on_renew(struct leased *l, const PGresult *r, struct err *e)
{
    (void)l;
    if (!session_check_row(r, e))
        return false;
    return PQgetvalue(r, 0, 0)[0] == 't' ||
           err_set(e, ERR_CONNECTION, "another collector took us for dead and has freed our lines");
}

static bool send_others(struct leased *l, struct err *e)
{
    static const char sql[] = "SELECT * FROM mailroom_others($1, $2::bigint)";

    if (leased_awaits(l, REQUEST_OTHERS) || l->now_ns < l->others.look_at_ns) {
        leased_wake_at(l, l->others.look_at_ns);
        return true;
    }
    l->others.look_at_ns = CLOCK_NEVER;
    return leased_ask(l, REQUEST_OTHERS, sql, SESSION_PARAMS(l->config->queue_name, l->owner),
        leased_deadline_ns(l), e);
}

static bool send_free(struct leased *l, struct err *e)
{
    char owner[SESSION_NUMBER_LEN], renewed[SESSION_NUMBER_LEN];
    const char *why;
    const struct watched *o = watch_expired(&l->others.watch, l->config->grace_ms * NS_PER_MS,
        l->config->lease_ms * NS_PER_MS, l->now_ns, &why);

    if (!o || leased_awaits(l, REQUEST_FREE))
        return true;
    bool gone = o->gone_ns != CLOCK_NEVER;
    session_number(owner, o->owner);
    session_number(renewed, o->renewed);
    watch_forget(&l->others.watch, o->owner);
    return leased_ask(l, REQUEST_FREE, lease_sql_free,
        SESSION_PARAMS(l->config->queue_name, owner, why, gone ? "t" : "f", renewed),
        leased_deadline_ns(l), e);
}

static bool on_others(struct leased *l, const PGresult *r, struct err *e)
{
    watch_begin(&l->others.watch, l->now_ns);
    for (int i = 0; i < PQntuples(r); i++)
        watch_seen(&l->others.watch, strtoll(PQgetvalue(r, i, 0), NULL, 10),
            strtoll(PQgetvalue(r, i, 1), NULL, 10), PQgetvalue(r, i, 2)[0] == 't', l->now_ns);
    // Nobody announces the tokens that a collector gives back when it leaves, so we look.
    if (watch_end(&l->others.watch))
        fill_due(&l->take.fill, l->now_ns);
    if (PQntuples(r) > 0)
        l->others.look_at_ns =
            l->now_ns + clock_min(OTHERS_NS, l->config->grace_ms * NS_PER_MS / 2 + 10 * NS_PER_MS);
    return send_free(l, e);
}

static void on_free(struct leased *l, const PGresult *r)
{
    if (PQntuples(r) == 0)
        return;
    log_line("QUEUE", "freed %s tokens of collector %s: %s", PQgetvalue(r, 0, 0),
        PQgetvalue(r, 0, 1), PQgetvalue(r, 0, 2));
    fill_due(&l->take.fill, l->now_ns);
}

bool database_leave(struct leased *l, struct err *e)
{
    static const char sql[] = "SELECT mailroom_leave($1, $2::bigint, $3, $4::bigint)";
    char tokens[SESSION_NUMBER_LEN];

    return leased_awaits(l, REQUEST_LEAVE) ||
           leased_ask(l, REQUEST_LEAVE, sql,
               SESSION_PARAMS(l->config->queue_name, l->owner, "stopped",
                   session_number(tokens, l->sender.answered)),
               leased_deadline_ns(l), e);
}

// Anybody can send the notification of mailroom_announce many times, so no question is asked while
// another one waits for its answer.
static bool ask_bell(struct leased *l, struct err *e)
{
    static const char sql[] = "SELECT mailroom_bell()";

    if (!l->join.recheck || leased_awaits(l, REQUEST_BELL))
        return true;
    l->join.recheck = false;
    return leased_ask(l, REQUEST_BELL, sql, (struct session_params){0}, leased_deadline_ns(l), e);
}

// --- what arrives -----------------------------------------------------------------

static bool dispatch(struct leased *l, enum request request, const PGresult *r, struct err *e)
{
    switch (request) {
    case REQUEST_SELF:
        return join_on_self(l, r, e);
    case REQUEST_SCHEMA:
        return queue_decode_schema(r, e);
    case REQUEST_LANES:
        return join_on_lanes(l, r, e);
    case REQUEST_JOIN:
        return join_on_join(l, r, e);
    case REQUEST_LEASE:
        return take_on_lease(l, r, e);
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
    case REQUEST_BELL:
        return join_on_bell(r, e);
    case REQUEST_LEAVE:
        l->ending.step = STOP_DONE;
        return true;
    default:
        return true;
    }
}

// A lease or an answer that met a lock, or was cancelled, is tried a second time.
static bool try_again(struct leased *l, enum request request, const struct err *e)
{
    if (session_remedy(e->sqlstate) != REMEDY_RETRY)
        return false;
    if (request == REQUEST_LEASE)
        fill_restart(&l->take.fill, l->now_ns + SOON_NS);
    else if (request == REQUEST_ANSWER)
        outbox_lost(&l->outbox);
    else if (request != REQUEST_RENEW && request != REQUEST_OTHERS && request != REQUEST_FREE)
        return false;
    log_line("PG", "%s, SQLSTATE %s; trying again", e->text, e->sqlstate);
    return true;
}

bool database_serve(struct leased *l, struct err *e)
{
    struct heartbeat *h = &l->heartbeat;
    struct session_reply reply;
    PGnotify *n;

    if (l->join.state == JOIN_BACK_OFF)
        return true;
    if (!session_pump(&l->link.session, l->now_ns, e))
        return false;
    while (session_take(&l->link.session, &reply)) {
        enum request request = (enum request)reply.tag;
        h->asked_ns = h->sent_ns[request];
        if (is_quick(l))
            h->slow = 0;
        h->check_at_ns = l->now_ns + l->config->healthcheck_interval_ms * NS_PER_MS;
        bool ok = session_check(reply.result, e);
        if (ok)
            ok = dispatch(l, request, reply.result, e);
        else
            ok = try_again(l, request, e);
        PQclear(reply.result);
        if (!ok)
            return false;
    }
    while ((n = session_notification(&l->link.session))) {
        if (strncmp(n->extra, "announce ", strlen("announce ")) == 0)
            l->join.recheck = true;
        fill_announced(&l->take.fill, strtoll(n->extra, NULL, 10), l->now_ns);
        PQfreemem(n);
    }
    return true;
}

bool database_step(struct leased *l, struct err *e)
{
    struct heartbeat *h = &l->heartbeat;

    if (l->join.state != JOIN_DONE)
        return join_step(l, e);
    if (!ask_bell(l, e) || !send_answers(l, e) || !take_step(l, e))
        return false;
    if (holds_something(l)) {
        if (l->now_ns >= h->renew_at_ns && !database_renew(l, e))
            return false;
        leased_wake_at(l, h->renew_at_ns);
    }
    if (l->now_ns >= h->check_at_ns) {
        h->check_at_ns = l->now_ns + l->config->healthcheck_interval_ms * NS_PER_MS;
        if (!database_renew(l, e))
            return false;
    }
    leased_wake_at(l, h->check_at_ns);
    return send_others(l, e);
}
