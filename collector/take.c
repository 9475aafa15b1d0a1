// A take looks first, in the database: if too few tokens wait, it changes nothing and tells their
// ids, which the window (window.h) needs. So a look and a take are one request.
//
// While tokens wait in plenty, two lines are taken at once, and the next take rides in the
// transaction that settles the last of them, so that it costs no flush of its own. Each line must
// be begun soon after its tokens were read. If it was not, its row is still ours and is read again:
// a token may have expired meanwhile, and a collector that was stopped learns so that it lost the
// row.
//
// One that works alone, without lanes or a budget, takes nothing: it reads, and the settling of the
// line moves the cursor. So a token that comes alone waits for no flush. While a line is written
// and settled, the next one is read behind it. That is not earlier than when the line before both
// was out, so a line holds what the database had when the last but one was out, in each mode.
#include "take.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "lines_columns.h"
#include "queue_lines.h"
#include "ring.h"
#include "settle.h"
#include "work.h"

#define RETRY_NS (50 * NS_PER_MS)  // before a statement is tried again
#define ALL_DUE_NS (30 * NS_PER_S) // between two looks at everything that is due
#define DUE_MARGIN_MS 10000        // a token may be committed this long after it came due
#define SOON_NS (125 * NS_PER_MS)  // lines that were used up sooner may be more next time
#define OBJECT_IN_USE "55006"      // the server says that another collector has the queue
#define LARGE_ROWS 500             // memory for more than this is given back when idle
#define TOKENS_MOST 4000           // most tokens that are taken at once
#define EXAMINE_MOST 64000         // most tokens that a read passes over
#define OVER_MOST 100              // so many ahead of too few are passed over before the line

void take_restart(struct collector *c)
{
    // Where one works at a time, its claim has made everything its own that others had in hand.
    bool alone = c->queue.policy->exclusive;

    c->take = (struct taking){.at_once = true,
        .all_due = !alone,
        .all_due_at_ns = alone ? CLOCK_NEVER : c->now_ns + ALL_DUE_NS,
        .complete_ns = CLOCK_NEVER,
        .lines = 1};
    window_restart(&c->window, c->now_ns);
}

void take_look_at_all(struct collector *c)
{
    c->take.all_due = true;
    c->take.look_at_ns = 0;
}

// If our session ended meanwhile, others leave us the grace; half of it keeps us clear of them. On
// a network or a machine that is always slow, no answer would be young enough. There the quickest
// of the last takes says what can be expected, up to half a lease.
int64_t take_stale_ns(const struct collector *c)
{
    int64_t quickest_ns = CLOCK_NEVER;

    for (int i = 0; i < TAKE_TRIPS; i++)
        quickest_ns = clock_min(quickest_ns, c->take.trips_ns[i]);
    int64_t usual_ns = work_stale_ns(c), slow_ns = 2 * quickest_ns;
    return clock_min(slow_ns > usual_ns ? slow_ns : usual_ns, work_lease_ns(c->config) / 2);
}

bool take_hold_old(struct collector *c, struct err *e)
{
    struct line *first = lines_first(&c->lines, LINE_TAKEN), *line;

    if (!first || c->now_ns - first->asked_ns <= take_stale_ns(c))
        return true;
    // All of them: a line that was taken later must not go out before an older one.
    while ((line = lines_first(&c->lines, LINE_TAKEN))) {
        c->take.at_once = c->take.at_once || line->n == 0;
        c->take.void_ = true; // what is being read behind it may hold the same tokens
        if (!lines_hold(&c->lines, line, e))
            return false;
    }
    return true;
}

