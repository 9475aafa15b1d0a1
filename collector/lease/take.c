#include "lease/state.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "column.h"
#include "line.h"
#include "queue.h"

#define OTHERS_NS NS_PER_S // the pause before a look at other collectors

enum { KIND, LINE, TOKEN, NUMBER, ERRORS, ACTION, ACCOUNT, EMAIL, LOGIN, SECRET, CODE, WAIT, DUE };

// Makes a token that the wire cannot carry a dead letter, with the reason.
static bool bury(
    struct leased *l, const PGresult *r, int row, bool last, const char *why, struct err *e)
{
    struct outbox_result result = {.row = column_int64(r, row, LINE),
        .token = column_int64(r, row, TOKEN),
        .number = column_int32(r, row, NUMBER),
        .kind = RESULT_DEAD,
        .last = last};

    leased_count(l, METER_TOKENS_DEAD_LETTER);
    snprintf(result.text, sizeof result.text, "%s", why);
    return outbox_add(&l->outbox, &result, e);
}

static bool add_token(
    struct leased *l, struct flight_line *line, const PGresult *r, int row, struct err *e)
{
    struct token t = {
        .id = column_int64(r, row, TOKEN),
        .action = (enum token_action)column_int32(r, row, ACTION),
        .email = column_field(r, row, EMAIL),
        .login = column_field(r, row, LOGIN),
        .secret = column_field(r, row, SECRET),
        .code = column_field(r, row, CODE),
    };
    const char *why = line_unsendable(&t);

    if (why)
        return bury(l, r, row, line->count == 0 && row == PQntuples(r) - 1, why, e);
    if (column_int32(r, row, NUMBER) > 1)
        leased_count(l, METER_RETRIES);
    line->alone = column_int64(r, row, WAIT) != 0;
    return line_add(&line->text, &l->take.sign, &t, e) &&
           flight_add(line,
               (struct flight_token){.id = t.id,
                   .number = column_int32(r, row, NUMBER),
                   .errors = column_int32(r, row, ERRORS)},
               e);
}

// On an error the line is given up whole: its row in the database is freed when we leave. Giving
// back the first tokens of a line would end that row, and lose the others.
static bool make_line(struct leased *l, const PGresult *r, struct err *e)
{
    struct flight_line *line = flight_new(&l->flight, column_int64(r, 1, LINE));
    bool ok = true;

    for (int row = 1; ok && row < PQntuples(r); row++)
        ok = add_token(l, line, r, row, e);
    if (ok && line->count == 0)
        line->state = FLIGHT_OVER;
    else if (!ok || !line_end(&line->text, e))
        flight_give_up(line);
    return line->state != FLIGHT_FREE;
}

static bool is_within(int64_t value, int64_t least, int64_t most)
{
    return least <= value && value <= most;
}

// True when all numbers are such as a server that works may give. Others would overflow in what is
// computed from them.
static bool makes_sense(const PGresult *r)
{
    const int64_t most = 1 << 24, most_ms = INT64_C(1) << 40;
    bool ok = true;

    for (int row = 0; ok && row < PQntuples(r); row++)
        ok = is_within(column_int32(r, row, NUMBER), 0, most) &&
             is_within(column_int32(r, row, ERRORS), 0, most) &&
             is_within(column_int64(r, row, WAIT), 0, most_ms) &&
             is_within(column_int64(r, row, DUE), -most_ms, most_ms);
    return ok;
}

