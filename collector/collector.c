#include "collector.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "line.h"
#include "output.h"
#include "queue.h"
#include "session.h"
#include "window.h"

#define ANSWER_NS (5 * NS_PER_S)       // a server that takes longer is as good as gone
#define STOP_NS (900 * NS_PER_MS)      // from TERM to the end, whatever is not done
#define STALE_NS (250 * NS_PER_MS)     // a batch not begun by then is read again
#define LOCK_POLL_NS (100 * NS_PER_MS) // how often a stand-by looks at the lock
#define HORIZON_MIN_NS (5 * NS_PER_MS) // a horizon is usually released in no time
#define HORIZON_MAX_NS (100 * NS_PER_MS)
#define RETRY_NS (50 * NS_PER_MS) // before a statement is tried again
#define TALLY_NS NS_PER_S         // between two lines of the log about what was passed
#define EXAMINE_GROWTH 64         // how far a read may look for a full batch

enum state { CONNECT, LISTEN, STAND_BY, WAIT, FETCH, WRITE, ADVANCE, BACK_OFF, STATES };

// Why the cursor is moved.
enum advance_reason {
    ADVANCE_PASSED,   // nothing of the batch could be sent
    ADVANCE_WRITTEN,  // its line is out
    ADVANCE_RECOVERED // its line was out before the session before this one ended
};

struct collector {
    const struct config *config;
    int signal_fd;
    int64_t now_ns;
    int64_t wake_ns; // when to step again if nothing happens
    enum state state;

    struct session session;
    struct queue queue;
    struct window window;
    struct output output;
    struct sign sign;
    struct backoff backoff;
    struct buf line;

    // The lock.
    bool owner;         // this process has held it
    bool locking;       // an answer is awaited
    bool standing_by;   // somebody else holds it
    int64_t free_ns;    // since when it is free; CLOCK_NEVER: it is not
    int64_t lock_at_ns; // when to look again
    bool claimed;

    // The batch being read.
    struct batch next;
    bool reading;    // an answer is awaited
    bool stale_read; // and is to be dropped
    bool ready;      // it is there
    int64_t ready_ns;
    bool at_once; // what waits after a connect is sent without waiting for more
    int wanted;
    int examine;

    // The batch whose line is written and whose passing is not confirmed.
    struct batch written;
    bool unconfirmed;

    // The move of the cursor.
    enum advance_reason reason;
    int advance_rows;
    bool advancing; // an answer is awaited
    bool advanced;

    int64_t retry_ns;
    int64_t horizon_ns; // interval of polling while the horizon is held; 0: it is not
    int64_t horizon_at_ns;
    bool complained; // the last session ended with something that a person has to mend

    struct passed tally;
    int64_t tally_dead;
    int64_t tally_at_ns;

    bool stopping;
    int64_t stop_ns;
    bool done;
    enum collector_exit exit;
};

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

static int64_t deadline(const struct collector *c)
{
    return c->now_ns + ANSWER_NS;
}

static void wake_at(struct collector *c, int64_t at_ns)
{
    c->wake_ns = clock_min(c->wake_ns, at_ns);
}

// --- losing and finding a session ---

static void forget_read(struct collector *c)
{
    c->reading = c->stale_read = c->ready = false;
    batch_clear(&c->next);
}

static void back_off(struct collector *c)
{
    forget_read(c);
    c->state = BACK_OFF;
    c->retry_ns = c->now_ns + backoff_next_ns(&c->backoff);
    log_line("PG", "reconnecting in %" PRId64 " ms", (c->retry_ns - c->now_ns) / NS_PER_MS);
}

static void lose(struct collector *c, const struct err *e)
{
    log_line("PG", "%s: %s", c->session.up ? "lost" : "cannot connect", e->text);
    session_close(&c->session);
    c->advancing = c->locking = c->claimed = false;
    // A line that was begun is finished first; then its batch is unconfirmed.
    if (c->state == WRITE && c->output.done > 0)
        return;
    output_cancel(&c->output);
    back_off(c);
}