// Doubles the number of lines to take at once if the last ones were used up soon, or else halves
// it. With lanes or a budget it stays one: what is taken goes out before any token of a higher lane
// that comes later, and is paid for. With answers no more are taken than may be out at once: the
// others would only be kept from other senders.
static int choose_lines(struct collector *c)
{
    struct taking *t = &c->take;
    int64_t most = clock_min(TAKE_LINES, TOKENS_MOST / c->queue.limit);

    if (c->queue.lanes || c->queue.budget)
        return 1;
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

// Returns since when something may have come due, as milliseconds before now; -1: always, 0: never.
// Only answers make rows that come due by themselves. All others belong to nobody since somebody
// gave them back, which the look at the other collectors tells.
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

// True if the next line is read, and not taken. One of several lanes, of rows, or with a budget
// must be taken. Only a take leaves out what no line can carry, and fills the line up.
static bool reads(const struct collector *c, int64_t due)
{
    return c->queue.policy->exclusive && !c->queue.lanes && !c->queue.budget && !c->take.judge &&
           c->lines.held_count == 0 && due == 0;
}

// Writes the rows to read again as an array. One that works alone names all, so that their tokens
// make full lines in their order; the others fill a line up with what waits.
static bool name_rows(struct collector *c, struct buf *array, struct err *e)
{
    const struct lines *l = &c->lines;
    int n = c->queue.policy->exclusive || l->held_count == 0 ? l->held_count : 1;

    c->take.again = n;
    for (int i = 0; i < n; i++)
        buf_printf(array, "%s%" PRId64, i > 0 ? "," : "{", l->held[i].n);
    if (n > 0)
        buf_append_char(array, '}');
    return n == 0 || buf_str(array) || err_memory(e);
}

// Reads as many tokens as the line may hold, and as many more as were lately passed over.
static bool send_read(struct collector *c, struct err *e)
{
    struct taking *t = &c->take;
    const struct line *line = lines_newest(&c->lines);

    t->examine = (int)clock_min((int64_t)c->queue.limit + t->passing, INT32_MAX);
    return queue_send_read(&c->queue, &c->link.session, t->examine, line ? line->place.data : NULL,
        work_deadline_ns(c), e);
}

static bool send(struct collector *c, int fewest, const struct settled *settled, struct err *e)
{
    struct taking *t = &c->take;
    int64_t due = due_ms(c);
    struct buf again;

    buf_init(&again, SIZE_MAX);
    // The bell is taken first, so that tokens that are inserted after this look are announced.
    bool ok = name_rows(c, &again, e) && (t->again > 0 || ring_take(c, e));
    t->asked_ns = c->now_ns;
    t->asked_all = due < 0;
    t->fewest = fewest;
    t->reads = reads(c, due);
    t->judge = t->void_ = false;
    t->look_at_ns = CLOCK_NEVER;
    if (t->again == 0)
        window_reading(&c->window, c->now_ns);
    if (t->reads)
        return ok && send_read(c, e);
    ok = ok && queue_send_lines(&c->queue, &c->link.session,
                   &(struct lines_request){.fewest = fewest,
                       .lines = fewest < c->queue.limit ? 1 : choose_lines(c),
                       .again = t->again > 0 ? again.data : NULL,
                       .due_ms = due,
                       .aged = t->turns % QUEUE_AGED_TURN == QUEUE_AGED_TURN - 1,
                       .busy = !c->settle.busy,
                       .settled = settled},
                   work_deadline_ns(c), e);
    buf_fini(&again);
    return ok;
}

// True when the next line may be read: behind the one in hand, if that was read, too, and more
// waits.
static bool may_read(const struct collector *c)
{
    const struct line *line = lines_newest(&c->lines);

    return !line || (c->take.more && line->n == 0 &&
                        lines_in(&c->lines, LINE_TAKEN) + lines_in(&c->lines, LINE_OUT) <= 1);
}

// True when a line could be begun at once. One that had to wait here would only be kept from
// others.
static bool may_take(struct collector *c, const struct settled *settled)
{
    const struct lines *l = &c->lines;

    if (work_stopping(c) || c->settle.doubt != DOUBT_CLEARED ||
        session_awaits(&c->link.session, QUEUE_LINES) || !sender_ready(c))
        return false;
    if (!settled && reads(c, due_ms(c)))
        return may_read(c);
    if (lines_in(l, LINE_TAKEN) > 0)
        return false;
    if (!c->queue.policy->answers)
        return settled || (lines_in(l, LINE_OUT) == 0 && lines_in(l, LINE_WRITTEN) == 0);
    return !lines_alone(l) && lines_in(l, LINE_OUT) < (int)c->config->leased.in_flight;
}

// Returns when to look for tokens; 0: at once.
static int64_t due_at_ns(struct collector *c)
{
    struct taking *t = &c->take;
    int64_t at_ns = clock_min(window_due_ns(&c->window), t->look_at_ns);

    if (t->at_once || t->more || c->lines.held_count > 0)
        at_ns = 0;
    at_ns = clock_min(at_ns, ring_due_ns(c));
    // Nothing can go out before. But rows of ours may be paid for.
    if (t->budget_ns > c->now_ns && (c->lines.held_count == 0 || t->unpaid))
        at_ns = t->budget_ns;
    return clock_max(at_ns, t->retry_at_ns);
}

bool take_step(struct collector *c, const struct settled *settled, bool *sent, struct err *e)
{
    struct taking *t = &c->take;

    *sent = false;
    if (!may_take(c, settled))
        return true;
    // What rides with a settle must find a full line: else two requests are as good.
    if (settled && (!t->more || c->lines.held_count > 0 || c->queue.budget || reads(c, due_ms(c))))
        return true;
    int64_t at_ns = due_at_ns(c);
    if (at_ns > c->now_ns) {
        work_wake_at(c, at_ns);
        return true;
    }
    bool timeout = t->at_once || window_timeout_ns(&c->window) <= c->now_ns;
    t->reason = t->at_once ? METER_BATCHES_START : METER_BATCHES_TIMEOUT;
    *sent = true;
    return send(c, timeout && !settled ? 1 : c->queue.limit, settled, e);
}

// --- the answer -------------------------------------------------------------------

static bool is_token(int kind)
{
    return kind == TOKEN_ACTIVATION || kind == TOKEN_PASSWORD_RECOVERY;
}

// The look saw everything, and took nothing.
static bool too_few(struct collector *c, const PGresult *r, struct err *e)
{
    struct taking *t = &c->take;
    int waiting = 0;

    window_shown_all(&c->window, c->now_ns);
    for (int row = 0; row < PQntuples(r); row++)
        if (is_token(column_int32(r, row, LINES_KIND)) ||
            column_int32(r, row, LINES_KIND) == LINES_WAITS) {
            window_shown(&c->window, column_int64(r, row, LINES_TOKEN));
            waiting++;
        }
    t->at_once = t->at_once && waiting > 0; // what is left of a backlog goes out now
    if (!ring_let_go_if_fast(c, e))
        return false;
    if (c->queue.bell[0] && c->bell.step == BELL_LET_GO && !ring_rests(c)) {
        c->bell.step = BELL_WANTED; // then looks once more
        t->look_at_ns = 0;
    }
    return true;
}

// Notes what the first row tells. Returns its place; -1: there is none.
static int head_of(const PGresult *r)
{
    for (int row = 0; row < PQntuples(r); row++)
        if (column_int32(r, row, LINES_KIND) == LINES_HEAD)
            return row;
    return -1;
}

static void count_passed(struct collector *c, const PGresult *r, int head)
{
    struct passed passed = {.expired = column_int64(r, head, LINES_EXPIRED),
        .consumed = column_int64(r, head, LINES_CONSUMED),
        .status = column_int64(r, head, LINES_OTHERS)};

    tally_add(
        &c->tally, &c->metrics->meters, &passed, column_int32(r, head, LINES_ERRORS), c->now_ns);
}

static void note_trip(struct collector *c)
{
    c->take.trips_ns[c->take.trip++ % TAKE_TRIPS] = c->now_ns - c->take.asked_ns;
}

static void note_line(struct collector *c, struct line *line, bool part, bool alone)
{
    line->last = c->take.again == 0 && !c->take.more && line->order == c->lines.orders;
    line->part = part;
    line->alone = alone;
    line->reason = line->sendable >= c->queue.limit               ? METER_BATCHES_FULL
                   : c->take.again > 0                            ? METER_BATCHES_LEFT_OVER
                   : c->take.reason == METER_BATCHES_BUDGET       ? METER_BATCHES_BUDGET
                   : c->take.more && line->count < c->queue.limit ? METER_BATCHES_SCAN
                                                                  : c->take.reason;
    for (int i = 0; i < line->count; i++) {
        struct line_token *token = &line->tokens[i];
        token->since_ns = window_taken(&c->window, token->id, c->now_ns);
        if (token->number > 1) { // and its waiting time was counted with its first attempt
            work_count(c, METER_RETRIES, 1);
            token->since_ns = CLOCK_NEVER;
        }
    }
}

static bool took(
    struct collector *c, PGresult *r, int head, int rows, const char *place, struct err *e)
{
    struct taking *t = &c->take;
    bool part = column_int32(r, head, LINES_REST) > 0,
         alone = *PQgetvalue(r, head, LINES_ALONE) != 0;
    int lines;

    note_trip(c);
    c->settle.busy = c->settle.busy || !t->reads;
    t->turns++;
    t->large = t->large || PQntuples(r) > LARGE_ROWS;
    // To read a row again tells nothing of what waits.
    if (t->again == 0) {
        t->at_once = t->at_once && t->more;
        if (!t->more)
            window_shown_all(&c->window, c->now_ns);
        else if (!ring_let_go(c, e))
            return false;
    }
    if (!lines_show(&c->lines, r, rows, t->asked_ns, &c->doubt, &lines, e))
        return false;
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        if (line->state != LINE_TAKEN || line->asked_ns != t->asked_ns)
            continue;
        note_line(c, line, part, alone);
        if (t->again > 0)
            lines_unhold(&c->lines, line->n);
        if (place) {
            buf_append_str(&line->place, place);
            if (!buf_str(&line->place))
                return err_memory(e);
        }
    }
    return true;
}

