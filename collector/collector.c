#include "collector.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "base/log.h"
#include "states.h"

#define STOP_NS (900 * NS_PER_MS) // from TERM to the end, whatever is not done

enum collector_exit collector_exit_of(enum err_kind kind)
{
    switch (kind) {
    case ERR_NONE:
        return COLLECTOR_OK;
    case ERR_USAGE:
    case ERR_SCHEMA:
        return COLLECTOR_CONFIG;
    case ERR_OUTPUT:
        return COLLECTOR_OUTPUT;
    default:
        return COLLECTOR_INTERNAL;
    }
}

static void finish(struct collector *c, enum collector_exit exit)
{
    c->done = true;
    c->exit = exit;
}

// What an error means for the loop: a statement's second try, a new session,
// or the end.
static void handle(struct collector *c, const struct err *e)
{
    if (e->kind == ERR_CONNECTION || e->kind == ERR_SQL) {
        connect_lose(c, e);
        return;
    }
    log_line("MAIN", "%s", e->text);
    finish(c, collector_exit_of(e->kind));
}

static const struct {
    const char *name;
    bool (*step)(struct collector *c, struct err *e);
} states[STATES] = {
    [BACK_OFF] = {"waiting to reconnect", connect_step_back_off},
    [CONNECT] = {"connecting", connect_step},
    [LISTEN] = {"setting up a session", connect_step_listen},
    [STAND_BY] = {"standing by", connect_step_stand_by},
    [WAIT] = {"waiting for tokens", fetch_step_wait},
    [FETCH] = {"reading a batch", fetch_step},
    [WRITE] = {"writing a line", deliver_step_write},
    [ADVANCE] = {"moving the cursor", deliver_step_advance},
};

static bool dispatch(struct collector *c, struct session_reply reply, struct err *e)
{
    bool ok = true;

    // The batch keeps the result of a read.
    if (reply.tag == QUEUE_READ)
        return fetch_on_read(c, reply.result, e);
    switch (reply.tag) {
    case QUEUE_SCHEMA:
        ok = queue_decode_schema(reply.result, e);
        break;
    case QUEUE_SELF:
        ok = queue_decode_self(&c->queue, reply.result, e);
        break;
    case QUEUE_HORIZON:
        fetch_on_horizon(c, reply.result);
        break;
    case QUEUE_LOCK:
        ok = connect_on_lock(c, reply.result, e);
        break;
    case QUEUE_SWITCH:
        ok = connect_on_switch(c, reply.result, e);
        break;
    case QUEUE_RESTAMP:
        ok = connect_on_restamp(c, reply.result, e);
        break;
    case QUEUE_CONFIRM:
        ok = connect_on_confirm(c, reply.result, e);
        break;
    case QUEUE_ORPHANS:
        fetch_on_orphans(c, reply.result);
        break;
    case QUEUE_CLAIM:
        ok = connect_on_claim(c, reply.result, e);
        break;
    case QUEUE_ADVANCE:
        ok = deliver_on_advance(c, reply.result, e);
        break;
    case QUEUE_CHECK:
        ok = queue_decode_check(reply.result, e);
        break;
    default:
        ok = session_check(reply.result, e);
    }
    PQclear(reply.result);
    return ok;
}

static bool serve_session(struct collector *c, struct err *e)
{
    struct session_reply reply;
    PGnotify *n;

    if (!session_pump(&c->session, c->now_ns, e))
        return false;
    while (session_take(&c->session, &reply))
        if (!dispatch(c, reply, e))
            return false;
    while ((n = session_notification(&c->session))) {
        window_announce(&c->window, strtoll(n->extra, NULL, 10), c->now_ns);
        PQfreemem(n);
    }
    return true;
}

static void serve_signals(struct collector *c)
{
    char byte;
    struct pollfd p = {.fd = c->signal_fd, .events = POLLIN};

    if (c->stopping || poll(&p, 1, 0) <= 0 || read(c->signal_fd, &byte, 1) != 1)
        return;
    log_line("MAIN", "stopping while %s", states[c->state].name);
    c->stopping = true;
    c->stop_ns = c->now_ns + STOP_NS;
}