// What an error means for the loop: a statement's second try, a new session,
// or the end.
static void handle(struct collector *c, const struct err *e)
{
    if (e->kind == ERR_CONNECTION) {
        lose(c, e);
        return;
    }
    if (e->kind == ERR_SQL) {
        c->complained = session_remedy(e->sqlstate) == REMEDY_COMPLAIN;
        log_line("PG", "the server refused (%s)%s", e->sqlstate,
            c->complained ? "; this needs somebody's attention" : "");
        lose(c, e);
        return;
    }
    log_line("MAIN", "%s", e->text);
    finish(c, collector_exit_of(e->kind));
}

static bool enter_connect(struct collector *c, struct err *e)
{
    queue_new_session(&c->queue);
    c->standing_by = false;
    c->free_ns = CLOCK_NEVER;
    return session_open(&c->session, c->config->database_url, c->now_ns, e);
}

static bool step_connect(struct collector *c, struct err *e)
{
    if (!c->session.up)
        return true;
    c->state = LISTEN;
    return queue_send_setup(&c->queue, &c->session, deadline(c), e);
}

static bool step_listen(struct collector *c, struct err *e)
{
    (void)e;
    if (c->session.count > 0)
        return true;
    log_line("PG", "connected");
    c->lock_at_ns = c->now_ns;
    c->state = STAND_BY;
    return true;
}

// An owner that lost its session may come back at any time; others leave it the
// grace, so that it can confirm what it has written.
static bool may_take(const struct collector *c)
{
    if (c->owner || !c->standing_by)
        return true;
    return c->free_ns != CLOCK_NEVER && c->now_ns - c->free_ns >= c->config->grace_ms * NS_PER_MS;
}

static bool step_stand_by(struct collector *c, struct err *e)
{
    if (c->claimed) {
        c->state = FETCH;
        return true;
    }
    if (c->locking)
        return true;
    if (c->now_ns < c->lock_at_ns) {
        wake_at(c, c->lock_at_ns);
        return true;
    }
    c->locking = true;
    return queue_send_lock(&c->queue, &c->session, may_take(c), deadline(c), e);
}

static bool on_lock(struct collector *c, const PGresult *result, struct err *e)
{
    bool took = may_take(c);
    bool free;

    c->locking = false;
    c->lock_at_ns = c->now_ns + LOCK_POLL_NS;
    if (!queue_decode_lock(&c->queue, result, &free, e))
        return false;
    if (free && took) {
        c->locking = true;
        return queue_send_claim(&c->queue, &c->session, deadline(c), e);
    }
    if (!c->standing_by)
        log_line("QUEUE", "standing by: another session has the queue");
    c->standing_by = true;
    if (!free)
        c->free_ns = CLOCK_NEVER;
    else if (c->free_ns == CLOCK_NEVER)
        c->free_ns = c->now_ns;
    return true;
}

static bool on_claim(struct collector *c, const PGresult *result, struct err *e)
{
    c->locking = false;
    if (!queue_decode_claim(&c->queue, result, e))
        return false;
    c->claimed = c->owner = c->at_once = true;
    if (!c->complained)
        backoff_reset(&c->backoff);
    window_restart(&c->window, c->now_ns);
    c->wanted = c->queue.limit;
    c->examine = c->queue.rows_max;
    c->horizon_ns = 0;
    log_line("QUEUE", "collecting '%s' from token %" PRId64 " on, epoch %" PRId64, c->queue.name,
        c->queue.cursor.id, c->queue.epoch);
    return true;
}

// --- reading ---

static bool send_read(struct collector *c, struct err *e)
{
    c->reading = true;
    window_reading(&c->window, c->now_ns);
    return queue_send_read(&c->queue, &c->session, c->wanted, c->examine, deadline(c), e);
}

// A statement that failed only for the moment is tried again in this session.
static bool retry(struct collector *c, struct err *e)
{
    if (e->kind != ERR_SQL || session_remedy(e->sqlstate) != REMEDY_RETRY)
        return false;
    log_line("PG", "trying again: %s", e->text);
    c->retry_ns = c->now_ns + RETRY_NS;
    return true;
}

static bool on_read(struct collector *c, PGresult *result, struct err *e)
{
    bool stale = c->stale_read;

    c->reading = c->stale_read = false;
    if (!queue_decode_read(&c->queue, result, c->wanted, c->examine, &c->next, e)) {
        batch_clear(&c->next);
        return retry(c, e);
    }
    if (stale) {
        batch_clear(&c->next);
        return true;
    }
    c->ready = true;
    c->ready_ns = c->now_ns;
    return true;
}

