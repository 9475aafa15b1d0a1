#include "states.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/log.h"
#include "skip.h"

#define RETRY_NS (50 * NS_PER_MS)      // before a statement is tried again
#define HORIZON_MIN_NS (5 * NS_PER_MS) // most writing transactions end in no time
#define HORIZON_MAX_NS (100 * NS_PER_MS)
#define HORIZON_LOG_NS (10 * NS_PER_S) // between two lines of the log about it
#define ORPHANS_NS (100 * NS_PER_MS)   // between two looks at the claims of others
#define OTHERS_NS (5 * NS_PER_MS)      // until another's claim that was in the way is committed
#define LARGE_ROWS 500
#define EXAMINE_GROWTH 64 // how far a read may look for a full batch

// Skip-locked. Nothing announces that a collector died, so whoever reads or
// claims looks now and then whether claims have lost their collector.
static bool send_orphans(struct collector *c, struct err *e)
{
    char due[GONE_TEXT_LEN];

    if (c->now_ns < c->orphans_at_ns)
        return true;
    c->orphans_at_ns = c->now_ns + ORPHANS_NS;
    return skip_send_orphans(&c->session,
        gone_due(&c->gone, c->config->grace_ms * NS_PER_MS, c->now_ns, due), state_deadline_ns(c),
        e);
}

void fetch_on_orphans(struct collector *c, const PGresult *result)
{
    struct err e;

    err_clear(&e);
    if (!session_check(result, &e)) {
        log_line("PG", "claims of others cannot be looked at: %s", e.text);
        return;
    }
    const char *freed = PQgetvalue(result, 0, 0);
    if (strcmp(freed, "0") != 0)
        log_line("QUEUE", "freed %s tokens that a dead collector had claimed", freed);
    gone_seen(&c->gone, PQgetvalue(result, 0, 1), c->now_ns);
}

static bool send_unclaim(struct collector *c, struct err *e)
{
    if (!c->unclaim)
        return true;
    c->unclaim = false;
    return skip_send_release(&c->queue, &c->session, QUEUE_UNCLAIM, state_deadline_ns(c), e);
}

bool fetch_claim(struct collector *c, int wanted, int fewest, struct err *e)
{
    fetch_drop(c);
    if (!send_orphans(c, e))
        return false;
    c->claiming = c->reading = true;
    c->asked_ns = c->now_ns;
    return skip_send_take(
        &c->queue, &c->session, wanted, c->examine, fewest, state_deadline_ns(c), e);
}

bool fetch_send(struct collector *c, struct err *e)
{
    if (c->queue.shared && !(send_unclaim(c, e) && send_orphans(c, e)))
        return false;
    c->reading = true;
    c->claiming = c->follows = false;
    c->asked_ns = c->now_ns;
    window_reading(&c->window, c->now_ns);
    return queue_send_read(&c->queue, &c->session, c->wanted, c->examine, state_deadline_ns(c), e);
}

// While a backlog is drained the server reads the next batch while the line of
// this one is signed and written. Cursor only: there the end of this batch tells
// where the next one begins.
bool fetch_send_ahead(struct collector *c, struct err *e)
{
    struct passed ignored;

    if (c->queue.shared || !c->backlog || c->reading || c->early || c->stopping)
        return true;
    c->reading = c->ahead = true;
    c->asked_ns = c->now_ns;
    return queue_send_read_behind(
        &c->queue, &c->session, batch_end(&c->next, c->next.n, &ignored), state_deadline_ns(c), e);
}

// A statement that failed only for the moment is tried again in this session.
bool fetch_retry(struct collector *c, struct err *e)
{
    if (e->kind != ERR_SQL || session_remedy(e->sqlstate) != REMEDY_RETRY)
        return false;
    log_line("PG", "trying again: %s", e->text);
    c->retry_ns = c->now_ns + RETRY_NS;
    return true;
}

// Only a full batch is taken from a read that went ahead: one that is not may
// have grown since, and its moment is the window's to choose.
static bool take_ahead(struct collector *c, PGresult *result, struct err *e)
{
    c->ahead = c->backlog = false;
    if (!batch_decode(&c->next, result, c->queue.limit, c->queue.rows_max, e)) {
        batch_clear(&c->next);
        return fetch_retry(c, e);
    }
    c->backlog = c->next.sendable == c->queue.limit && c->now_ns - c->asked_ns <= state_stale_ns(c);
    c->ready = c->backlog;
    c->ready_ns = c->asked_ns;
    if (!c->ready)
        batch_clear(&c->next);
    return true;
}

