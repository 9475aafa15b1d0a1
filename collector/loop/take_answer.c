// Deals with the answer to a take or a read: makes lines of it, or tells the window which tokens
// wait.
#include "loop/take.h"

#include "base/log.h"
#include "loop/bell_requests.h"
#include "loop/settle.h"
#include "loop/work.h"
#include "queue/lines_columns.h"
#include "queue/reading.h"

#define RETRY_NS (50 * NS_PER_MS) // the pause before a statement is tried again
#define OBJECT_IN_USE "55006"     // the server says that another collector has the queue
#define LARGE_ROWS 500            // the memory of answers with more rows is given back when idle
#define EXAMINE_MOST 64000        // if a read is likely to pass over more, a take follows instead
#define PASSED_OVER_MOST 100      // if too few wait and more are passed over, a take follows

// Deals with a look that saw everything and took nothing, because too few tokens wait: tells the
// window which tokens wait, and plans the next look. False: an error of the session.
static bool note_too_few(struct collector *c, const PGresult *r, struct err *e)
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
    // Tokens that waited before our session go out without a wait, until none of them is left.
    t->no_wait = t->no_wait && waiting > 0;
    if (!bell_request_let_go_if_fast(c, e))
        return false;
    // We are about to sleep. If there is a bell, it is taken first, and one more look follows, for
    // tokens of producers that stayed silent until then (timing/bell.h).
    if (queue_has_bell(&c->queue) && c->bell.step == BELL_LET_GO && !bell_request_polls(c)) {
        c->bell.step = BELL_WANTED;
        t->look_at_ns = 0;
    }
    return true;
}

// Returns which row of the answer is its head, which tells of the request as a whole; -1: none is.
static int head_of(const PGresult *r)
{
    for (int row = 0; row < PQntuples(r); row++)
        if (column_int32(r, row, LINES_KIND) == LINES_HEAD)
            return row;
    return -1;
}

// Counts the tokens that the take passed over, by reason, and its dead letters.
static void count_passed(struct collector *c, const PGresult *r, int head)
{
    // In the head, the column of errors has how many tokens became dead letters.
    struct passed passed = {.expired = column_int64(r, head, LINES_EXPIRED),
        .consumed = column_int64(r, head, LINES_CONSUMED),
        .status = column_int64(r, head, LINES_OTHERS)};

    tally_add(
        &c->tally, &c->metrics->meters, &passed, column_int32(r, head, LINES_ERRORS), c->now_ns);
}