static void drop_read(struct collector *c)
{
    c->ready = false;
    batch_clear(&c->next);
}

static void start_advance(struct collector *c, enum advance_reason reason, int rows)
{
    c->reason = reason;
    c->advance_rows = rows;
    c->advancing = c->advanced = false;
    c->state = ADVANCE;
}

// The read is short of a batch though it did not see everything: there is more
// behind rows that do not count. Looks further the next time, if it may.
static bool look_further(struct collector *c)
{
    if (c->next.more) {
        if (c->examine >= EXAMINE_GROWTH * c->queue.rows_max)
            return false;
        c->examine *= 4;
        return true;
    }
    int wanted = c->wanted + c->queue.limit - c->next.sendable;
    if (wanted > c->queue.rows_max)
        return false;
    c->wanted = wanted;
    return true;
}

static void show_window(struct collector *c)
{
    window_shown_all(&c->window, c->now_ns);
    for (int i = 0; i < c->next.n; i++)
        if (!c->next.rows[i].unsendable)
            window_shown(&c->window, c->next.rows[i].token.id);
}

// Whatever waits behind the horizon is announced already, and its release may
// come from a rollback or another database, which announce nothing.
static void note_horizon(struct collector *c)
{
    int64_t timeout_ns = c->config->batch_timeout_ms * NS_PER_MS;
    int64_t most_ns = timeout_ns > 0 && timeout_ns < HORIZON_MAX_NS ? timeout_ns : HORIZON_MAX_NS;

    if (!c->next.horizon) {
        c->horizon_ns = 0;
        return;
    }
    c->horizon_ns = c->horizon_ns ? 2 * c->horizon_ns : HORIZON_MIN_NS;
    c->horizon_ns = clock_min(c->horizon_ns, most_ns);
    c->horizon_at_ns = c->now_ns + c->horizon_ns;
}

static bool begin_line(struct collector *c, struct err *e)
{
    const struct batch *b = &c->next;

    buf_clear(&c->line);
    for (int i = 0; i < b->n; i++)
        if (!b->rows[i].unsendable && !line_add(&c->line, &c->sign, &b->rows[i].token, e))
            return false;
    if (!line_end(&c->line, e))
        return false;
    output_begin(&c->output, c->line.data, c->line.len);
    c->state = WRITE;
    return true;
}

// A batch was read: is it sent, passed, or left for later?
static bool consider(struct collector *c, struct err *e)
{
    struct batch *b = &c->next;
    bool at_once = c->at_once;

    if (b->all) {
        show_window(c);
        note_horizon(c);
        c->at_once = false;
    }
    if (b->sendable == 0) {
        if (b->examined > 0) {
            start_advance(c, ADVANCE_PASSED, b->n);
            return true;
        }
        drop_read(c);
        c->state = WAIT;
        return true;
    }
    if (b->sendable >= c->queue.limit)
        return begin_line(c, e);
    if (!b->all) {
        if (!look_further(c))
            return begin_line(c, e);
        drop_read(c);
        return send_read(c, e);
    }
    if (at_once || window_timeout_ns(&c->window) <= c->now_ns)
        return begin_line(c, e);
    drop_read(c);
    c->state = WAIT;
    return true;
}

// After a reconnect the database's cursor is the truth: what of the line that
// was written last still stands behind it is passed without a second line.
static bool recover(struct collector *c)
{
    int matched;
    int rows = batch_find_written(&c->next, &c->written, &matched);

    if (rows > 0) {
        start_advance(c, ADVANCE_RECOVERED, rows);
        return true;
    }
    c->unconfirmed = false;
    batch_clear(&c->written);
    return false;
}

static bool step_fetch(struct collector *c, struct err *e)
{
    if (c->ready) {
        if (c->unconfirmed && recover(c))
            return true;
        return consider(c, e);
    }
    if (c->reading)
        return true;
    if (c->now_ns < c->retry_ns) {
        wake_at(c, c->retry_ns);
        return true;
    }
    return send_read(c, e);
}