bool fetch_take_early(struct collector *c, struct err *e)
{
    PGresult *result = c->early;

    c->early = NULL;
    return !result || take_ahead(c, result, e);
}

static bool full_at_once(const struct collector *c)
{
    return c->next.sendable == c->queue.limit && c->wanted == c->queue.limit &&
           c->examine == c->queue.rows_max;
}

// Whether a batch that is read one line too early is still fresh in its turn.
static bool quick(const struct collector *c)
{
    return c->now_ns - c->asked_ns <= state_stale_ns(c) / 4;
}

// The answer tells how things stood when it was asked for, at the earliest: if
// it was held up, the queue may have become somebody else's meanwhile. Where the
// queue is shared a read only looks, and what counts is the claim: a quick look
// between slow claims must not keep them from being put up with.
static bool fresh(struct collector *c)
{
    bool looked = c->queue.shared && !c->claiming;

    c->ready_ns = c->asked_ns;
    if (looked || (c->now_ns - c->asked_ns > state_stale_ns(c) && c->slow >= STATE_SLOW_MAX)) {
        c->ready_ns = c->now_ns;
        return true;
    }
    c->slow = c->now_ns - c->asked_ns > state_stale_ns(c) ? c->slow + 1 : 0;
    return c->slow == 0;
}

bool fetch_on_read(struct collector *c, PGresult *result, struct err *e)
{
    bool stale = c->stale_read;
    int wanted = c->claiming ? c->queue.limit : c->wanted;

    c->reading = c->stale_read = false;
    if (c->ahead && stale) {
        c->ahead = false;
        PQclear(result);
        return true;
    }
    if (c->ahead && c->ready) {
        c->early = result;
        return true;
    }
    if (c->ahead)
        return take_ahead(c, result, e);
    if (!batch_decode(&c->next, result, wanted, c->examine, e)) {
        batch_clear(&c->next);
        return fetch_retry(c, e);
    }
    // A claim has passed rows already, whatever becomes of its tokens.
    if (c->claiming) {
        deliver_count_passed(c, &c->next.passed);
        c->next.passed = (struct passed){0};
    }
    if (stale) {
        fetch_drop(c);
        return true;
    }
    c->backlog = c->follows && full_at_once(c) && quick(c);
    if (!fresh(c)) {
        fetch_drop(c);
        return true;
    }
    c->ready = true;
    c->large = c->large || c->next.n > LARGE_ROWS;
    return true;
}

void fetch_drop(struct collector *c)
{
    c->unclaim = c->unclaim || (c->claiming && c->next.n > 0);
    c->stale_read = c->stale_read || (c->reading && c->ahead);
    c->ready = c->claiming = c->backlog = c->built = false;
    PQclear(c->early);
    c->early = NULL;
    batch_clear(&c->next);
}

void fetch_forget(struct collector *c)
{
    fetch_drop(c);
    c->reading = c->stale_read = c->ahead = c->unclaim = false;
}

// The read is short of a batch though it did not see everything: there is more
// behind rows that do not count. Looks further the next time, if it may. That
// the rows in the way are more than a read examines happens with a cursor only,
// which cannot pass them before the tokens that stand in front of them.
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
    if (c->horizon_ns == 0) {
        c->horizon_since_ns = c->now_ns;
        c->horizon_log_ns = c->now_ns + NS_PER_S;
    }
    c->horizon_ns = c->horizon_ns ? 2 * c->horizon_ns : HORIZON_MIN_NS;
    c->horizon_ns = clock_min(c->horizon_ns, most_ns);
    c->horizon_at_ns = c->now_ns + c->horizon_ns;
}

void fetch_on_horizon(struct collector *c, const PGresult *result)
{
    char holder[512];

    queue_decode_horizon(result, holder, sizeof holder);
    if (c->horizon_ns > 0 && holder[0])
        log_line("QUEUE", "tokens have waited for %" PRId64 " s behind an open transaction: %s",
            (c->now_ns - c->horizon_since_ns) / NS_PER_S, holder);
}

