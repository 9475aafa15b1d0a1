// One place waits for events: poll. One place assigns the state: `step_states`, but for
// `lose_session`, which leads from every state to back off. What happens while a round runs is
// dealt with in the next round. So each round deals with events in one order: signals, the answers
// of the session, the reader, and then the steps.
//
// A step sends again what may succeed in the same session (work_may_retry), and starts a child
// again that has ended. All other errors travel up to `handle_error`, where the kind alone decides:
// an error of the connection or of SQL costs the session, and any other error ends the collector.
#include "loop/collector.h"

#include <poll.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/program.h"
#include "loop/collect.h"
#include "loop/bell_requests.h"
#include "loop/work.h"
#include "process/random.h"

#define STOP_NS (900 * NS_PER_MS) // from TERM until we give up; the end is promised in a second

// --- from no session to one that is set up -------------------------------------------

// Begins to connect once the pause after the last loss is over.
static bool back_off_step(struct collector *c, enum state *next, struct err *e)
{
    if (c->now_ns < c->link.retry_at_ns) {
        work_wake_at(c, c->link.retry_at_ns);
        return true;
    }
    queue_new_session(&c->queue);
    window_restart(&c->window, c->now_ns);
    *next = CONNECT;
    return link_open(&c->link, c->config->database_url, c->now_ns, e);
}

// Waits until the session is connected, and then asks which backend serves it; send_setup needs
// that to find out whether there is a pooler.
static bool connect_step(struct collector *c, enum state *next, struct err *e)
{
    if (!c->link.session.up)
        return true;
    *next = SET_UP;
    return queue_send_self(&c->link.session, work_deadline_ns(c), e);
}

// Sends the requests of the set-up, once it is known that no pooler lends the session to others.
static bool send_setup(struct collector *c, struct err *e)
{
    struct link *l = &c->link;

    if (!link_check_pooler(l, c->config->database_url, c->queue.backend.pid, c->now_ns, e))
        return false;
    if (!l->pooler_checked) {
        work_wake_at(c, l->pooler.deadline_ns);
        return true;
    }
    return queue_send_setup(&c->queue, &l->session, work_deadline_ns(c), e);
}

// Waits for all answers: first the one that tells which backend serves us, for which connect_step
// has asked, and later those to the set-up. In between, send_setup looks for a pooler, and sends
// the set-up once it is known that there is none.
static bool set_up_step(struct collector *c, enum state *next, struct err *e)
{
    if (c->link.session.count > 0)
        return true;
    if (!c->link.pooler_checked)
        return send_setup(c, e);
    c->queue.set_up = true;
    log_line("PG", "connected");
    *next = STAND_BY;
    return true;
}

// --- the loop -------------------------------------------------------------------------

static void end_collector(struct collector *c, int exit)
{
    c->ending.step = ENDED;
    c->ending.exit = exit;
}

static bool (*const steps[STATES])(struct collector *c, enum state *next, struct err *e) = {
    [BACK_OFF] = back_off_step,
    [CONNECT] = connect_step,
    [SET_UP] = set_up_step,
    [STAND_BY] = turn_stand_by,
    [SERVE] = collect_serve,
};

// Asserts what must hold before each step.
static void validate_collector(const struct collector *c)
{
    assert(c->state < STATES);
    assert((c->link.session.conn != NULL) == (c->state != BACK_OFF));
    assert(c->turn.step != TURN_OURS || c->state >= STAND_BY);
    assert(c->turn.step == TURN_OURS || c->state <= STAND_BY);
    assert(output_idle(&c->sender.output) || c->sender.writing);
    lines_validate(&c->lines);
}

// Gives up the session: forgets what belonged to it, and plans the next attempt to connect.
static void lose_session(struct collector *c, const struct err *why)
{
    link_lose(&c->link, &c->metrics->meters, c->now_ns, why);
    c->announce_changed = false; // the set-up of the next session asks the same question
    c->bell = (struct bell){.step = BELL_LET_GO};
    turn_reset(c);
    collect_lose(c);
    link_plan_retry(&c->link, c->now_ns);
    c->state = BACK_OFF;
}

// An error leads to a new session, or ends the loop.
static void handle_error(struct collector *c, const struct err *e)
{
    if (e->kind == ERR_CONNECTION || e->kind == ERR_SQL) {
        lose_session(c, e);
        return;
    }
    log_line("MAIN", "%s", e->text);
    // Where lines are answered, the unanswered ones are given back first. If another error comes
    // meanwhile, the collector ends at once, and other collectors free these lines. After an
    // error at the start there may be no lines yet.
    if (c->queue.policy->answers && c->lines.all && c->ending.step < RETURNING) {
        c->ending.step = RETURNING;
        c->ending.exit = program_exit_code(e->kind);
        return;
    }
    end_collector(c, program_exit_code(e->kind));
}