static void log_tally(struct collector *c)
{
    struct passed *p = &c->tally;

    if (p->expired + p->consumed + p->status > 0)
        log_line("QUEUE",
            "passed over: %" PRId64 " expired unsent, %" PRId64 " consumed, %" PRId64
            " of an account in another status",
            p->expired, p->consumed, p->status);
    if (c->tally_dead > 0)
        log_line(
            "QUEUE", "dead letters: %" PRId64 " tokens that a line cannot carry", c->tally_dead);
    c->tally = (struct passed){0};
    c->tally_dead = 0;
    c->tally_at_ns = CLOCK_NEVER;
}

static bool step_wait(struct collector *c, struct err *e)
{
    int64_t check_ns = c->session.silence_ns + c->config->healthcheck_interval_ms * NS_PER_MS;
    int64_t due_ns = window_due_ns(&c->window);

    if (c->horizon_ns > 0)
        due_ns = clock_min(due_ns, c->horizon_at_ns);
    if (c->now_ns >= check_ns) {
        c->state = FETCH;
        return queue_send_check(&c->queue, &c->session, deadline(c), e);
    }
    if (c->now_ns >= due_ns) {
        c->state = FETCH;
        return true;
    }
    wake_at(c, clock_min(check_ns, due_ns));
    return true;
}

// --- writing and passing ---

static bool step_write(struct collector *c, struct err *e)
{
    if (c->output.done == 0 && c->now_ns - c->ready_ns > STALE_NS) {
        // The reader was slow; meanwhile tokens may have expired.
        struct pollfd p = {.fd = c->output.fd, .events = POLLOUT};
        if (poll(&p, 1, 0) == 0)
            return true;
        output_cancel(&c->output);
        drop_read(c);
        c->state = FETCH;
        return true;
    }
    if (!output_pump(&c->output, e))
        return false;
    if (!output_idle(&c->output))
        return true;

    struct batch free = c->written;
    c->written = c->next;
    c->next = free;
    c->ready = false;
    c->unconfirmed = true;
    for (int i = 0; i < c->written.n; i++)
        window_taken(&c->window, c->written.rows[i].token.id, c->now_ns);
    if (!c->session.conn) {
        back_off(c);
        return true;
    }
    start_advance(c, ADVANCE_WRITTEN, c->written.n);
    return true;
}

static bool step_advance(struct collector *c, struct err *e)
{
    const struct batch *b = c->reason == ADVANCE_WRITTEN ? &c->written : &c->next;

    if (c->advanced) {
        c->state = c->reason != ADVANCE_WRITTEN || !b->all || c->at_once ? FETCH : WAIT;
        if (c->reason == ADVANCE_PASSED && b->all)
            c->state = WAIT;
        if (c->reason == ADVANCE_WRITTEN) {
            c->unconfirmed = false;
            batch_clear(&c->written);
        } else {
            drop_read(c);
        }
        return true;
    }
    if (c->advancing)
        return true;
    if (c->now_ns < c->retry_ns) {
        wake_at(c, c->retry_ns);
        return true;
    }
    c->advancing = true;
    c->wanted = c->queue.limit;
    c->examine = c->queue.rows_max;
    if (!queue_send_advance(&c->queue, &c->session, b, c->advance_rows, deadline(c), e))
        return false;
    // More waits behind a batch that did not see everything: ask for it in the
    // same trip. Nothing of it is written before the move is confirmed.
    if (c->reason == ADVANCE_WRITTEN && !b->all && !c->reading && !c->stopping)
        return send_read(c, e);
    return true;
}

static bool on_advance(struct collector *c, const PGresult *result, struct err *e)
{
    const struct batch *b = c->reason == ADVANCE_WRITTEN ? &c->written : &c->next;
    bool moved;

    c->advancing = false;
    if (!queue_decode_advance(result, &moved, e)) {
        c->stale_read = c->reading;
        return retry(c, e);
    }
    if (!moved)
        return err_set(e, ERR_CONNECTION, "another session has moved the cursor");
    c->advanced = true;
    c->complained = false;

    bool whole = c->advance_rows == b->n;
    struct passed p = whole ? b->passed : b->rows[c->advance_rows - 1].passed;
    c->queue.cursor = whole ? b->end : b->rows[c->advance_rows - 1].at;
    c->tally.expired += p.expired;
    c->tally.consumed += p.consumed;
    c->tally.status += p.status;
    for (int i = 0; i < c->advance_rows; i++)
        c->tally_dead += b->rows[i].unsendable != NULL;
    bool something = p.expired + p.consumed + p.status + c->tally_dead > 0;
    if (something && c->tally_at_ns == CLOCK_NEVER)
        c->tally_at_ns = c->now_ns + TALLY_NS;
    return true;
}

