// Deals with the answer to a take or a read: makes lines of it, or tells the window which tokens
// wait.
#include "loop/take.h"

#include <string.h>

#include "base/log.h"
#include "loop/ring.h"
#include "loop/settle.h"
#include "loop/work.h"
#include "queue/lines_columns.h"
#include "queue/reading.h"

#define RETRY_NS (50 * NS_PER_MS) // the pause before a statement is tried again
#define OBJECT_IN_USE "55006"     // the server says that another collector has the queue
#define LARGE_ROWS 500            // the memory of answers with more rows is given back when idle
#define EXAMINE_MOST 64000        // if a read is likely to pass over more, the next one takes
#define OVER_MOST 100             // if too few wait and more are passed over, the next one takes

// Deals with a look that saw everything and took nothing, because too few tokens wait: tells the
// window which ones wait, and plans the next look. False: an error of the session.
static bool too_few(struct collector *c, const PGresult *r, struct err *e)
{
    struct taking *t = &c->take;
    int waiting = 0;

    window_shown_all(&c->window, c->now_ns);
    for (int row = 0; row < PQntuples(r); row++)
        if (lines_is_token(column_int32(r, row, LINES_KIND)) ||
            column_int32(r, row, LINES_KIND) == LINES_WAITS) {
            window_shown(&c->window, column_int64(r, row, LINES_TOKEN));
            waiting++;
        }
    t->at_once = t->at_once && waiting > 0; // the rest of a backlog goes out without a wait
    if (!ring_let_go_if_fast(c, e))
        return false;
    if (c->queue.bell[0] && c->bell.step == BELL_LET_GO && !ring_rests(c)) {
        c->bell.step = BELL_WANTED; // takes the bell, and looks once more
        t->look_at_ns = 0;
    }
    return true;
}

// Returns which row of the answer is its head; -1: none is.
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

// Notes in a new line what its own rows do not tell: whether tokens were left over, why it goes
// out, and since when its tokens wait. `part` and `alone` are those of struct line.
static void note_line(struct collector *c, struct line *line, bool part, bool alone)
{
    // The last line, by the order of taking, of a take that left no token over.
    line->last = c->take.again == 0 && !c->take.more && line->order == c->lines.orders;
    line->part = part;
    line->alone = alone;
    // If tokens were left over although the line is not full, the database ended the line early.
    line->reason = line->sendable >= c->queue.limit               ? METER_BATCHES_FULL
                   : c->take.again > 0                            ? METER_BATCHES_LEFT_OVER
                   : c->take.reason == METER_BATCHES_BUDGET       ? METER_BATCHES_BUDGET
                   : c->take.more && line->count < c->queue.limit ? METER_BATCHES_SCAN
                                                                  : c->take.reason;
    for (int i = 0; i < line->count; i++) {
        struct line_token *token = &line->tokens[i];
        token->since_ns = window_taken(&c->window, token->id, c->now_ns);
        if (token->number > 1) { // a retry: its waiting time was counted with the first attempt
            work_count(c, METER_RETRIES, 1);
            token->since_ns = CLOCK_NEVER;
        }
    }
}

// Makes lines of the first `rows` rows of the answer, and takes it over. place: where the cursor
// goes when the line is settled; NULL if the lines were taken, and not only read.
static bool took(
    struct collector *c, PGresult *r, int head, int rows, const char *place, struct err *e)
{
    struct taking *t = &c->take;
    bool part = column_int32(r, head, LINES_REST) > 0,
         alone = *PQgetvalue(r, head, LINES_ALONE) != 0;
    int lines;

    note_trip(c);
    // A take has taken the lock for work in hand with its first token (sql/lines.sql).
    if (t->locks)
        settle_note_lock(c);
    t->large = t->large || PQntuples(r) > LARGE_ROWS;
    // Reading rows again tells nothing of what waits, and is no lane's turn.
    if (t->again == 0) {
        t->turns++;
        t->at_once = t->at_once && t->more;
        if (!t->more)
            window_shown_all(&c->window, c->now_ns);
        else // without a bell, producers announce each token
            window_shown_full(&c->window, !c->queue.bell[0]);
        if (t->more && !ring_let_go(c, e))
            return false;
    }
    if (!lines_show(&c->lines, r, rows, t->asked_ns, &c->doubt, &lines, e))
        return false;
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        // The lines of this answer are known by the time of its request.
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

// Deals with a take or a read that has failed. Returns true if it may succeed in this session, and
// plans the next one; false: the session has to be given up.
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

// True when all numbers are such as a working server gives. Larger ones could overflow what is
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

// Notes what a look saw. Do not call it after rows were read again, which tells nothing of what
// waits. more: tokens were left over; now: the snapshot of the look; waits: it took nothing of what
// it saw.
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
        t->all_due_at_ns = c->queue.policy->exclusive ? CLOCK_NEVER : c->now_ns + TAKE_ALL_DUE_NS;
    }
}