// What must not be left behind: a line that was begun, and the confirmation of
// one that was written.
static bool owes(const struct collector *c)
{
    return c->unconfirmed || (c->state == WRITE && c->output.done > 0);
}

static void stop_if_due(struct collector *c)
{
    if (!c->stopping || c->done)
        return;
    state_wake_at(c, c->stop_ns);
    if (!owes(c)) {
        finish(c, COLLECTOR_OK);
    } else if (c->now_ns >= c->stop_ns) {
        log_line("MAIN", "no time is left for %s; the last line is not confirmed",
            states[c->state].name);
        finish(c, COLLECTOR_UNCONFIRMED);
    }
}

static void wait_for_something(struct collector *c)
{
    bool watch = c->state == WRITE || !c->unconfirmed;
    struct pollfd fds[] = {
        {.fd = c->stopping ? -1 : c->signal_fd, .events = POLLIN},
        {.fd = session_fd(&c->session), .events = session_events(&c->session)},
        {.fd = watch ? c->output.fd : -1, .events = output_events(&c->output)},
        {.fd = session_fd(&c->pooler.probe), .events = session_events(&c->pooler.probe)},
    };

    state_wake_at(c, session_deadline_ns(&c->session));
    poll(fds, sizeof fds / sizeof fds[0], clock_poll_ms(clock_now_ns(), c->wake_ns));
}

// One round: serve whoever wants something, then step until nothing changes.
static bool serve(struct collector *c, struct err *e)
{
    enum state before;

    c->now_ns = clock_now_ns();
    c->wake_ns = CLOCK_NEVER;
    serve_signals(c);
    // A reader that goes while a line waits for its confirmation comes second.
    if (!c->unconfirmed && !output_check(&c->output, e))
        return false;
    if (!serve_session(c, e))
        return false;
    do {
        before = c->state;
        stop_if_due(c);
        if (!c->done && !states[c->state].step(c, e))
            return false;
    } while (c->state != before);
    if (c->now_ns >= c->passed_log_ns)
        deliver_log_passed(c);
    state_wake_at(c, c->passed_log_ns);
    return true;
}

static bool collector_init(
    struct collector *c, const struct config *config, int signal_fd, int output_fd, struct err *e)
{
    uint64_t seed = 0;
    int limit = (int)config->batch_limit;

    *c = (struct collector){.config = config, .signal_fd = signal_fd, .passed_log_ns = CLOCK_NEVER};
    RAND_bytes((unsigned char *)&seed, sizeof seed);
    backoff_init(&c->backoff, seed);
    queue_init(&c->queue, config->queue_name, config->channel_name, config_shared(config), limit);
    // 254 characters of up to four bytes twice, the text, the code, and commas.
    buf_init(&c->line, (size_t)limit * (2 * 4 * 254 + SIGN_TEXT_LEN + 16) + 1);
    c->state = BACK_OFF;
    return batch_init(&c->next, limit, c->queue.rows_max, e) &&
           batch_init(&c->written, limit, c->queue.rows_max, e) &&
           window_init(&c->window, limit, config->batch_timeout_ms * NS_PER_MS, e) &&
           sign_init(&c->sign, config->key, e) && output_init(&c->output, output_fd, e);
}

static void collector_fini(struct collector *c)
{
    session_close(&c->session);
    pooler_close(&c->pooler);
    fetch_forget(c);
    batch_fini(&c->next);
    batch_fini(&c->written);
    window_fini(&c->window);
    sign_fini(&c->sign);
    buf_fini(&c->line);
}

enum collector_exit collector_run(const struct config *config, int signal_fd, int output_fd)
{
    struct collector c;
    struct err e;

    err_clear(&e);
    if (!collector_init(&c, config, signal_fd, output_fd, &e))
        handle(&c, &e);
    while (!c.done) {
        bool served = serve(&c, &e);
        if (!served)
            handle(&c, &e);
        if (served && !c.done)
            wait_for_something(&c);
    }
    deliver_log_passed(&c);
    connect_leave(&c);
    log_line("MAIN", "stopped");
    collector_fini(&c);
    return c.exit;
}
