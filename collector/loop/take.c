// A take looks first, in the database: if too few tokens wait, it changes nothing and tells their
// ids, which the window (window.h) needs. So a look and a take are one request.
//
// While many tokens wait, two lines are taken at once, and the next take is part of the transaction
// that settles the last of them, so that it costs no flush of its own. Each line must be begun soon
// after its tokens were read. If it was not, its row is read again first: a token may have expired
// meanwhile, and a collector that was stopped may have lost the row to another.
//
// A collector that works alone, without lanes or a budget, takes nothing: it reads, and settling
// the line moves the cursor. So a token that comes alone waits for no flush. While line 2 is
// written and settled, line 3 is read, from the place after line 2; but that read is sent only once
// all of line 1 is written. So in each mode a line shows the database as it was when the line two
// places before it was out, or later.
#include "loop/take.h"

#include "loop/bell_requests.h"
#include "loop/settle.h"
#include "loop/work.h"
#include "queue/queue_lines.h"

#define DUE_MARGIN_MS 10000       // a row may be committed this long after it came due
#define SOON_NS (125 * NS_PER_MS) // if the next take comes sooner than this, it takes more lines

void take_restart(struct collector *c)
{
    // Where several collect, rows that others gave back may be due already. So the first take looks
    // at everything that is due, and one take does so every TAKE_ALL_DUE_NS from then on. Where one
    // collector works at a time, its claim has made all rows of others its own, and the question of
    // doubt (in_doubt.c) names them.
    bool exclusive = c->queue.policy->exclusive;

    c->take = (struct taking){.no_wait = true,
        .all_due = !exclusive,
        .all_due_at_ns = exclusive ? CLOCK_NEVER : c->now_ns + TAKE_ALL_DUE_NS,
        .complete_ns = CLOCK_NEVER,
        .lines = 1};
    window_restart(&c->window, c->now_ns);
}

void take_look_at_all(struct collector *c)
{
    c->take.all_due = true;
    c->take.look_at_ns = 0;
}

// If our session has ended unnoticed, others take over after the grace, so half of the grace is a
// safe age; the protocol allows 250 ms. But on a network or a machine that is always slow, no
// answer would be that young. So the age is at least twice the time that the quickest of the last
// takes and reads needed (0 until TAKE_TRIPS were timed). It is at most half a lease.
int64_t take_stale_ns(const struct collector *c)
{
    int64_t usual_ns = clock_min(250 * NS_PER_MS, c->config->grace_ms * NS_PER_MS / 2);
    int64_t quickest_ns = CLOCK_NEVER;

    for (int i = 0; i < TAKE_TRIPS; i++)
        quickest_ns = clock_min(quickest_ns, c->take.trips_ns[i]);
    return clock_min(clock_max(usual_ns, 2 * quickest_ns), work_lease_ns(c->config) / 2);
}

bool take_drop_old(struct collector *c, struct err *e)
{
    struct line *first = lines_first(&c->lines, LINE_TAKEN), *line;

    if (!first || c->now_ns - first->asked_ns <= take_stale_ns(c))
        return true;
    // All lines that are not begun are read again, because a line that was taken later must not go
    // out before an older one.
    while ((line = lines_first(&c->lines, LINE_TAKEN))) {
        // The tokens of a line that was only read (n is 0), and is not full, have waited for their
        // timeout already, and the window has forgotten them. So they go out without a wait.
        c->take.no_wait = c->take.no_wait || (line->n == 0 && line->sendable < c->queue.limit);
        // A read under way may bring the same tokens.
        if (c->take.asked == ASKED_READ)
            c->take.asked = ASKED_READ_IN_VAIN;
        if (!lines_drop_to_reread(&c->lines, line, e))
            return false;
    }
    return true;
}

// Returns how many lines to take at once: twice as many as last time if that was at most SOON_NS
// ago, so that under a backlog there are fewer requests; or else half as many. mailroom_take itself
// takes one line if two would have more than 1,000 tokens.
static int choose_lines(struct collector *c)
{
    struct taking *t = &c->take;
    int64_t most = TAKE_LINES;

    // A second line would go out before the tokens of a higher lane that come meanwhile.
    if (c->queue.lanes)
        return 1;
    // A second line would be paid for now, and again if it began too late for that payment.
    if (c->queue.budget)
        return 1;
    // Lines that may not be out at once would only be kept from other senders.
    if (c->queue.policy->answers)
        most = clock_min(most, c->config->leased.in_flight - lines_in(&c->lines, LINE_OUT));
    if (c->now_ns - t->taken_ns <= SOON_NS)
        t->lines *= 2;
    else
        t->lines /= 2;
    t->lines = (int)clock_max(1, clock_min(t->lines, most));
    t->taken_ns = c->now_ns;
    return t->lines;
}