bool take_on_lease(struct leased *l, const PGresult *r, struct err *e)
{
    struct take *t = &l->take;
    int taken = PQntuples(r) - 1;
    int64_t sent_ns = l->heartbeat.sent_ns[REQUEST_LEASE];

    if (!session_check_row(r, e))
        return false;
    if (!makes_sense(r))
        return err_set(e, ERR_INTERNAL, "the server's answer makes no sense");
    bool more = column_int32(r, 0, ERRORS) != 0;
    // Tokens that other collectors leave to be tried again, and those that a person gives to
    // mailroom_retry, are not announced.
    fill_due(&t->fill, l->now_ns + l->config->healthcheck_interval_ms * NS_PER_MS);
    l->others.look_at_ns = clock_min(l->others.look_at_ns, l->now_ns + OTHERS_NS);
    if (!PQgetisnull(r, 0, DUE))
        fill_due(&t->fill, l->now_ns + column_int64(r, 0, DUE) * NS_PER_MS);
    if (column_int64(r, 0, WAIT) > 0) {
        t->budget_ns = l->now_ns + column_int64(r, 0, WAIT) * NS_PER_MS;
        log_line(
            "QUEUE", "the budget is spent for the next %" PRId64 " ms", column_int64(r, 0, WAIT));
        fill_due(&t->fill, t->budget_ns);
        return true;
    }
    due_looked(&t->due, !more && (taken > 0 || column_int32(r, 0, NUMBER) == 0), sent_ns);
    if (taken == 0) {
        fill_left(&t->fill, column_int32(r, 0, NUMBER), l->now_ns);
        return true;
    }
    for (int row = 1; row <= taken; row++)
        fill_token(&t->fill, column_int64(r, row, TOKEN), l->now_ns);
    fill_took(&t->fill, more, l->now_ns);
    t->lines++;
    return make_line(l, r, e);
}

// True when a line can be written at once. A line that waited here would only be kept from other
// collectors.
static bool may_lease(struct leased *l)
{
    const struct take *t = &l->take;

    if (l->ending.step != STOP_NOT || l->sender.state != SENDER_HERE ||
        leased_awaits(l, REQUEST_LEASE) || l->sender.writing ||
        flight_in(&l->flight, FLIGHT_READY) > 0 ||
        flight_in(&l->flight, FLIGHT_OUT) >= (int)l->config->leased.in_flight ||
        flight_alone(&l->flight) || !output_ready(&l->sender.output))
        return false;
    int64_t at = fill_look_ns(&t->fill);
    if (l->now_ns < t->budget_ns)
        at = at > t->budget_ns ? at : t->budget_ns;
    leased_wake_at(l, at);
    return at <= l->now_ns;
}

static bool send_lease(struct leased *l, struct err *e)
{
    struct take *t = &l->take;
    char wanted[SESSION_NUMBER_LEN], fewest[SESSION_NUMBER_LEN], due[SESSION_NUMBER_LEN],
        daily[SESSION_NUMBER_LEN], ageing[SESSION_NUMBER_LEN], per_s[32], burst[32];
    const struct config *c = l->config;
    int64_t due_ms = due_since_ms(&t->due, l->now_ns);

    session_number(wanted, c->batch_limit);
    session_number(fewest, fill_fewest(&t->fill, l->now_ns));
    session_number(due, due_ms);
    session_number(daily, c->budget.daily);
    session_number(ageing, (c->ageing_ms + 999) / 1000);
    snprintf(per_s, sizeof per_s, "%.9g", c->budget.per_s);
    snprintf(burst, sizeof burst, "%" PRId64, c->budget.burst);
    fill_looking(&t->fill, l->now_ns);
    // A collector without a line does not renew, so that its lease may be over.
    if (l->now_ns >= l->heartbeat.renew_at_ns && !database_renew(l, e))
        return false;
    leased_stamp(l, REQUEST_LEASE);
    return session_execute_binary(&l->link.session, REQUEST_LEASE, "lease",
        SESSION_PARAMS(c->queue_name, l->owner, wanted, fewest, due_ms < 0 ? NULL : due, per_s,
            burst, daily, t->lines % QUEUE_AGED_TURN == QUEUE_AGED_TURN - 1 ? "t" : "f", ageing),
        leased_deadline_ns(l), e);
}

bool take_step(struct leased *l, struct err *e)
{
    return !may_lease(l) || send_lease(l, e);
}