// Hands an answer to the function that deals with it. False: an error, which may cost the session.
static bool dispatch_answer(struct collector *c, struct session_reply reply, struct err *e)
{
    bool ok = true;

    // take_on_answer frees this result, unless the lines keep it.
    if (reply.tag == QUEUE_TAKE)
        return take_on_answer(c, reply.result, e);
    switch (reply.tag) {
    case QUEUE_SCHEMA:
        ok = queue_decode_schema(reply.result, e);
        break;
    case QUEUE_SELF:
        ok = queue_decode_self(&c->queue, reply.result, e);
        break;
    case QUEUE_JOIN:
        ok = peers_on_join(c, reply.result, e);
        break;
    case QUEUE_PEERS:
        ok = peers_on_peers(c, reply.result, e);
        break;
    case QUEUE_SETTLED:
        ok = settle_on_settled(c, reply.result, e);
        break;
    case QUEUE_ANSWERED:
        ok = settle_on_answered(c, reply.result, e);
        break;
    case QUEUE_IN_DOUBT:
        ok = in_doubt_on_answer(c, reply.result, e);
        break;
    case QUEUE_BELL:
        ok = bell_request_on_bell(c, reply.result, e);
        break;
    case QUEUE_SILENT:
        ok = bell_request_on_silent(c, reply.result, e);
        break;
    case QUEUE_CHECK:
        ok = queue_decode_check(&c->queue, reply.result, e);
        break;
    default: // QUEUE_QUIET
        ok = session_check(reply.result, e);
    }
    PQclear(reply.result);
    return ok;
}

// Asks how tokens are announced from now on, if mailroom_announce was called. Anybody can send the
// notification of mailroom_announce, and many times, so no question is asked while another one
// waits for its answer.
static bool ask_how_announced(struct collector *c, struct err *e)
{
    struct session *s = &c->link.session;

    if (!c->announce_changed || session_awaits(s, QUEUE_CHECK))
        return true;
    c->announce_changed = false;
    return queue_send_check(&c->queue, s, work_deadline_ns(c), e);
}

// Goes on with the session: sends, receives, and deals with each answer and each notification.
static bool serve_session(struct collector *c, struct err *e)
{
    struct session *s = &c->link.session;
    struct session_reply reply;
    PGnotify *n;

    if (!session_pump(s, c->now_ns, e))
        return false;
    while (session_take(s, &reply))
        if (!dispatch_answer(c, reply, e))
            return false;
    while ((n = session_notification(s))) {
        // The payload is the id of a new token, or comes from mailroom_announce: "announce ", and
        // how tokens are announced from now on. Anybody may notify, so a payload is only a hint: a
        // read shows what is there. If the payload is no number, strtoll makes it 0, which stands
        // for an unknown token.
        if (strncmp(n->extra, "announce ", strlen("announce ")) == 0)
            c->announce_changed = true;
        window_announce(&c->window, strtoll(n->extra, NULL, 10), c->now_ns);
        PQfreemem(n);
    }
    return ask_how_announced(c, e);
}

// Begins to stop if TERM or INT has come, unless the end has begun already.
static void serve_signals(struct collector *c)
{
    char byte;
    struct pollfd p = {.fd = c->signal_fd, .events = POLLIN};

    if (c->ending.step != RUNNING || poll(&p, 1, 0) <= 0 || read(c->signal_fd, &byte, 1) != 1)
        return;
    int out = lines_in(&c->lines, LINE_OUT);
    if (c->queue.policy->answers)
        log_line(
            "MAIN", "stopping; %d %s without an answer", out, NOUN(out, "line is", "lines are"));
    else
        log_line("MAIN", "stopping while %s", state_doing(c->state));
    child_ask_to_end(&c->sender.child);
    c->ending.step = STOPPING;
    c->ending.at_ns = c->now_ns + STOP_NS;
}

// True when a token is in doubt, or a line is written and the database does not know it yet.
static bool unconfirmed(const struct collector *c)
{
    return c->doubt.n > 0 || settle_pending(c);
}

// Goes on with the end, if it has begun. At the deadline it ends the collector even if something is
// not done.
static bool stop_if_due(struct collector *c, struct err *e)
{
    bool done;

    if (c->ending.step == RUNNING || c->ending.step == ENDED)
        return true;
    if (!collect_end(c, &done, e))
        return false;
    work_wake_at(c, c->ending.at_ns);
    size_t left = outbox_left(&c->settle.outbox);
    if (done && left > 0)
        log_line("MAIN", "no time is left to record what became of %zu %s", left,
            NOUN(left, "token", "tokens"));
    // If an error ends us, the exit code is that of the error, even if tokens were given back.
    if (done) {
        end_collector(c, c->ending.exit != EX_OK          ? c->ending.exit
                         : c->ending.returned || left > 0 ? EX_TEMPFAIL
                                                          : EX_OK);
    } else if (c->now_ns >= c->ending.at_ns) {
        log_line("MAIN", "no time is left for %s; the last line is not confirmed",
            state_doing(c->state));
        end_collector(c, EX_TEMPFAIL);
    }
    return true;
}

