#include <assert.h>
#include <inttypes.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/log.h"
#include "work.h"

#define RETRY_NS (50 * NS_PER_MS)   // before a statement is tried again
#define OWNERS_NS (100 * NS_PER_MS) // between two looks at the other owners
#define LARGE_ROWS 500
#define EXAMINE_GROWTH 64 // how far a read may look for a full batch

static void start_over(struct fetch *f, const struct queue *q)
{
    f->wanted = q->limit;
    f->examine = queue_examine(q);
}

void fetch_begin(struct collector *c)
{
    assert(c->fetch.asked == ASK_NOTHING && c->fetch.next_step == NEXT_EMPTY);
    start_over(&c->fetch, &c->queue);
    c->fetch.at_once = true;
    c->left = (struct leftovers){.ours = true};
}

static bool sent(struct collector *c, enum asked what, bool ok)
{
    c->fetch.asked = what;
    c->fetch.asked_ns = c->now_ns;
    return ok;
}

// --- asking -------------------------------------------------------------------

static bool ask_owners(struct collector *c, struct err *e)
{
    char finished[OWNERS_TEXT_LEN];

    c->left.look_at_ns = c->now_ns + OWNERS_NS;
    return sent(c, ASK_OWNERS,
        queue_send_owners(&c->queue, &c->link.session, owners_finished(&c->left.others, finished),
            work_deadline_ns(c), e));
}

static bool ask_delivery(struct collector *c, struct owner *whose, struct err *e)
{
    c->left.whose = whose;
    return sent(c, ASK_DELIVERY,
        queue_send_adopt(&c->queue, &c->link.session, whose, work_deadline_ns(c), e));
}

static bool ask_take(struct collector *c, int fewest, struct err *e)
{
    fetch_drop(c);
    return sent(c, ASK_TAKE,
        queue_send_take(
            &c->queue, &c->link.session, fewest, c->fetch.examine, work_deadline_ns(c), e));
}

static bool take_bell(struct collector *c, struct err *e)
{
    c->bell.step = BELL_ASKED;
    return queue_send_bell(&c->queue, &c->link.session, work_deadline_ns(c), e);
}

bool fetch_on_bell(struct collector *c, const PGresult *result, struct err *e)
{
    bool ours;

    assert(c->bell.step == BELL_ASKED);
    if (!queue_decode_bell(result, &ours, e))
        return false;
    bell_answered(&c->bell, ours, c->now_ns);
    return true;
}

// Under a backlog we look by ourselves, and producers need not ring.
static bool let_go(struct collector *c, struct err *e)
{
    enum bell_step step = c->bell.step;

    if (step == BELL_ASKED)
        return true;
    c->bell = (struct bell){.step = BELL_LET_GO};
    return step != BELL_OURS ||
           queue_send_bell_let_go(&c->queue, &c->link.session, work_deadline_ns(c), e);
}

// Others that sleep must hear of what comes while we are held up.
bool fetch_ring(struct collector *c, struct err *e)
{
    struct bell *b = &c->bell;

    if (c->queue.mode->alone || !c->queue.bell[0] || !c->link.session.up)
        return true;
    if (b->step == BELL_WANTED && c->now_ns < b->look_at_ns) {
        work_wake_at(c, b->look_at_ns);
        return true;
    }
    return b->step == BELL_OURS || b->step == BELL_ASKED || take_bell(c, e);
}

static bool ask_read(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;

    // The bell first: what is inserted behind this look rings.
    if (c->bell.step == BELL_WANTED && c->queue.bell[0] && !take_bell(c, e))
        return false;
    window_reading(&c->window, c->now_ns);
    f->haste = HASTE_NONE;
    return sent(c, ASK_READ,
        queue_send_read(
            &c->queue, &c->link.session, f->wanted, f->examine, work_deadline_ns(c), e));
}

// One collector alone has no others, so what they left is its own at once.
static struct owner *due(struct collector *c)
{
    bool alone = c->queue.mode->alone;

    return owners_due(&c->left.others, alone ? 0 : c->config->grace_ms * NS_PER_MS,
        alone ? 0 : c->config->lease_ms * NS_PER_MS, c->now_ns);
}

static bool look_at_owners(const struct collector *c)
{
    if (c->queue.mode->alone)
        return c->left.look_at_ns == 0 || c->left.others.n > 0;
    return c->now_ns >= c->left.look_at_ns;
}

