#include "metrics/look.h"

#include <math.h>

#include "base/log.h"
#include "queue_sql.h"

#define PATIENCE_NS NS_PER_S      // how long a request for figures is kept waiting
#define ANSWER_NS (2 * NS_PER_S)  // the deadline of our own requests
#define RETRY_NS (10 * NS_PER_S)  // the pause after a failure
#define UNUSED_NS (60 * NS_PER_S) // without requests for figures the session is closed after this
#define OLD_NS (60 * NS_PER_S)    // older figures are not shown
#define COUNT_MOST "200000"       // most tokens, and most deliveries, that are counted

enum tag { TAG_QUIET, TAG_WAITING, TAG_BUDGET };

static const struct session_params none = {0};

void look_init(struct look *l)
{
    *l = (struct look){.seen_ns = CLOCK_NEVER, .counted_ns = CLOCK_NEVER};
}

void look_close(struct look *l)
{
    session_close(&l->session);
    l->step = LOOK_CLOSED;
}

// Logs that figures are missing, once in the life of the look.
static void log_missing(struct look *l, const struct err *e)
{
    if (!l->complained)
        log_line("METRICS", "some figures of MAILROOM_METRICS are missing: %s", e->text);
    l->complained = true;
}

static void fail_look(struct look *l, int64_t now_ns, const struct err *e)
{
    log_missing(l, e);
    l->retry_ns = now_ns + RETRY_NS;
    look_close(l);
}

// --- questions ------------------------------------------------------------------------

// Sends the settings of the session: those of the collector, and stricter ones.
static bool set_up_look(struct look *l, int64_t now_ns, struct err *e)
{
    static const char stricter[] = "SELECT set_config('statement_timeout', '1s', false), "
                                   "set_config('default_transaction_read_only', 'on', false), "
                                   "set_config('application_name', 'mailroom metrics', false)";

    return session_query(&l->session, TAG_QUIET, queue_sql_settings, none, now_ns + ANSWER_NS, e) &&
           session_query(&l->session, TAG_QUIET, stricter, none, now_ns + ANSWER_NS, e);
}

// Asks how much waits and, with a budget, what is left of it.
static bool ask_backlog(struct look *l, const struct config *c, int64_t now_ns, struct err *e)
{
    static const char budget[] =
        "SELECT left_, extract(epoch FROM clock_timestamp() - at), "
        "CASE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > day THEN 0 ELSE today END "
        "FROM budgets WHERE queue::text = $1";

    l->step = LOOK_ASKED;
    return session_query(&l->session, TAG_WAITING, queue_sql_waiting,
               SESSION_PARAMS(c->queue_name, COUNT_MOST), now_ns + ANSWER_NS, e) &&
           (!c->budget.rate || session_query(&l->session, TAG_BUDGET, budget,
                                   SESSION_PARAMS(c->queue_name), now_ns + ANSWER_NS, e));
}

// --- answers --------------------------------------------------------------------------

// Returns the number in this column of the only row; NAN: there is none.
static double number_at(const PGresult *r, int column)
{
    return PQntuples(r) == 1 && !PQgetisnull(r, 0, column) ? strtod(PQgetvalue(r, 0, column), NULL)
                                                           : NAN;
}

// Notes how much waits. The columns of the answer are those of sql/waiting.sql.
static void on_waiting(struct meters *m, const PGresult *r)
{
    static const enum meter_id columns[] = {METER_BACKLOG_SCHEDULED, METER_BACKLOG_LEASED,
        METER_BACKLOG_RETRY, METER_OLDEST_TOKEN, METER_OLDEST_LEASE};

    for (int i = 0; i < (int)(sizeof columns / sizeof *columns); i++)
        m->of[columns[i]] = number_at(r, i);
}

// Notes the budget. The columns are what was left of it, how many seconds ago that was, and how
// many tokens were sent today. No row: nobody has spent anything yet.
static void on_budget(struct meters *m, const struct config *c, const PGresult *r)
{
    bool fresh = PQntuples(r) == 0;
    double left =
        fresh ? (double)c->budget.burst : number_at(r, 0) + number_at(r, 1) * c->budget.per_s;
    double today = fresh ? 0 : number_at(r, 2);

    m->of[METER_BUDGET_LEFT] = fmax(0, floor(fmin(left, (double)c->budget.burst)));
    if (c->budget.daily > 0)
        m->of[METER_BUDGET_TODAY] = fmax(0, (double)c->budget.daily - today);
}