static bool try_again(struct collector *c, struct err *e)
{
    struct taking *t = &c->take;

    if (strcmp(e->sqlstate, OBJECT_IN_USE) == 0)
        return queue_lost(&c->queue, e);
    if (!work_may_retry(c, e))
        return false;
    t->retry_at_ns = c->now_ns + RETRY_NS;
    t->look_at_ns = 0;
    return true;
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
        ok = is_within(column_int32(r, row, LINES_NUMBER), 0, most) &&
             is_within(column_int32(r, row, LINES_ERRORS), 0, most) &&
             is_within(column_int64(r, row, LINES_EXPIRED), 0, most) &&
             is_within(column_int64(r, row, LINES_CONSUMED), 0, most) &&
             is_within(column_int64(r, row, LINES_OTHERS), 0, most) &&
             is_within(column_int64(r, row, LINES_WAIT), 0, most_ms) &&
             is_within(column_int64(r, row, LINES_NEXT_DUE), -most_ms, most_ms);
    return ok;
}

// Notes what a look saw of all that waits. To read rows again tells nothing of it.
static void note_look(struct collector *c, bool more, const char *now, bool waits)
{
    struct taking *t = &c->take;

    t->more = more;
    if (t->more)
        return;
    bell_looked(&c->bell, now, c->now_ns);
    if (waits)
        return;
    t->complete_ns = t->asked_ns;
    if (t->asked_all) {
        t->all_due = false;
        t->all_due_at_ns = c->queue.policy->exclusive ? CLOCK_NEVER : c->now_ns + ALL_DUE_NS;
    }
}