// Notes when to look again: when the next row comes due, or when the budget allows tokens again.
// any: the answer has a token.
static void note_times(struct collector *c, const PGresult *r, int head, bool any)
{
    struct taking *t = &c->take;
    int64_t wait_ms = column_int64(r, head, LINES_WAIT); // 0: the budget is not spent

    // Something else may have asked for an earlier look since the request was sent.
    if (!PQgetisnull(r, head, LINES_NEXT_DUE))
        t->look_at_ns = clock_min(t->look_at_ns,
            c->now_ns + clock_max(column_int64(r, head, LINES_NEXT_DUE), 1) * NS_PER_MS);
    if (wait_ms == 0)
        return;
    // A spent budget overrides the due time: nothing may be taken earlier.
    t->look_at_ns = t->budget_ns = c->now_ns + wait_ms * NS_PER_MS;
    t->reason = METER_BATCHES_BUDGET;
    t->unpaid = !any;
    if (!any)
        log_line("QUEUE", "the budget is spent for %" PRId64 " ms", wait_ms);
}

// Deals with the answer to a take, which may have settled lines, too. It took lines (any), or saw
// tokens and took none, because they are too few (waits) or the budget is spent.
static bool on_lines(struct collector *c, PGresult *r, int head, struct err *e)
{
    struct taking *t = &c->take;

    bool any = false, waits = false;

    for (int row = 0; row < PQntuples(r); row++) {
        int kind = column_int32(r, row, LINES_KIND);
        any = any || lines_is_token(kind);
        waits = waits || kind == LINES_WAITS;
    }
    bool spent = !any && column_int64(r, head, LINES_WAIT) > 0;
    bool ok = settle_done(c, r, e);
    count_passed(c, r, head);
    if (t->again == 0)
        note_look(c, *PQgetvalue(r, head, LINES_MORE) != 0, PQgetvalue(r, head, LINES_NOW), waits);
    else if (!any && !spent) // nothing is left of the rows that were read again
        lines_unhold_first(&c->lines, t->again);
    note_times(c, r, head, any);
    // Another collector may get the budget for these rows first.
    if (spent && t->again > 0 && !c->queue.policy->exclusive)
        ok = ok && settle_give_back(c, e);
    if (ok && any)
        return took(c, r, head, PQntuples(r), NULL, e);
    // Only a look that saw everything tells the window what waits.
    ok = ok && (spent || t->more || t->again > 0 || too_few(c, r, e));
    PQclear(r);
    return ok;
}

// Drops the answer, and makes the next request a take, which passes over the tokens that this read
// only saw, or that no line can carry. Returns true.
static bool must_take(struct collector *c, PGresult *r)
{
    PQclear(r);
    c->take.judge = true;
    c->take.look_at_ns = 0;
    return true;
}

// Deals with the answer to a read: makes a line of it; or tells the window what waits, because too
// few tokens wait; or plans another read or a take.
static bool on_reading(struct collector *c, PGresult *r, struct err *e)
{
    struct taking *t = &c->take;
    struct reading seen = reading_count(r, c->queue.limit);
    int over = seen.rows - 1 - seen.tokens; // tokens that were passed over; one row is the head
    bool backlog = t->more;                 // the line before had left tokens over, too
    bool all = PQntuples(r) - 1 < t->examine, full = seen.tokens == c->queue.limit;

    if (t->void_) {
        PQclear(r);
        t->look_at_ns = 0;
        return true;
    }
    // So many tokens were passed over that the line is not full, although more may wait.
    bool again = !full && !all;
    // The next read looks at this many tokens more. If none was passed over, the number is halved.
    t->passing = again ? 4 * (t->passing + over) : over > 0 ? 2 * over : t->passing / 2;
    // Only settling a line that was read moves the cursor. Without a line, the tokens that were
    // passed over would be read again at each look, so a take moves the cursor past them, if
    // nothing else waits or they are many.
    if (seen.unsendable || (again && t->passing > EXAMINE_MOST) ||
        (seen.tokens < t->fewest && all && over > 0 && (seen.tokens == 0 || over > OVER_MOST)))
        return must_take(c, r);
    if (again) {
        PQclear(r);
        t->look_at_ns = 0;
        return true;
    }
    // The last part of the head's place is the snapshot of the read.
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
    bool ok = reading_place(&seen, r, full, &place, e);
    if (ok)
        ok = took(c, r, 0, seen.rows, place.data, e);
    else
        PQclear(r);
    buf_fini(&place);
    // Under a backlog the next read is sent before this line is written, so that the server reads
    // meanwhile. A token that comes alone must not wait for that.
    bool sent;
    return ok && (!backlog || take_step(c, NULL, &sent, e));
}

bool take_on_lines(struct collector *c, PGresult *r, struct err *e)
{
    int head;

    if (!session_check(r, e)) {
        PQclear(r);
        // The settling that rode with the take has failed with it.
        settle_failed(c);
        if (c->take.locks)
            settle_may_lock(c);
        return try_again(c, e);
    }
    // A server that does not keep to the protocol may answer with any columns and rows.
    if (c->take.reads && PQnfields(r) == LINES_READ_COLUMNS && head_of(r) == 0)
        return on_reading(c, r, e);
    head = PQnfields(r) == LINES_COLUMNS ? head_of(r) : -1;
    if (head >= 0 && makes_sense(r))
        return on_lines(c, r, head, e);
    PQclear(r);
    return err_set(e, ERR_INTERNAL, "%s",
        head < 0 ? "the server's answer to a take is not what was asked for"
                 : "the server's answer makes no sense");
}
