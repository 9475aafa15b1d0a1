#include "lease/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "lease_sql.h"
#include "queue.h"
#include "queue_sql.h"

#define LOCK_NOT_AVAILABLE "55P03"

static const struct session_params none = {0};

void join_lose(struct leased *l, const struct err *e)
{
    struct err ignored;

    link_lose(&l->link, &l->metrics->meters, l->now_ns, e);
    link_rest(&l->link, l->now_ns);
    l->join.state = JOIN_BACK_OFF;
    outbox_lost(&l->outbox);
    // Drops the lines that were not begun, because another collector may have them when we come
    // back.
    err_clear(&ignored);
    if (!sender_return_ready(l, "the session ended", &ignored))
        log_line("MAIN", "%s", ignored.text);
}

static bool send_listen(struct leased *l, struct err *e)
{
    leased_stamp(l, REQUEST_SETTINGS);
    return queue_send_listen(
        &l->link.session, REQUEST_SETTINGS, l->config->channel_name, leased_deadline_ns(l), e);
}

// Writes the rows of the deliveries that we know. The others of ours were leased by a request whose
// answer never came.
static bool known_rows(const struct leased *l, struct buf *out)
{
    buf_append_char(out, '{');
    for (int i = 0; i < l->flight.count; i++)
        if (l->flight.lines[i].state == FLIGHT_READY || l->flight.lines[i].state == FLIGHT_OUT)
            buf_printf(out, "%s%" PRId64, out->len > 1 ? "," : "", l->flight.lines[i].row);
    for (size_t i = l->outbox.first; i < l->outbox.count; i++)
        buf_printf(out, "%s%" PRId64, out->len > 1 ? "," : "", l->outbox.results[i].row);
    buf_append_char(out, '}');
    return buf_str(out) != NULL;
}

static bool send_join(struct leased *l, struct err *e)
{
    static const char patient[] = "SELECT set_config('statement_timeout', '0', false)";
    static const char usual[] = "SELECT set_config('statement_timeout', $1, false)";
    char ms[SESSION_NUMBER_LEN];
    char host[256] = "", settings[256];
    struct buf rows;
    const struct config *c = l->config;

    gethostname(host, sizeof host - 1);
    snprintf(settings, sizeof settings,
        "limit %" PRId64 ", timeout %s%" PRId64 " ms, in flight %" PRId64 ", attempts %" PRId64,
        c->batch_limit, c->batch_least_ms > 0 ? "up to " : "", c->batch_timeout_ms,
        c->leased.in_flight, c->leased.attempts);
    buf_init(&rows, (size_t)64 << 20);
    bool ok = known_rows(l, &rows) || err_memory(e);
    // A queue that was used in another mode is converted first, for as long as that takes.
    ok = ok && leased_ask(l, REQUEST_SETTINGS, patient, none, CLOCK_NEVER, e) &&
         leased_ask(l, REQUEST_JOIN, lease_sql_join,
             SESSION_PARAMS(c->queue_name, l->owner, rows.data, l->join.recorded ? NULL : host,
                 MAILROOM_VERSION, settings),
             CLOCK_NEVER, e) &&
         leased_ask(l, REQUEST_SETTINGS, usual,
             SESSION_PARAMS(session_number(ms, leased_patience_ms(l))), CLOCK_NEVER, e);
    buf_fini(&rows);
    return ok;
}

static bool prepare(struct leased *l, const char *name, const char *sql, struct err *e)
{
    leased_stamp(l, REQUEST_SETTINGS);
    return session_prepare(&l->link.session, REQUEST_SETTINGS, name, sql, leased_deadline_ns(l), e);
}

static bool send_setup(struct leased *l, struct err *e)
{
    // LISTEN comes before the first look, so that commits in between are announced.
    return leased_ask(l, REQUEST_SETTINGS, queue_sql_settings, none, leased_deadline_ns(l), e) &&
           leased_ask(l, REQUEST_SCHEMA, lease_sql_schema, none, leased_deadline_ns(l), e) &&
           send_listen(l, e) &&
           leased_ask(l, REQUEST_LANES, lease_sql_lanes, SESSION_PARAMS(l->config->queue_name),
               leased_deadline_ns(l), e) &&
           prepare(l, "lease", lease_sql_lease, e) && prepare(l, "answer", lease_sql_answer, e) &&
           send_join(l, e);
}