// Notes in a new line what its own rows do not tell: whether tokens were left over, why it goes
// out, and since when its tokens wait. `has_rest` and `alone` are those of struct line.
static void note_line(struct collector *c, struct line *line, bool has_rest, bool alone)
{
    line->none_after =
        c->take.reread == 0 && !c->take.backlog && line->order == c->lines.last_order;
    line->has_rest = has_rest;
    line->alone = alone;
    // METER_BATCHES_SCAN: more tokens wait although the line is not full, because mailroom_take had
    // looked at as many rows as it may.
    line->reason = line->sendable >= c->queue.limit                  ? METER_BATCHES_FULL
                   : c->take.reread > 0                              ? METER_BATCHES_LEFT_OVER
                   : c->take.reason == METER_BATCHES_BUDGET          ? METER_BATCHES_BUDGET
                   : c->take.backlog && line->count < c->queue.limit ? METER_BATCHES_SCAN
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

// Makes lines of the first `rows` rows of the answer, and takes over the answer. `head`: as head_of
// returns it. `place`: where the cursor goes when the line is settled; NULL if the lines were
// taken, and not only read.
static bool make_lines(
    struct collector *c, PGresult *r, int head, int rows, const char *place, struct err *e)
{
    struct taking *t = &c->take;
    bool has_rest = column_int32(r, head, LINES_REST) > 0,
         alone = *PQgetvalue(r, head, LINES_ALONE) != 0;

    // Keeps how long this request took, for take_stale_ns.
    t->trips_ns[t->trip_count++ % TAKE_TRIPS] = c->now_ns - t->asked_ns;
    // A take has taken the lock for work in hand with its first token (sql/lines.sql).
    if (t->asked_lock)
        settle_lock_asked(c, true);
    t->large_answer = t->large_answer || PQntuples(r) > LARGE_ROWS;
    // A take that reads rows again tells nothing of what waits, and is no lane's turn.
    if (t->reread == 0) {
        t->turns++;
        t->no_wait = t->no_wait && t->backlog;
        if (!t->backlog)
            window_shown_all(&c->window, c->now_ns);
        else // without a bell, producers are taken to announce each token
            window_shown_full(&c->window, !queue_has_bell(&c->queue));
        if (t->backlog && !bell_request_let_go(c, e)) {
            PQclear(r);
            return false;
        }
    }
    if (!lines_add_answer(&c->lines, r, rows, t->asked_ns, &c->doubt, e))
        return false;
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        // Only the lines of this answer have the time of its request.
        if (line->state != LINE_TAKEN || line->asked_ns != t->asked_ns)
            continue;
        note_line(c, line, has_rest, alone);
        if (t->reread > 0)
            lines_forget_reread(&c->lines, line->n);
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
        return queue_fail_lost(&c->queue, e);
    if (!work_may_retry(e))
        return false;
    t->retry_at_ns = c->now_ns + RETRY_NS;
    t->look_at_ns = 0;
    return true;
}

static bool is_within(int64_t value, int64_t least, int64_t most)
{
    return least <= value && value <= most;
}

// True when all numbers are in the range that a working server gives. Larger ones could overflow
// what is computed from them.
static bool numbers_in_range(const PGresult *r)
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

// Notes what a look saw. Do not call it after a take that read rows again, which tells nothing of
// what waits. `more`: tokens were left over; `snapshot`: that of the look; `none_taken`: tokens
// wait, and none was taken, because they are too few.
static void note_look(struct collector *c, bool more, const char *snapshot, bool none_taken)
{
    struct taking *t = &c->take;

    t->backlog = more;
    if (t->backlog)
        return;
    bell_looked(&c->bell, snapshot, c->now_ns);
    if (none_taken)
        return; // the rows that are due were not taken either
    t->complete_ns = t->asked_ns;
    if (t->asked_all_due) {
        t->all_due = false;
        t->all_due_at_ns = c->queue.policy->exclusive ? CLOCK_NEVER : c->now_ns + TAKE_ALL_DUE_NS;
    }
}

// Notes when to look again: when the next row comes due, or when the budget allows tokens again.
// `any`: the answer has a token of a line.
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
    t->unpaid = !any; // nothing was granted, so no row to be read again is paid for either
    if (!any)
        log_line("QUEUE", "the budget is spent for %" PRId64 " ms", wait_ms);
}

// Deals with the answer to a take, which may have settled lines, too. The take took lines (any), or
// saw tokens and took none, because they are too few (waits) or the budget is spent.
static bool on_take(struct collector *c, PGresult *r, int head, struct err *e)
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
    if (t->reread == 0)
        note_look(c, *PQgetvalue(r, head, LINES_MORE) != 0, PQgetvalue(r, head, LINES_NOW), waits);
    else if (!any && !spent) // nothing is left of the rows that were read again
        lines_forget_first_rereads(&c->lines, t->reread);
    note_times(c, r, head, any);
    // Where one works alone, it owns all rows, so none is to be looked for.
    bool saw_all =
        t->reread == 0 && !t->backlog && (t->asked_all_due || c->queue.policy->exclusive);
    if (saw_all && !any && !waits && !spent)
        settle_saw_nothing(c);
    // Give back all that is not begun: another collector may get a budget for it before us.
    if (spent && t->reread > 0 && !c->queue.policy->exclusive)
        ok = ok && settle_give_back(c, e);
    if (ok && any)
        return make_lines(c, r, head, PQntuples(r), NULL, e);
    // Only a look that saw everything tells the window what waits.
    ok = ok && (spent || t->backlog || t->reread > 0 || note_too_few(c, r, e));
    PQclear(r);
    return ok;
}

