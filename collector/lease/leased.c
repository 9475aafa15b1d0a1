#include "lease/leased.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "lease/state.h"
#include "random.h"

#define STOP_NS (800 * NS_PER_MS)  // how long answers are awaited after TERM
#define LEAVE_NS (150 * NS_PER_MS) // after that, how long the database has to record what remains

static void begin_stop(struct leased *l, enum stop stop, enum collector_exit exit)
{
    struct ending *end = &l->ending;

    if (end->step >= stop)
        return;
    if (end->step == STOP_NOT)
        end->at_ns = l->now_ns + STOP_NS;
    end->step = stop;
    if (exit != COLLECTOR_OK)
        end->exit = exit;
}

// Deals with an error, which ends the session or the collector. If it keeps us from giving back the
// unanswered tokens, the collector ends at once, and other collectors free these tokens.
static void handle(struct leased *l, const struct err *e)
{
    if (e->kind == ERR_CONNECTION || e->kind == ERR_SQL) {
        join_lose(l, e);
        return;
    }
    log_line("MAIN", "%s", e->text);
    begin_stop(l, l->ending.step < STOP_RETURNING ? STOP_RETURNING : STOP_DONE,
        collector_exit_of(e->kind));
}

static void serve_signals(struct leased *l)
{
    char byte;
    struct pollfd p = {.fd = l->signal_fd, .events = POLLIN};

    if (l->ending.step != STOP_NOT || poll(&p, 1, 0) <= 0 || read(l->signal_fd, &byte, 1) != 1)
        return;
    log_line("MAIN", "stopping; %d lines are without an answer", flight_in(&l->flight, FLIGHT_OUT));
    begin_stop(l, STOP_WAITING, COLLECTOR_OK);
    child_ask(&l->sender.child);
}

// Gives back the unanswered tokens once no answer is awaited any more. It ends our child first, so
// that no other collector gets a token that the child might still send.
static bool return_all(struct leased *l, struct err *e)
{
    if (l->sender.child.pid > 0 && !sender_lost(l, e))
        return false;
    if (!sender_return_all(l, "the collector stopped", e))
        return false;
    l->sender.in = -1;
    l->sender.writing = NULL;
    l->sender.state = SENDER_ENDED;
    l->ending.step = STOP_LEAVING;
    l->ending.at_ns = l->now_ns + LEAVE_NS;
    return true;
}

static bool step_stop(struct leased *l, struct err *e)
{
    struct ending *end = &l->ending;
    int out = flight_in(&l->flight, FLIGHT_OUT);

    if (end->step == STOP_WAITING) {
        if (!sender_return_ready(l, "the collector stopped", e))
            return false;
        leased_wake_at(l, end->at_ns);
        if (out == 0 || l->now_ns >= end->at_ns || l->sender.state == SENDER_ENDED)
            end->step = STOP_RETURNING;
    }
    if (end->step == STOP_RETURNING && !return_all(l, e))
        return false;
    if (end->step != STOP_LEAVING)
        return true;
    leased_wake_at(l, end->at_ns);
    if (l->now_ns >= end->at_ns) {
        end->step = STOP_DONE;
        return true;
    }
    return l->join.state != JOIN_DONE || outbox_left(&l->outbox) > 0 || database_leave(l, e);
}

static void wait_for_something(struct leased *l)
{
    struct pollfd fds[] = {
        {.fd = l->ending.step == STOP_NOT ? l->signal_fd : -1, .events = POLLIN},
        {.fd = session_fd(&l->link.session), .events = session_events(&l->link.session)},
        {.fd = session_fd(&l->link.pooler.probe), .events = session_events(&l->link.pooler.probe)},
        {.fd = l->sender.in, .events = POLLIN},
        {.fd = l->sender.writing ? l->sender.output.fd : -1, .events = POLLOUT},
        [5 + METRICS_FDS - 1] = {.fd = -1},
    };

    metrics_poll(l->metrics, fds + 5);
    leased_wake_at(l, session_deadline_ns(&l->link.session));
    poll(fds, sizeof fds / sizeof fds[0], clock_poll_ms(clock_boot_ns(), l->wake_ns));
}