static void note_times(struct collector *c, const PGresult *r, int head, bool any)
{
    struct taking *t = &c->take;
    int64_t wait_ms = column_int64(r, head, LINES_WAIT);

    if (!PQgetisnull(r, head, LINES_NEXT_DUE))
        t->look_at_ns = clock_min(t->look_at_ns,
            c->now_ns + clock_max(column_int64(r, head, LINES_NEXT_DUE), 1) * NS_PER_MS);
    if (wait_ms == 0)
        return;
    t->look_at_ns = t->budget_ns = c->now_ns + wait_ms * NS_PER_MS;
    t->reason = METER_BATCHES_BUDGET;
    t->unpaid = !any;
    if (!any)
        log_line("QUEUE", "the budget is spent for %" PRId64 " ms", wait_ms);
}

static bool on_lines(struct collector *c, PGresult *r, int head, struct err *e)
{
    struct taking *t = &c->take;

    bool any = false, waits = false;

    for (int row = 0; row < PQntuples(r); row++) {
        int kind = column_int32(r, row, LINES_KIND);
        any = any || is_token(kind);
        waits = waits || kind == LINES_WAITS;
    }
    bool spent = !any && column_int64(r, head, LINES_WAIT) > 0;
    bool ok = settle_done(c, r, e);
    count_passed(c, r, head);
    if (t->again == 0)
        note_look(c, *PQgetvalue(r, head, LINES_MORE) != 0, PQgetvalue(r, head, LINES_NOW), waits);
    else if (!any && !spent)
        lines_unhold_first(&c->lines, t->again);
    note_times(c, r, head, any);
    // Others may have budget for it first.
    if (spent && t->again > 0 && !c->queue.policy->exclusive)
        ok = ok && settle_give_back(c, e);
    if (ok && any)
        return took(c, r, head, PQntuples(r), NULL, e);
    ok = ok && (spent || t->more || t->again > 0 || too_few(c, r, e));
    PQclear(r);
    return ok;
}

// --- the answer to a read -------------------------------------------------------------

// What a read saw: the rows up to the last one that the line has, or all of them.
struct reading {
    int rows, tokens, last;
    bool unsendable;
    struct passed passed;
};

static struct reading count_read(const struct collector *c, const PGresult *r)
{
    struct reading seen = {.rows = 1};