static bool step_back_off(struct collector *c, struct err *e)
{
    if (c->now_ns < c->retry_ns) {
        wake_at(c, c->retry_ns);
        return true;
    }
    c->state = CONNECT;
    return enter_connect(c, e);
}

// --- the loop ---

static bool (*const steps[STATES])(struct collector *, struct err *) = {
    [CONNECT] = step_connect,
    [LISTEN] = step_listen,
    [STAND_BY] = step_stand_by,
    [WAIT] = step_wait,
    [FETCH] = step_fetch,
    [WRITE] = step_write,
    [ADVANCE] = step_advance,
    [BACK_OFF] = step_back_off,
};

static bool dispatch(struct collector *c, struct session_reply reply, struct err *e)
{
    bool ok = true;

    // The batch keeps the result of a read.
    if (reply.tag == QUEUE_READ)
        return on_read(c, reply.result, e);
    switch (reply.tag) {
    case QUEUE_SCHEMA:
        ok = queue_decode_schema(reply.result, e);
        break;
    case QUEUE_LOCK:
        ok = on_lock(c, reply.result, e);
        break;
    case QUEUE_CLAIM:
        ok = on_claim(c, reply.result, e);
        break;
    case QUEUE_ADVANCE:
        ok = on_advance(c, reply.result, e);
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
    log_line("MAIN", "stopping");
    c->stopping = true;
    c->stop_ns = c->now_ns + STOP_NS;
}

// Ends as soon as nothing is owed: a line that was begun is finished, a line
// that was written is confirmed, but only until the deadline.
static void stop_if_due(struct collector *c)
{
    if (!c->stopping || c->done)
        return;
    bool owes = c->unconfirmed || (c->state == WRITE && c->output.done > 0);
    if (!owes)
        finish(c, COLLECTOR_OK);
    else if (c->now_ns >= c->stop_ns)
        finish(c, COLLECTOR_UNCONFIRMED);
    else
        wake_at(c, c->stop_ns);
}

static void wait_for_something(struct collector *c)
{
    bool watch = c->state == WRITE || !c->unconfirmed;
    struct pollfd fds[] = {
        {.fd = c->stopping ? -1 : c->signal_fd, .events = POLLIN},
        {.fd = session_fd(&c->session), .events = session_events(&c->session)},
        {.fd = watch ? c->output.fd : -1, .events = output_events(&c->output)},
    };

    wake_at(c, session_deadline_ns(&c->session));
    poll(fds, 3, clock_poll_ms(clock_now_ns(), c->wake_ns));
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
        if (!steps[c->state](c, e))
            return false;
    } while (c->state != before);
    if (c->now_ns >= c->tally_at_ns)
        log_tally(c);
    wake_at(c, c->tally_at_ns);
    return true;
}

static bool collector_init(
    struct collector *c, const struct config *config, int signal_fd, int output_fd, struct err *e)
{
    uint64_t seed = 0;
    int limit = (int)config->batch_limit;

    *c = (struct collector){.config = config, .signal_fd = signal_fd, .tally_at_ns = CLOCK_NEVER};
    RAND_bytes((unsigned char *)&seed, sizeof seed);
    backoff_init(&c->backoff, seed);
    queue_init(&c->queue, config->queue_name, config->channel_name, limit);
    // 254 characters of up to four bytes twice, the text, the code, and commas.
    buf_init(&c->line, (size_t)limit * (2 * 4 * 254 + SIGN_TEXT_LEN + 16) + 1);
    c->state = BACK_OFF;
    return batch_init(&c->next, &c->queue, e) && batch_init(&c->written, &c->queue, e) &&
           window_init(&c->window, limit, config->batch_timeout_ms * NS_PER_MS, e) &&
           sign_init(&c->sign, config->key, e) && output_init(&c->output, output_fd, e);
}

static void collector_fini(struct collector *c)
{
    session_close(&c->session);
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
        stop_if_due(&c);
        if (served && !c.done)
            wait_for_something(&c);
    }
    log_tally(&c);
    log_line("MAIN", "stopped");
    collector_fini(&c);
    return c.exit;
}