// Sends the set-up, once it is known that no pooler lends the session to others.
static bool greet(struct leased *l, struct err *e)
{
    if (!link_greet(&l->link, l->config->database_url, l->join.pid, l->now_ns, e))
        return false;
    if (!l->link.greeted) {
        leased_wake_at(l, l->link.pooler.deadline_ns);
        return true;
    }
    l->join.state = JOIN_ASK;
    return send_setup(l, e);
}

bool join_step(struct leased *l, struct err *e)
{
    switch (l->join.state) {
    case JOIN_BACK_OFF:
        if (l->now_ns < l->link.retry_at_ns) {
            leased_wake_at(l, l->link.retry_at_ns);
            return true;
        }
        l->join.state = JOIN_CONNECT;
        return link_open(&l->link, l->config->database_url, l->now_ns, e);
    case JOIN_CONNECT:
        if (!l->link.session.up)
            return true;
        l->join.state = JOIN_GREET;
        return leased_ask(l, REQUEST_SELF, queue_sql_self, none, leased_deadline_ns(l), e);
    case JOIN_GREET:
        return l->link.session.count > 0 || greet(l, e);
    default:
        return true; // the answer to the join is awaited
    }
}

static bool refuse_bell(struct err *e)
{
    return err_set(e, ERR_USAGE,
        "producers ring a bell, which leased mode does not hear yet; have each token announced "
        "with SELECT mailroom_announce('each')");
}

bool join_on_bell(const PGresult *r, struct err *e)
{
    return session_check_row(r, e) && (PQgetisnull(r, 0, 0) || refuse_bell(e));
}

bool join_on_join(struct leased *l, const PGresult *r, struct err *e)
{
    const struct config *c = l->config;

    if (!session_check_row(r, e))
        return false;
    if (PQgetisnull(r, 0, 0)) {
        l->join.state = JOIN_DONE;
        l->join.recorded = true;
        backoff_reset(&l->link.backoff);
        fill_restart(&l->take.fill, l->now_ns);
        watch_restart(&l->others.watch);
        l->others.look_at_ns = l->now_ns;
        l->heartbeat.renew_at_ns = l->heartbeat.check_at_ns = l->now_ns;
        due_restart(&l->take.due);
        l->heartbeat.slow = 0;
        log_line("QUEUE", "leasing from '%s' with others, as %s", c->queue_name, l->owner);
        return true;
    }
    const char *why = PQgetvalue(r, 0, 0);
    if (strcmp(why, "unknown") == 0)
        return queue_unknown(c->queue_name, e);
    if (strcmp(why, "bell") == 0)
        return refuse_bell(e);
    if (strcmp(why, "locked") == 0) {
        // This counts as a refusal, which calls for a longer pause than a session that was ended.
        err_set(e, ERR_SQL, "our last session has not ended yet");
        snprintf(e->sqlstate, sizeof e->sqlstate, LOCK_NOT_AVAILABLE);
        return false;
    }
    return err_set(e, ERR_USAGE,
        "MAILROOM_DEQUEUE is 'leased', but this queue is used with '%s'; stop all collectors and "
        "run mailroom-collector --switch-mode",
        why);
}

bool join_on_self(struct leased *l, const PGresult *r, struct err *e)
{
    if (PQntuples(r) != 1)
        return err_set(e, ERR_CONNECTION, "the server does not show us our own session");
    snprintf(l->join.pid, sizeof l->join.pid, "%s", PQgetvalue(r, 0, 0));
    return true;
}

bool join_on_lanes(const struct leased *l, const PGresult *r, struct err *e)
{
    return PQgetisnull(r, 0, 0) || queue_check_lanes(l->config->lanes, PQgetvalue(r, 0, 0), e);
}