// A claim was answered: its tokens are ours, what else it examined is passed.
static bool consider_claim(struct collector *c, struct err *e)
{
    struct batch *b = &c->next;
    bool passed = b->examined > b->n;

    if (b->sendable > 0)
        return deliver_begin_line(c, e);
    if (b->n > 0) {
        deliver_start_advance(c, ADVANCE_PASSED, b->n);
        return true;
    }
    // Others were quicker. Their claims are not committed yet, or are now.
    fetch_drop(c);
    if (passed)
        return fetch_send(c, e);
    c->retry_ns = c->now_ns + OTHERS_NS;
    state_wake_at(c, c->retry_ns);
    return true;
}

// What was read is to be sent. Cursor: it is ours. Skip-locked: we only looked.
static bool send_batch(struct collector *c, int fewest, struct err *e)
{
    return c->queue.shared ? fetch_claim(c, c->queue.limit, fewest, e) : deliver_begin_line(c, e);
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
        // What the wire cannot carry waits for nobody; others that come
        // meanwhile are not claimed with it, for they may have to wait.
        if (b->n > 0 && c->queue.shared)
            return fetch_claim(c, b->n < c->queue.limit ? b->n : c->queue.limit, 1, e);
        if (b->examined > 0 && c->queue.shared)
            return fetch_claim(c, c->queue.limit, c->queue.limit, e);
        if (b->examined > 0) {
            deliver_start_advance(c, ADVANCE_PASSED, b->n);
            return true;
        }
        fetch_drop(c);
        c->state = WAIT;
        return true;
    }
    if (b->sendable >= c->queue.limit)
        return send_batch(c, c->queue.limit, e);
    if (b->more && c->queue.shared)
        return fetch_claim(c, c->queue.limit, c->queue.limit, e);
    if (!b->all) {
        if (!look_further(c))
            return send_batch(c, 1, e);
        fetch_drop(c);
        return fetch_send(c, e);
    }
    if (at_once || window_timeout_ns(&c->window) <= c->now_ns)
        return send_batch(c, 1, e);
    fetch_drop(c);
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
        deliver_start_advance(c, ADVANCE_RECOVERED, rows);
        return true;
    }
    // What it examined may end in front of them; it is passed, and looked behind.
    if (c->next.sendable == 0 && !c->next.all)
        return false;
    c->unconfirmed = false;
    batch_clear(&c->written);
    return false;
}

bool fetch_step(struct collector *c, struct err *e)
{
    if (c->ready) {
        if (c->unconfirmed && recover(c))
            return true;
        return c->claiming ? consider_claim(c, e) : consider(c, e);
    }
    if (c->reading)
        return true;
    if (c->now_ns < c->retry_ns) {
        state_wake_at(c, c->retry_ns);
        return true;
    }
    return fetch_send(c, e);
}

// A large batch leaves megabytes with the C library, which an idle collector
// has no use for.
static void give_back_memory(struct collector *c)
{
    if (!c->large)
        return;
    c->large = false;
    size_t most = c->line.max;
    buf_fini(&c->line);
    buf_init(&c->line, most);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

bool fetch_step_wait(struct collector *c, struct err *e)
{
    int64_t check_ns = c->session.silence_ns + c->config->healthcheck_interval_ms * NS_PER_MS;
    int64_t due_ns = window_due_ns(&c->window);

    if (c->horizon_ns > 0)
        due_ns = clock_min(due_ns, c->horizon_at_ns);
    if (!c->queue.shared && c->horizon_ns > 0 && c->now_ns >= c->horizon_log_ns) {
        c->horizon_log_ns = c->now_ns + HORIZON_LOG_NS;
        if (!queue_send_horizon(&c->session, state_deadline_ns(c), e))
            return false;
    }
    if (c->now_ns >= check_ns) {
        c->state = FETCH;
        return queue_send_check(&c->queue, &c->session, state_deadline_ns(c), e);
    }
    if (c->now_ns >= due_ns) {
        c->state = FETCH;
        return true;
    }
    if (due_ns == CLOCK_NEVER)
        give_back_memory(c);
    state_wake_at(c, clock_min(check_ns, due_ns));
    return true;
}