// Polls all descriptors until one is ready or the next round is due.
static void wait_for_something(struct collector *c)
{
    enum { OWN = 5 }; // how many descriptors come before those of the metrics
    struct pollfd fds[OWN + METRICS_FDS] = {
        {.fd = c->ending.step == RUNNING ? c->signal_fd : -1, .events = POLLIN},
        {.fd = session_fd(&c->link.session), .events = session_events(&c->link.session)},
        collect_poll_output(c),
        {.fd = c->sender.in, .events = POLLIN},
        {.fd = session_fd(&c->link.pooler.probe), .events = session_events(&c->link.pooler.probe)},
    };

    metrics_poll(c->metrics, fds + OWN);
    work_wake_at(c, session_deadline_ns(&c->link.session));
    poll(fds, sizeof fds / sizeof fds[0], clock_poll_ms(clock_boot_ns(), c->wake_ns));
}

// Calls the step of the state until the state stays the same. The state is assigned here, and in
// lose_session.
static bool step_states(struct collector *c, struct err *e)
{
    enum state before;

    do {
        before = c->state;
        validate_collector(c);
        // This comes before each step, and not once a round, because the step of a new state must
        // not begin new work in a collector that ends.
        if (!stop_if_due(c, e))
            return false;
        if (c->ending.step == ENDED)
            return true;
        enum state next = c->state;
        if (!steps[c->state](c, &next, e))
            return false;
        assert(state_leads(before, next));
        c->state = next;
    } while (c->state != before);
    return true;
}

// Shows the metrics. This comes last in a round, so that it never delays mail.
static void serve_metrics(struct collector *c)
{
    bool up = c->link.session.conn && c->state >= STAND_BY;

    collect_count(c);
    c->metrics->meters.of[METER_COLLECTING] = up && c->turn.step == TURN_OURS;
    work_wake_at(c, metrics_serve(c->metrics, up, c->now_ns));
}

// One round of the loop: deals with everything that is ready, then steps. False: an error.
static bool serve_round(struct collector *c, struct err *e)
{
    c->now_ns = clock_boot_ns();
    c->wake_ns = CLOCK_NEVER;
    serve_signals(c);
    // If the reader goes away while a line waits for its confirmation, the collector first deals
    // with the confirmation, and ends afterwards. Where the reader answers, the end of its answers
    // shows that it is gone (sender.c).
    if (!unconfirmed(c) && !c->queue.policy->answers && !output_check(&c->sender.output, e))
        return false;
    if (!serve_session(c, e) || !collect_reader(c, e) || !step_states(c, e))
        return false;
    if (c->now_ns >= c->tally.log_at_ns)
        tally_log(&c->tally);
    work_wake_at(c, c->tally.log_at_ns);
    serve_metrics(c);
    return true;
}

// Makes what the loop needs before it connects. output_fd and `command` are those of collector_run.
static bool collector_init(struct collector *c, const struct config *config, int output_fd,
    char *const command[], struct err *e)
{
    uint64_t seed;
    int limit = (int)config->batch_limit;

    if (!queue_init(&c->queue, config, e) || !random_fill(&seed, sizeof seed, e))
        return false;
    backoff_init(&c->link.backoff, seed);
    tally_init(&c->tally);
    turn_reset(c);
    if (!window_init(&c->window, limit, config->batch_timeout_ms * NS_PER_MS, e))
        return false;
    pace_init(&c->window.pace, config->batch_least_ms * NS_PER_MS, c->window.timeout_ns, limit);
    return collect_init(c, output_fd, command, e);
}

static void collector_fini(struct collector *c)
{
    link_close(&c->link);
    doubt_clear(&c->doubt);
    window_fini(&c->window);
    collect_fini(c);
}

int collector_run(const struct config *config, int signal_fd, int output_fd, char *const command[],
    struct metrics *metrics)
{
    struct collector c = {
        .config = config, .metrics = metrics, .signal_fd = signal_fd, .state = BACK_OFF};
    struct err e;

    err_clear(&e);
    if (!collector_init(&c, config, output_fd, command, &e))
        // An error at the start is handled like all others: it is logged and sets the exit code.
        handle_error(&c, &e);
    while (c.ending.step != ENDED) {
        bool served = serve_round(&c, &e);
        if (!served)
            handle_error(&c, &e);
        else if (c.ending.step != ENDED)
            wait_for_something(&c);
    }
    tally_log(&c.tally);
    turn_leave(&c);
    log_line("MAIN", "stopped");
    collector_fini(&c);
    return c.ending.exit;
}