// Returns for how many milliseconds back the next take looks at rows that have come due; -1: at all
// of them, however old; 0: at none. Sets all_due when it is time to look at all of them. Only
// answers make rows that come due as time passes: those of tokens to be tried again. Any other row
// without an owner was given back by a collector, and the look at the others (peers.c) tells us of
// that.
static int64_t due_ms(struct collector *c)
{
    struct taking *t = &c->take;

    if (c->now_ns >= t->all_due_at_ns ||
        (c->queue.policy->answers && t->complete_ns == CLOCK_NEVER))
        t->all_due = true;
    if (t->all_due)
        return -1;
    return c->queue.policy->answers ? (c->now_ns - t->complete_ns) / NS_PER_MS + DUE_MARGIN_MS : 0;
}

// True if the next request is a read. `due`: as due_ms returns it. A take is needed where several
// collect, with several lanes or a budget, for rows that are due or are to be read again, and
// after a read that asked for one (must_take).
static bool next_is_read(const struct collector *c, int64_t due)
{
    return c->queue.policy->exclusive && !c->queue.lanes && !c->queue.budget &&
           !c->take.must_take && c->lines.reread_count == 0 && due == 0;
}

// Appends the rows that the take reads again, as an SQL array; nothing, if there is none. Sets
// take.reread to their number. A collector that works alone names all such rows, so that their
// tokens make full lines in their order. Others name one row, and its line is filled up with
// waiting tokens.
static bool name_rows(struct collector *c, struct buf *array, struct err *e)
{
    const struct lines *l = &c->lines;
    int n = c->queue.policy->exclusive || l->reread_count == 0 ? l->reread_count : 1;

    c->take.reread = n;
    for (int i = 0; i < n; i++)
        buf_printf(array, "%s%" PRId64, i > 0 ? "," : "{", l->rereads[i].n);
    if (n > 0)
        buf_append_char(array, '}');
    return n == 0 || buf_str(array) || err_memory(e);
}

// Sends a read that begins after our newest line, or at the cursor. It looks at as many tokens as a
// line may hold, and at as many more as it is expected to pass over.
static bool send_read(struct collector *c, struct err *e)
{
    struct taking *t = &c->take;
    const struct line *line = lines_newest(&c->lines);

    t->examine = (int)clock_min((int64_t)c->queue.limit + t->expect_passed, INT32_MAX);
    return queue_send_read(&c->queue, &c->link.session, t->examine, line ? line->place.data : NULL,
        work_deadline_ns(c), e);
}

// Sends a take or a read. With fewer than `fewest` waiting tokens it is only a look. `settled`: as
// in take_step.
static bool send_request(
    struct collector *c, int fewest, const struct settled *settled, struct err *e)
{
    struct taking *t = &c->take;
    int64_t due = due_ms(c);
    struct buf rows FREED_BY(buf_fini) = BUF_INIT(SIZE_MAX);

    // The bell is taken first, so that tokens that are inserted after this look are announced. A
    // take that reads rows again is no look: its answer does not tell what waits.
    if (!name_rows(c, &rows, e) || (t->reread == 0 && !bell_request_take(c, e)))
        return false;
    t->asked_ns = c->now_ns;
    t->asked_all_due = due < 0;
    t->fewest = fewest;
    t->asked = next_is_read(c, due) ? ASKED_READ : ASKED_TAKE;
    t->must_take = false;
    t->look_at_ns = CLOCK_NEVER; // the answer may plan another look
    if (t->reread == 0)
        window_read_sent(&c->window, c->now_ns);
    t->asked_lock = t->asked == ASKED_TAKE && !c->settle.holds_lock;
    if (t->asked == ASKED_READ)
        return send_read(c, e);
    // If less than a full line is wanted, the timeout is over, and a second line is not expected.
    return queue_send_take(&c->queue, &c->link.session,
        &(struct take_request){.fewest = fewest,
            .lines = fewest < c->queue.limit ? 1 : choose_lines(c),
            .again = t->reread > 0 ? rows.data : NULL,
            .due_ms = due,
            // Every fourth take lets a lower lane go first, if it has waited long.
            .aged = t->turns % QUEUE_AGED_TURN == QUEUE_AGED_TURN - 1,
            .lock = t->asked_lock,
            .settled = settled},
        work_deadline_ns(c), e);
}