    for (int row = 1; row < PQntuples(r) && seen.tokens < c->queue.limit; row++) {
        const char *passed = PQgetvalue(r, row, LINES_PASSED);
        if (is_token(column_int32(r, row, LINES_KIND))) {
            const struct token t = lines_token(r, row);
            seen.unsendable = seen.unsendable || line_unsendable(&t);
            seen.tokens++;
        } else if (strcmp(passed, "expired") == 0) {
            seen.passed.expired++;
        } else if (strcmp(passed, "consumed") == 0) {
            seen.passed.consumed++;
        } else {
            seen.passed.status++;
        }
        seen.rows = row + 1;
    }
    return seen;
}

// Writes where the cursor goes when the line is settled, from the head's place: n, seen, tick and
// the snapshot that was read in. A line behind which nothing waits takes the cursor up to that. One
// that ends in part 2 has used up the tick.
static bool make_place(
    struct buf *place, const PGresult *r, const struct reading *seen, bool more, struct err *e)
{
    const char *n = PQgetvalue(r, 0, LINES_PLACE), *parts[3] = {NULL};
    const char *at = n;

    for (int i = 0; i < 3 && at; i++)
        if ((at = strchr(at, ';')) != NULL)
            parts[i] = ++at;
    if (!parts[2])
        return err_set(e, ERR_INTERNAL, "the server's answer to a read has no place");
    bool next = column_int32(r, seen->rows - 1, LINES_PART) == 2;
    const char *from = !more ? parts[2] : next ? parts[1] : parts[0];
    const char *tick = !more || next ? parts[2] : parts[1];
    buf_printf(place, "%.*s;%.*s;%.*s;%" PRId64 ";%" PRId64, (int)strcspn(n, ";"), n,
        (int)strcspn(from, ";"), from, (int)strcspn(tick, ";"), tick,
        column_int64(r, seen->rows - 1, LINES_XID), column_int64(r, seen->rows - 1, LINES_TOKEN));
    return buf_str(place) || err_memory(e);
}

// The next one takes: it passes over what this one only saw, or what no line can carry.
static bool must_take(struct collector *c, PGresult *r)
{
    PQclear(r);
    c->take.judge = true;
    c->take.look_at_ns = 0;
    return true;
}

static bool on_read(struct collector *c, PGresult *r, struct err *e)
{
    struct taking *t = &c->take;
    struct reading seen = count_read(c, r);
    int over = seen.rows - 1 - seen.tokens;
    bool all = PQntuples(r) - 1 < t->examine, full = seen.tokens == c->queue.limit;

    if (t->void_) {
        PQclear(r);
        t->look_at_ns = 0;
        return true;
    }
    // So many were passed over that the line is not full although more may wait.
    bool again = !full && !all;
    t->passing = again ? 4 * (t->passing + over) : over > 0 ? 2 * over : t->passing / 2;
    if (seen.unsendable || (again && t->passing > EXAMINE_MOST) ||
        (seen.tokens < t->fewest && all && over > 0 && (seen.tokens == 0 || over > OVER_MOST)))
        return must_take(c, r);
    if (again) {
        PQclear(r);
        t->look_at_ns = 0;
        return true;
    }
    const char *place_now = strrchr(PQgetvalue(r, 0, LINES_PLACE), ';');
    note_look(c, full, place_now ? place_now + 1 : "", seen.tokens > 0 && seen.tokens < t->fewest);
    if (seen.tokens < t->fewest) {
        bool ok = too_few(c, r, e);
        PQclear(r);
        return ok;
    }
    tally_add(&c->tally, &c->metrics->meters, &seen.passed, 0, c->now_ns);
    struct buf place;
    buf_init(&place, SIZE_MAX);
    bool ok = make_place(&place, r, &seen, full, e);
    if (ok)
        ok = took(c, r, 0, seen.rows, place.data, e);
    else
        PQclear(r);
    buf_fini(&place);
    return ok;
}

bool take_on_lines(struct collector *c, PGresult *r, struct err *e)
{
    int head;

    if (!session_check(r, e)) {
        PQclear(r);
        settle_failed(c);
        return try_again(c, e);
    }
    if (c->take.reads && PQnfields(r) == LINES_READ_COLUMNS && head_of(r) == 0)
        return on_read(c, r, e);
    head = PQnfields(r) == LINES_COLUMNS ? head_of(r) : -1;
    if (head >= 0 && makes_sense(r))
        return on_lines(c, r, head, e);
    PQclear(r);
    return err_set(e, ERR_INTERNAL, "%s",
        head < 0 ? "the server's answer to a take is not what was asked for"
                 : "the server's answer makes no sense");
}