// What was left over comes before what the cursor shows.
static bool ask(struct collector *c, struct err *e)
{
    struct owner *whose;

    assert(c->fetch.asked == ASK_NOTHING && c->fetch.next_step == NEXT_EMPTY);
    if (c->left.ours)
        return ask_delivery(c, NULL, e);
    if ((whose = due(c)))
        return ask_delivery(c, whose, e);
    if (look_at_owners(c))
        return ask_owners(c, e);
    return ask_read(c, e);
}

bool fetch_retry(struct collector *c, struct err *e)
{
    if (e->kind != ERR_SQL || session_remedy(e->sqlstate) != REMEDY_RETRY)
        return false;
    log_line("PG", "trying again: %s", e->text);
    c->fetch.retry_at_ns = c->now_ns + RETRY_NS;
    return true;
}

// While a backlog is drained the server reads the next batch while the line of
// this one is signed and written: within one stretch of the tick that can be done
// before the cursor is there.
bool fetch_ahead(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;

    if (f->haste != HASTE_BACKLOG || f->asked != ASK_NOTHING || f->early || f->next.stretch == 0 ||
        work_stopping(c))
        return true;
    return sent(c, ASK_AHEAD,
        queue_send_ahead(&c->queue, &c->link.session, &f->next, work_deadline_ns(c), e));
}

// --- answers ------------------------------------------------------------------

static bool quick(const struct collector *c)
{
    return c->now_ns - c->fetch.asked_ns <= work_stale_ns(c);
}

// The moment at which the database told what it holds is when it was asked. When
// the answer was held up, the queue may have become somebody else's meanwhile. A
// look that is followed by a take need not be fresh, and does not count.
static bool fresh(struct collector *c, enum asked what)
{
    struct fetch *f = &c->fetch;

    f->next_asked_ns = f->ready_ns = f->asked_ns;
    if (c->queue.mode->takes && what == ASK_READ)
        return true;
    if (!quick(c) && f->slow >= WORK_SLOW_MAX) {
        f->ready_ns = c->now_ns;
        return true;
    }
    f->slow = quick(c) ? 0 : f->slow + 1;
    return f->slow == 0;
}

// Only a full batch is taken from a read that went ahead: one that is not may
// have grown since, and its moment is the window's to choose.
static bool take_ahead(struct collector *c, PGresult *result, struct err *e)
{
    struct fetch *f = &c->fetch;
    bool in_time = quick(c);

    f->haste = HASTE_NONE;
    if (!batch_decode(&f->next, result, BATCH_AHEAD, c->queue.limit, queue_examine(&c->queue),
            &c->doubt, e)) {
        batch_clear(&f->next);
        return fetch_retry(c, e);
    }
    if (f->next.sendable < c->queue.limit || !in_time) {
        batch_clear(&f->next);
        return true;
    }
    f->next.number = c->queue.n;
    f->next_asked_ns = f->ready_ns = f->asked_ns;
    f->next_step = NEXT_READY;
    f->haste = HASTE_BACKLOG;
    return true;
}

// Did somebody else move the cursor of which we are the only holder?
static bool still_ours(const struct collector *c, struct err *e)
{
    if (!c->queue.mode->alone || c->fetch.next.source != BATCH_CURSOR ||
        c->fetch.next.number == c->queue.n)
        return true;
    return err_set(e, ERR_CONNECTION, "another collector has taken the queue over");
}

static bool keep(struct collector *c, PGresult *result, enum asked what, struct err *e)
{
    static const enum batch_source sources[] = {
        [ASK_READ] = BATCH_CURSOR, [ASK_TAKE] = BATCH_TAKEN, [ASK_DELIVERY] = BATCH_DELIVERY};
    struct fetch *f = &c->fetch;
    bool full;

    int examine = what == ASK_DELIVERY ? queue_examine(&c->queue) : f->examine;
    int wanted = what == ASK_READ ? f->wanted : examine;

    if (!batch_decode(&f->next, result, sources[what], wanted, examine, &c->doubt, e)) {
        batch_clear(&f->next);
        return fetch_retry(c, e);
    }
    if (!still_ours(c, e))
        return false;
    full = f->next.sendable == c->queue.limit && f->next.n == c->queue.limit;
    f->haste = f->haste == HASTE_FOLLOWS && full && quick(c) ? HASTE_BACKLOG : HASTE_NONE;
    // A take has passed rows already, whatever becomes of its tokens.
    if (what != ASK_READ) {
        deliver_count_passed(c, &f->next.passed);
        f->next.passed = (struct passed){0};
    }
    f->next_step = NEXT_READY;
    f->large = f->large || f->next.n > LARGE_ROWS;
    if (!fresh(c, what))
        fetch_drop(c);
    return true;
}