// Scrapers are served last in a round, so that they never delay mail.
static void serve_metrics(struct leased *l)
{
    double *of = l->metrics->meters.of;
    int64_t oldest_ns = flight_oldest_ns(&l->flight);

    of[METER_COLLECTING] = l->join.state == JOIN_DONE && l->ending.step == STOP_NOT;
    of[METER_LINES_UNANSWERED] = flight_in(&l->flight, FLIGHT_OUT);
    of[METER_ANSWER_AWAITED] =
        oldest_ns == CLOCK_NEVER ? 0 : (double)(l->now_ns - oldest_ns) / (double)NS_PER_S;
    leased_wake_at(l, metrics_serve(l->metrics, l->join.state == JOIN_DONE, l->now_ns));
}

static bool serve(struct leased *l, struct err *e)
{
    l->now_ns = clock_boot_ns();
    l->wake_ns = CLOCK_NEVER;
    serve_signals(l);
    if (!database_serve(l, e) || !sender_serve(l, e) || !sender_time_out(l, e) ||
        !step_stop(l, e) || !sender_step(l, e) || !database_step(l, e))
        return false;
    serve_metrics(l);
    return true;
}

// Initializes the members that own memory or are drawn at random.
static bool init(struct leased *l, struct err *e)
{
    const struct config *c = l->config;
    int limit = (int)c->batch_limit;
    uint64_t seeds[4];

    child_init(&l->sender.child);
    outbox_init(&l->outbox);
    buf_init(&l->sender.input, (size_t)2 << 20);
    if (!random_fill(seeds, sizeof seeds, e))
        return false;
    l->sender.retry = (struct retry){.base_ms = c->leased.retry_base_ms,
        .max_ms = c->leased.retry_max_ms,
        .attempts = (int)c->leased.attempts,
        .random = seeds[0]};
    backoff_init(&l->link.backoff, seeds[1]);
    backoff_init(&l->sender.backoff, seeds[2]);
    // Our number is never 0, because 0 means nobody.
    snprintf(l->owner, sizeof l->owner, "%" PRIu64, seeds[3] >> 1 | 1);
    if (!fill_init(&l->take.fill, limit, c->batch_timeout_ms * NS_PER_MS, e))
        return false;
    pace_init(&l->take.fill.pace, c->batch_least_ms * NS_PER_MS, l->take.fill.timeout_ns, limit);
    return flight_init(&l->flight, (int)c->leased.in_flight, limit, e) &&
           sign_init(&l->take.sign, c->key, e) &&
           (l->sender.command || output_init(&l->sender.output, STDOUT_FILENO, e));
}

static void fini(struct leased *l)
{
    char how[CHILD_HOW_LEN];

    child_end(&l->sender.child, how);
    link_close(&l->link);
    flight_fini(&l->flight);
    fill_fini(&l->take.fill);
    outbox_fini(&l->outbox);
    sign_fini(&l->take.sign);
    buf_fini(&l->sender.input);
}

enum collector_exit leased_run(
    const struct config *config, int signal_fd, char *const command[], struct metrics *metrics)
{
    struct leased l = {.config = config,
        .metrics = metrics,
        .signal_fd = signal_fd,
        .others.look_at_ns = CLOCK_NEVER,
        .sender = {.state = command ? SENDER_AWAY : SENDER_HERE,
            .command = command,
            .in = command ? -1 : STDIN_FILENO}};
    struct err e;

    err_clear(&e);
    if (!init(&l, &e)) {
        log_line("MAIN", "%s", e.text);
        l.ending.exit = collector_exit_of(e.kind);
        l.ending.step = STOP_DONE;
    }
    while (l.ending.step != STOP_DONE) {
        leased_validate(&l);
        bool served = serve(&l, &e);
        if (!served)
            handle(&l, &e);
        if (served && l.ending.step != STOP_DONE)
            wait_for_something(&l);
    }
    if (l.ending.exit == COLLECTOR_OK && (l.ending.returned || outbox_left(&l.outbox) > 0))
        l.ending.exit = COLLECTOR_UNCONFIRMED;
    log_line("MAIN", "stopped");
    fini(&l);
    return l.ending.exit;
}