// Forgets the figures of a question that was refused or cancelled; the other question may still be
// answered. Returns true.
static bool forget_refused(struct look *l, struct meters *m, int tag, struct err *e)
{
    log_missing(l, e);
    if (tag == TAG_WAITING)
        meters_forget(m, METER_BACKLOG_SCHEDULED, METER_OLDEST_LEASE);
    else if (tag == TAG_BUDGET)
        meters_forget(m, METER_BUDGET_LEFT, METER_BUDGET_TODAY);
    err_clear(e);
    return true;
}

// Notes the figures of all answers that have come. False: the session is lost.
static bool take_backlog(
    struct look *l, const struct config *c, int64_t now_ns, struct meters *m, struct err *e)
{
    struct session_reply reply;
    bool ok = true;

    while (ok && session_take(&l->session, &reply)) {
        ok = session_check(reply.result, e);
        if (ok && reply.tag == TAG_WAITING) {
            on_waiting(m, reply.result);
            l->counted_ns = now_ns;
        } else if (ok && reply.tag == TAG_BUDGET) {
            on_budget(m, c, reply.result);
        } else if (!ok && e->kind == ERR_SQL) {
            ok = forget_refused(l, m, reply.tag, e);
        }
        PQclear(reply.result);
    }
    return ok;
}

// Goes on with the session of the look: connects, asks, and notes the figures that have come.
static bool serve_look(
    struct look *l, const struct config *c, int64_t now_ns, struct meters *m, struct err *e)
{
    if (!session_pump(&l->session, now_ns, e))
        return false;
    if (l->step == LOOK_CONNECTING && l->session.up &&
        (!set_up_look(l, now_ns, e) || !ask_backlog(l, c, now_ns, e)))
        return false;
    if (!take_backlog(l, c, now_ns, m, e))
        return false;
    if (l->step == LOOK_ASKED && l->session.count == 0) {
        l->step = LOOK_IDLE;
        l->seen_ns = now_ns;
    }
    return true;
}

// --- steps ----------------------------------------------------------------------------

static bool is_due(const struct look *l, int64_t now_ns)
{
    return (l->step == LOOK_CLOSED || l->step == LOOK_IDLE) && now_ns >= l->retry_ns &&
           (l->seen_ns == CLOCK_NEVER || now_ns - l->seen_ns >= LOOK_EVERY_NS);
}

// Asks for the figures; where there is no session yet, only begins to connect.
static bool begin_look(struct look *l, const struct config *c, int64_t now_ns, struct err *e)
{
    l->begun_ns = now_ns;
    if (l->step == LOOK_IDLE)
        return ask_backlog(l, c, now_ns, e);
    l->step = LOOK_CONNECTING;
    return session_open(&l->session, c->database_url, 0, now_ns, e);
}

// Notes how old the count of what waits is, and forgets figures that are too old to be shown.
static void show_age(const struct look *l, int64_t now_ns, struct meters *m)
{
    if (l->seen_ns == CLOCK_NEVER || now_ns - l->seen_ns > OLD_NS)
        meters_forget(m, METER_BACKLOG_SCHEDULED, METER_BUDGET_TODAY);
    m->of[METER_LOOK_AGE] =
        l->counted_ns != CLOCK_NEVER ? (double)(now_ns - l->counted_ns) / 1e9 : NAN;
}

bool look_step(struct look *l, const struct config *config, bool up, bool wanted, int64_t now_ns,
    struct meters *m)
{
    struct err e;

    err_clear(&e);
    if (wanted)
        l->wanted_ns = now_ns;
    if (l->step != LOOK_CLOSED && (!up || now_ns - l->wanted_ns >= UNUSED_NS))
        look_close(l);
    if (l->step != LOOK_CLOSED && !serve_look(l, config, now_ns, m, &e))
        fail_look(l, now_ns, &e);
    if (up && wanted && is_due(l, now_ns) && !begin_look(l, config, now_ns, &e))
        fail_look(l, now_ns, &e);
    show_age(l, now_ns, m);
    return (l->step == LOOK_CONNECTING || l->step == LOOK_ASKED) &&
           now_ns - l->begun_ns < PATIENCE_NS;
}

int64_t look_wake_ns(const struct look *l, int64_t now_ns)
{
    if (l->step == LOOK_CLOSED)
        return CLOCK_NEVER;
    int64_t at_ns = clock_min(session_deadline_ns(&l->session), l->wanted_ns + UNUSED_NS);
    // At begun_ns + PATIENCE_NS a scrape that still waits for this answer is served without it.
    bool awaited = l->step != LOOK_IDLE && now_ns < l->begun_ns + PATIENCE_NS;
    return awaited ? clock_min(at_ns, l->begun_ns + PATIENCE_NS) : at_ns;
}