// Drops the answer to a read, and plans the next request at once: a take if must_take is set, else
// another read. Returns true.
static bool ask_once_more(struct collector *c, PGresult *r)
{
    PQclear(r);
    c->take.look_at_ns = 0;
    return true;
}

// Deals with the answer to a read: makes a line of it; or tells the window what waits, because too
// few tokens wait; or plans another read or a take.
static bool on_read(struct collector *c, PGresult *r, struct err *e)
{
    struct taking *t = &c->take;
    struct reading seen = reading_count(r, c->queue.limit);
    int passed_over = seen.rows - 1 - seen.tokens; // the first row is the head
    bool backlog_before = t->backlog;              // the read before had left tokens over
    bool all = PQntuples(r) - 1 < t->examine;      // the read saw everything that waits
    bool full = seen.tokens == c->queue.limit;

    if (t->asked == ASKED_READ_IN_VAIN)
        return ask_once_more(c, r);
    // So many tokens were passed over that the line is not full, although more may wait.
    bool short_line = !full && !all;
    // The next read looks at this many tokens more. The guess grows fast, so that few reads fall
    // short, and shrinks when nothing is passed over.
    if (short_line)
        t->expect_passed = 4 * (t->expect_passed + passed_over);
    else
        t->expect_passed = passed_over > 0 ? 2 * passed_over : t->expect_passed / 2;
    // After a read, only settling its line moves the cursor. If too few tokens wait for a line,
    // those that were passed over would be read again at each look. So a take moves the cursor past
    // them, if nothing else waits or they are many. And only a take makes dead letters.
    bool too_few = all && seen.tokens < t->fewest;
    bool must_pass = too_few && passed_over > (seen.tokens == 0 ? 0 : PASSED_OVER_MOST);
    // More are passed over than a read should look at. A take moves the cursor past them, so the
    // guess begins anew. If it stayed, the read after the take would be larger still, and so on.
    bool too_many = short_line && t->expect_passed > EXAMINE_MOST;
    t->must_take = seen.unsendable || must_pass || too_many;
    if (too_many)
        t->expect_passed = 0;
    if (t->must_take || short_line)
        return ask_once_more(c, r);
    // The last part of the head's place is the snapshot of the read.
    const char *place_now = strrchr(PQgetvalue(r, 0, LINES_PLACE), ';');
    note_look(c, full, place_now ? place_now + 1 : "", too_few && seen.tokens > 0);
    if (too_few) {
        bool ok = note_too_few(c, r, e);
        PQclear(r);
        return ok;
    }
    tally_add(&c->tally, &c->metrics->meters, &seen.passed, 0, c->now_ns);
    struct buf place FREED_BY(buf_fini) = BUF_INIT(SIZE_MAX);
    if (!reading_place(&seen, r, full, &place, e)) {
        PQclear(r);
        return false;
    }
    // Under a backlog the next read is sent before this line is written, so that the server reads
    // meanwhile. Otherwise the line goes first: a token that comes alone must not wait for a read.
    bool sent;
    return make_lines(c, r, 0, seen.rows, place.data, e) &&
           (!backlog_before || take_step(c, NULL, &sent, e));
}

bool take_on_answer(struct collector *c, PGresult *r, struct err *e)
{
    int head;

    if (!session_check(r, e)) {
        PQclear(r);
        // The lines that a take was to settle are not settled. A read settles none.
        if (c->take.asked == ASKED_TAKE)
            settle_failed(c);
        if (c->take.asked_lock)
            settle_lock_asked(c, false);
        return try_again(c, e);
    }
    // A server that does not keep to the protocol may answer with any columns and rows.
    if (c->take.asked != ASKED_TAKE && PQnfields(r) == LINES_READ_COLUMNS && head_of(r) == 0)
        return on_read(c, r, e);
    head = PQnfields(r) == LINES_COLUMNS ? head_of(r) : -1;
    if (head >= 0 && numbers_in_range(r))
        return on_take(c, r, head, e);
    PQclear(r);
    return err_set(e, ERR_INTERNAL, "%s",
        head < 0 ? "the server's answer to a take is not what was asked for"
                 : "the server's answer makes no sense");
}