bool fetch_on_read(struct collector *c, PGresult *result, struct err *e)
{
    struct fetch *f = &c->fetch;
    enum asked what = f->asked;

    f->asked = ASK_NOTHING;
    switch (what) {
    case ASK_STALE_TAKE:
        c->left.ours = true;
        PQclear(result);
        return true;
    case ASK_STALE:
        PQclear(result);
        return true;
    case ASK_AHEAD:
        if (f->next_step == NEXT_EMPTY)
            return take_ahead(c, result, e);
        f->early = result;
        return true;
    default:
        assert(what == ASK_READ || what == ASK_TAKE || what == ASK_DELIVERY);
        return keep(c, result, what, e);
    }
}

bool fetch_on_owners(struct collector *c, const PGresult *result, struct err *e)
{
    assert(c->fetch.asked == ASK_OWNERS || c->fetch.asked == ASK_STALE);
    c->fetch.asked = ASK_NOTHING;
    if (!queue_decode_owners(&c->left.others, result, c->now_ns, e))
        return fetch_retry(c, e);
    return true;
}

// What was taken and is not begun is still ours, to be read and judged again.
void fetch_drop(struct collector *c)
{
    struct fetch *f = &c->fetch;

    if (f->next_step != NEXT_EMPTY && batch_is_delivery(&f->next) && f->next.number != 0)
        c->left.ours = true;
    if (f->asked == ASK_AHEAD)
        f->asked = ASK_STALE;
    f->next_step = NEXT_EMPTY;
    f->haste = HASTE_NONE;
    PQclear(f->early);
    f->early = NULL;
    batch_clear(&f->next);
}

void fetch_abandon(struct collector *c)
{
    PQclear(c->fetch.early);
    c->fetch.early = NULL;
    c->fetch.asked = ASK_NOTHING;
    c->left.whose = NULL;
}

void fetch_forget(struct collector *c)
{
    fetch_drop(c);
    fetch_abandon(c);
}

// --- deciding -----------------------------------------------------------------

enum verdict {
    LATER,   // nothing waits, or not enough and not for long enough
    FURTHER, // look again, at more rows
    SEND,    // a full batch, or one whose time has come
    SKIP,    // nothing of it can be sent
};

// The read is short of a batch though it did not see everything: there is more
// behind rows that do not count. Looks further the next time, if it may.
static bool look_further(struct collector *c)
{
    struct fetch *f = &c->fetch;

    if (f->next.more) {
        if (f->examine >= EXAMINE_GROWTH * queue_examine(&c->queue))
            return false;
        f->examine *= 4;
        return true;
    }
    int wanted = f->wanted + c->queue.limit - f->next.sendable;
    if (wanted > queue_examine(&c->queue))
        return false;
    f->wanted = wanted;
    return true;
}

// The read saw everything: so the window knows what waits, and what was in doubt
// and is not there is passed; but not if it may be among what is not its turn now.
static void saw_all(struct collector *c)
{
    const struct batch *b = &c->fetch.next;
    bool doubtful = false;

    bell_looked(&c->bell, b->now, c->now_ns);
    window_shown_all(&c->window, c->now_ns);
    for (int i = 0; i < b->n; i++) {
        doubtful = doubtful || b->rows[i].written;
        if (!b->rows[i].unsendable && !b->rows[i].written)
            window_shown(&c->window, b->rows[i].token.id);
    }
    if (!doubtful && b->examined == b->n)
        doubt_clear(&c->doubt);
}

static enum verdict judge(struct collector *c)
{
    const struct batch *b = &c->fetch.next;
    bool at_once = false;

    // What came before our session was announced to nobody, and waits no longer.
    if (b->all) {
        saw_all(c);
        at_once = c->fetch.at_once && c->window.missed.count > 0;
        c->fetch.at_once = false;
    }
    if (b->sendable == 0)
        return b->examined > 0 ? SKIP : LATER;
    if (b->sendable >= c->queue.limit)
        return SEND;
    if (!b->all)
        return look_further(c) ? FURTHER : SEND;
    return at_once || window_timeout_ns(&c->window) <= c->now_ns ? SEND : LATER;
}

// The cursor was only looked at: takes what was seen there, if it is to go out.
static bool take(struct collector *c, enum verdict verdict, struct err *e)
{
    const struct batch *b = &c->fetch.next;
    int limit = c->queue.limit;

    // What the wire cannot carry waits for nobody; others that come meanwhile are
    // not taken with it, for they may have to wait.
    if (verdict == SKIP)
        return ask_take(c, 0, e);
    return ask_take(c, b->sendable >= limit ? limit : 1, e);
}