// True when a read may be sent: no line is in hand; or the newest line was only read (n is 0), more
// tokens wait after it, and at most one line is not written yet.
static bool may_read_on(const struct collector *c)
{
    const struct line *line = lines_newest(&c->lines);

    return !line || (c->take.backlog && line->n == 0 &&
                        lines_in(&c->lines, LINE_TAKEN) + lines_in(&c->lines, LINE_OUT) <= 1);
}

// True when a take or a read may be sent: the question of doubt is answered, neither of them is
// under way, and a line that is taken now could be begun at once. A line that had to wait here
// would only be kept from other collectors. A read takes nothing, so it may be sent earlier
// (may_read_on). `settled`: as in take_step.
static bool may_take(struct collector *c, const struct settled *settled)
{
    const struct lines *l = &c->lines;

    if (work_stopping(c) || c->in_doubt.step != DOUBT_ANSWERED ||
        session_awaits(&c->link.session, QUEUE_TAKE) || !sender_ready(c))
        return false;
    if (!settled && next_is_read(c, due_ms(c)))
        return may_read_on(c);
    if (lines_in(l, LINE_TAKEN) > 0)
        return false;
    // The new line may begin once all lines before it are settled. `settled` has all that are
    // written.
    if (!c->queue.policy->answers)
        return lines_in(l, LINE_OUT) == 0 && (settled || lines_in(l, LINE_WRITTEN) == 0);
    // While the line of a suspected token is out, no other line may go out (answers.c).
    return !lines_alone_out(l) && lines_in(l, LINE_OUT) < (int)c->config->leased.in_flight;
}

// Returns when to send the next take or read; 0: at once.
static int64_t due_at_ns(struct collector *c)
{
    struct taking *t = &c->take;
    int64_t at_ns = clock_min(window_due_ns(&c->window), t->look_at_ns);

    if (t->no_wait || t->backlog || c->lines.reread_count > 0)
        at_ns = 0;
    at_ns = clock_min(at_ns, bell_request_due_ns(c));
    // A spent budget allows no new token before budget_ns. But rows that are read again may be
    // paid for already.
    if (t->budget_ns > c->now_ns && (c->lines.reread_count == 0 || t->unpaid))
        at_ns = t->budget_ns;
    return clock_max(at_ns, t->retry_at_ns);
}

bool take_step(struct collector *c, const struct settled *settled, bool *sent, struct err *e)
{
    struct taking *t = &c->take;

    *sent = false;
    if (!may_take(c, settled))
        return true;
    // One request settles and takes only if a full line is likely; otherwise two are as good. Rows
    // that are read again, or a budget, may give less than a full line. A read settles nothing.
    if (settled &&
        (!t->backlog || c->lines.reread_count > 0 || c->queue.budget || next_is_read(c, due_ms(c))))
        return true;
    int64_t at_ns = due_at_ns(c);
    // Announcements may have become so frequent that looks are cheaper. Then a look is planned,
    // unless one is planned already.
    if (at_ns > c->now_ns && !settled && !bell_request_polls(c)) {
        if (!bell_request_let_go_if_fast(c, e))
            return false;
        at_ns = due_at_ns(c);
    }
    if (at_ns > c->now_ns) {
        work_wake_at(c, at_ns);
        return true;
    }
    // Under a backlog the window still has the times of tokens that went out with the last line.
    // The tokens that are left may be younger, and the next look tells their times.
    bool waited_enough = t->no_wait || (!t->backlog && window_timeout_ns(&c->window) <= c->now_ns);
    // Why a line that is not full may go out.
    t->reason = t->no_wait ? METER_BATCHES_START : METER_BATCHES_TIMEOUT;
    *sent = true;
    // While a line is in hand, the timeout may be that of its tokens, so only a full line is
    // wanted.
    bool in_hand = settled || lines_newest(&c->lines);
    return send_request(c, waited_enough && !in_hand ? 1 : c->queue.limit, settled, e);
}