static bool skip(struct collector *c, enum state *next)
{
    assert(c->pass.step == PASS_NONE);
    c->pass.step = PASS_DUE;
    c->pass.subject = PASS_NEXT;
    *next = PASS;
    return true;
}

static bool consider_cursor(struct collector *c, enum state *next, struct err *e)
{
    enum verdict verdict = judge(c);

    if (verdict == LATER) {
        fetch_drop(c);
        if (c->queue.bell[0] && c->bell.step == BELL_LET_GO) {
            c->bell.step = BELL_WANTED;
            return ask(c, e);
        }
        *next = WAIT;
        return true;
    }
    if (verdict == FURTHER) {
        fetch_drop(c);
        return ask(c, e);
    }
    if (!c->fetch.next.all && !let_go(c, e))
        return false;
    if (c->queue.mode->takes)
        return take(c, verdict, e);
    start_over(&c->fetch, &c->queue);
    if (verdict == SKIP)
        return skip(c, next);
    *next = WRITE;
    return true;
}

// It is ours: what of it can be sent goes out now.
static bool consider_ours(struct collector *c, enum state *next, struct err *e)
{
    struct batch *b = &c->fetch.next;

    start_over(&c->fetch, &c->queue);
    if (b->number != 0) {
        if (c->left.whose && c->left.whose->number != 0)
            log_line("QUEUE", "delivering %d tokens of another collector, which %s", b->n,
                c->left.whose->alive ? "hangs" : "is gone");
        c->left.whose = NULL;
        *next = WRITE;
        return b->sendable > 0 || skip(c, next);
    }
    if (b->source == BATCH_DELIVERY && c->left.whose)
        owners_was_empty(c->left.whose, c->queue.mode->alone || !c->left.whose->alive, c->now_ns);
    else if (b->source == BATCH_DELIVERY)
        c->left.ours = false;
    fetch_drop(c);
    return ask(c, e);
}

bool fetch_fetch(struct collector *c, enum state *next, struct err *e)
{
    struct fetch *f = &c->fetch;

    if (f->next_step != NEXT_EMPTY) {
        return batch_is_delivery(&f->next) ? consider_ours(c, next, e)
                                           : consider_cursor(c, next, e);
    }
    if (f->asked != ASK_NOTHING)
        return true;
    if (c->now_ns < f->retry_at_ns) {
        work_wake_at(c, f->retry_at_ns);
        return true;
    }
    return ask(c, e);
}

bool fetch_follow(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;
    PGresult *early = f->early;

    f->early = NULL;
    if (early && !take_ahead(c, early, e))
        return false;
    if (f->next_step != NEXT_EMPTY || f->asked != ASK_NOTHING || c->left.ours || due(c))
        return true;
    if (c->queue.mode->takes) {
        if (look_at_owners(c))
            return true;
        if (!ask_take(c, c->queue.limit, e))
            return false;
    } else if (!ask_read(c, e)) {
        return false;
    }
    f->haste = HASTE_FOLLOWS;
    return true;
}

// --- sleeping -----------------------------------------------------------------

// A large batch leaves megabytes with the C library, which an idle collector
// has no use for.
static void give_back_memory(struct collector *c)
{
    if (!c->fetch.large)
        return;
    c->fetch.large = false;
    size_t most = c->line.max;
    buf_fini(&c->line);
    buf_init(&c->line, most);
    batch_fini(&c->fetch.next);
    batch_init(&c->fetch.next, c->queue.limit);
    batch_fini(&c->pass.written);
    batch_init(&c->pass.written, c->queue.limit);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

bool fetch_wait(struct collector *c, enum state *next, struct err *e)
{
    struct session *s = &c->link.session;
    int64_t check_ns = s->silence_ns + c->config->healthcheck_interval_ms * NS_PER_MS;
    int64_t due_ns = window_due_ns(&c->window);
    int64_t first_ns = due_ns;

    assert(c->fetch.asked == ASK_NOTHING && c->fetch.next_step == NEXT_EMPTY);
    // Nobody announces that a collector died with something in hand.
    if (!c->queue.mode->alone && owners_matter(&c->left.others))
        due_ns = clock_min(due_ns, c->left.look_at_ns);
    due_ns = clock_min(due_ns, bell_due_ns(&c->bell));
    if (c->now_ns >= check_ns) {
        *next = FETCH;
        return queue_send_check(&c->queue, s, work_deadline_ns(c), e);
    }
    if (c->now_ns >= due_ns) {
        *next = FETCH;
        return true;
    }
    if (first_ns == CLOCK_NEVER)
        give_back_memory(c);
    else if (!connect_renew(c, e))
        return false;
    work_wake_at(c, clock_min(check_ns, due_ns));
    return true;
}
