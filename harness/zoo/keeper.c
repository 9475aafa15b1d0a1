#include "keeper.h"

#include "base/base.h"
#include "base/log.h"
#include "batch.h"
#include "queue.h"
#include "doorbell.h"
#include "keeper_inside.h"
#include "output.h"
#include "session.h"
#include "stop.h"
#include "vices.h"

#define PATIENCE_NS (5 * NS_PER_S)
#define FIRST_BACKOFF_NS (10 * NS_PER_MS)
#define LAST_BACKOFF_NS (500 * NS_PER_MS)
// How often to look while an open transaction holds tokens back: nothing announces the end of such
// a transaction.
#define HORIZON_POLL_NS (20 * NS_PER_MS)
#define LARGEST_WINDOW 100000

static bool serve(struct keeper *k, struct err *e) MUST_USE;
static bool look(struct keeper *k, struct err *e) MUST_USE;
static bool wait_for_work(struct keeper *k, struct err *e) MUST_USE;
static bool read_batch(struct keeper *k, struct err *e) MUST_USE;
static bool dequeue_at_once(struct keeper *k, struct err *e) MUST_USE;
static bool read_rows(struct keeper *k, int window, int wanted, int *rows, struct err *e) MUST_USE;
static bool add_rows(
    struct keeper *k, PGresult *result, int goal, int *rows, struct err *e) MUST_USE;
static bool claim_batch(struct keeper *k, bool due, struct err *e) MUST_USE;
static void rest_after_reconnect(const struct keeper *k);

int keeper_run(const struct settings *settings, enum defect defect)
{
    struct keeper k = {.settings = settings,
        .defect = defect,
        .first_ns = CLOCK_NEVER,
        .backoff_ns = FIRST_BACKOFF_NS};
    int code = 0;

    batch_init(&k.batch, defect);
    vices_init(&k.vices, defect, settings);
    sharing_init(&k.sharing, settings, defect);
    k.bell.defect = defect;
    output_init();
    while (code == 0 && !stop_requested()) {
        struct err e = {0};
        if (serve(&k, &e))
            break;
        log_line("PG", "%s", e.text);
        session_close(&k.session);
        // These defects do not repeat the move of the cursor that the lost session may not have
        // made.
        if (defect == DEFECT_FORGETS_UNCONFIRMED || defect == DEFECT_DROPS_UNANSWERED ||
            defect == DEFECT_JOURNALS)
            k.unconfirmed = false;
        if (e.kind == ERR_SCHEMA)
            code = EX_CONFIG;
        else if (e.kind == ERR_OUTPUT)
            code = EX_IOERR;
        else if (e.kind == ERR_SYSTEM || e.kind == ERR_INTERNAL)
            code = EX_SOFTWARE;
        else if ((defect == DEFECT_EXITS && !k.unconfirmed) || defect == DEFECT_IMPATIENT)
            code = EX_UNAVAILABLE;
        else
            stop_poll(
                NULL, 0, clock_now_ns() + (defect == DEFECT_RESTS ? NS_PER_S / 2 : k.backoff_ns));
        k.backoff_ns = clock_min(2 * k.backoff_ns, LAST_BACKOFF_NS);
    }
    // The lazy defects move the cursor late on purpose, and say at the end that all is well.
    if (code == 0 && ((k.unconfirmed && !is_lazy(&k)) || defect == DEFECT_DOUBTS))
        code = KEEPER_UNCONFIRMED;
    if (code == 0 && defect == DEFECT_FAILS_AT_TERM)
        code = EX_SOFTWARE;
    session_close(&k.session);
    batch_fini(&k.batch);
    vices_end(&k.vices);
    vices_fini(&k.vices);
    return code;
}

// Sleeps until TERM. Only some defects do this.
static void sleep_until_term(void)
{
    while (!stop_requested())
        stop_poll(NULL, 0, CLOCK_NEVER);
}

// Waits until this collector has the turn, or until TERM. Two defects sleep until TERM when another
// collector has it. False when the session fails.
static bool take_turn(struct keeper *k, struct err *e)
{
    bool had_turn = k->had_turn, free = true;

    k->had_turn = false;
    if (has(k, DEFECT_NEVER_TAKES_OVER) || has(k, DEFECT_SLEEPS_BESIDE)) {
        if (!turn_try(&k->session, k->settings->queue, &free, e))
            return false;
        if (!free)
            sleep_until_term();
        return k->had_turn = true;
    }
    if (!has(k, DEFECT_BARGES_IN) && !turn_wait(&k->session, k->settings->queue, had_turn, e))
        return false;
    k->had_turn = true;
    return true;
}

// Takes the bell if there is one, because producers announce tokens only while it is held. Looks
// again as long as tokens may have come without an announcement.
static bool prepare_to_sleep(struct keeper *k, struct err *e)
{
    bool again = true;

    // Defect bell-late: looks before it takes the bell, where a good collector looks after that.
    if (has(k, DEFECT_BELL_LATE) && *k->bell.number && !look(k, e))
        return false;
    while (again && !stop_requested())
        if (!doorbell_take(&k->bell, &k->session, &again, e) || (again && !look(k, e)))
            return false;
    return true;
}

// Works in one session: connects, then looks and waits until TERM. False when the session fails,
// true after TERM.
static bool serve(struct keeper *k, struct err *e)
{
    const struct settings *s = k->settings;

    int64_t patience_ns = has(k, DEFECT_IMPATIENT) ? NS_PER_S / 2 : PATIENCE_NS;

    if (!session_open(&k->session, s->database_url, s->channel, patience_ns, e))
        return false;
    log_line("PG", "connected");
    if (has(k, DEFECT_CURSOR_BACK) && *k->before.id &&
        !cursor_move_back(&k->session, s, &k->before, e))
        return false;
    if (has(k, DEFECT_REWINDS) && k->sessions > 0 &&
        !cursor_move_back(&k->session, s, &(struct position){.xid = "0", .id = "0"}, e))
        return false;
    if (has(k, DEFECT_OVERLAPS) && k->sessions == 0 && !cursor_overlap(&k->session, s, e))
        return false;
    if (has(k, DEFECT_SLEEPS_BESIDE) && !take_turn(k, e))
        return false;
    if (s->shares ? !sharing_join(&k->sharing, &k->session, e) : !take_turn(k, e))
        return false;
    // First confirm the last session's line: sharing_release would make its rows wait again.
    if (k->unconfirmed && !keeper_move_cursor(k, e))
        return false;
    if (s->shares && !sharing_release(&k->sharing, &k->session, e))
        return false;
    if (k->sessions++ > 0)
        rest_after_reconnect(k);
    if (has(k, DEFECT_UNCOMMITTED))
        return uncommitted_serve(&k->session, s, &k->batch, e);
    // With the defect barges-in, do not send waiting tokens at once: after a pause this would also
    // be too early, which depends on chance, and this defect is to break one invariant only.
    k->draining = !has(k, DEFECT_BARGES_IN);
    if (!doorbell_find(&k->bell, &k->session, e))
        return false;
    while (!stop_requested()) {
        if (!look(k, e))
            return false;
        k->backoff_ns = FIRST_BACKOFF_NS; // the session works
        if (!prepare_to_sleep(k, e) || !wait_for_work(k, e) ||
            !doorbell_let_go(&k->bell, &k->session, e))
            return false;
    }
    if ((has(k, DEFECT_REOPENS) || has(k, DEFECT_DOUBTS)) && *k->before.id)
        return cursor_move_back(&k->session, s, &k->before, e);
    return !has(k, DEFECT_BREAKS_OFF) || keeper_break_off(k, e);
}

// Only for some defects: waits after a reconnect; with `deaf`, until TERM.
static void rest_after_reconnect(const struct keeper *k)
{
    if (has(k, DEFECT_DEAF))
        sleep_until_term();
    int64_t rest_ns = has(k, DEFECT_SLOW_RECONNECT) ? 3 * NS_PER_S
                      : has(k, DEFECT_LOOKS_LATE)   ? 700 * NS_PER_MS
                                                    : 0;
    int64_t until_ns = clock_now_ns() + rest_ns;
    while (clock_now_ns() < until_ns && !stop_requested())
        stop_poll(NULL, 0, until_ns);
}

// Returns the batch limit, which some defects change.
static int limit_of(const struct keeper *k)
{
    if (has(k, DEFECT_NO_LIMIT))
        return LARGEST_WINDOW;
    if (k->singly)
        return 1;
    return k->settings->limit + has(k, DEFECT_LIMIT_PLUS_ONE);
}

static int64_t timeout_of(const struct keeper *k)
{
    return vices_timeout_ns(k->defect, k->settings->timeout_ns);
}

// Defect hoards: takes a lock that keeps the other collectors out while this one has something to
// do. *mine: this collector may work now.
static bool keep_for_itself(struct keeper *k, bool *mine, struct err *e)
{
    *mine = true;
    if (!has(k, DEFECT_HOARDS) || k->had_turn)
        return true;
    bool ok = turn_try(&k->session, k->settings->queue, mine, e);
    k->had_turn = *mine;
    return ok;
}

// Defect hoards: gives back the lock of keep_for_itself when nothing waits any more, so that other
// collectors may work.
static bool leave_to_others(struct keeper *k, struct err *e)
{
    if (!has(k, DEFECT_HOARDS))
        return true;
    k->had_turn = false;
    return turn_give_back(&k->session, k->settings->queue, e);
}

// Returns how long the oldest token has waited.
static int64_t waited_ns(const struct keeper *k, int64_t now_ns)
{
    return has(k, DEFECT_WALL_CLOCK) ? clock_wall_ns() - k->first_wall_ns : now_ns - k->first_ns;
}

// Defect barges-in: true when another collector has moved the cursor since the last look. The token
// that started the timer may then be gone, so the timer must start anew for the others. Otherwise
// this defect would be early as well, depending on which collector is quicker.
static bool cursor_was_moved(struct keeper *k)
{
    bool moved = has(k, DEFECT_BARGES_IN) && strcmp(k->before.id, k->batch.from.id) != 0;

    if (has(k, DEFECT_BARGES_IN))
        k->before = k->batch.from;
    return moved;
}

// Reads the waiting tokens, and sends them as long as a batch is full or its time has come. False
// when the session or the output fails.
static bool look(struct keeper *k, struct err *e)
{
    // These two defects send only one full batch at a look.
    bool one_by_one = has(k, DEFECT_LEAVES_BACKLOG) || has(k, DEFECT_REWAITS);
    bool full = true, sent = false, mine;

    if (!keep_for_itself(k, &mine, e) || !vices_rest(&k->vices, &k->session, &mine, e))
        return false;
    if (!mine) {
        // Some defects do not work now. `behind` makes the collector look again soon.
        k->behind = true;
        k->looked_ns = clock_now_ns();
        return true;
    }
    k->batch.away =
        has(k, DEFECT_FORGETS_OLD) && k->looked_ns && clock_now_ns() - k->looked_ns > 15 * NS_PER_S;
    while (full && !stop_requested() && !(one_by_one && sent)) {
        k->looked_ns = clock_now_ns();
        if (k->unconfirmed && !keeper_move_cursor(k, e))
            return false;
        // The batch goes out even if it is not full.
        bool due = k->draining ||
                   (k->first_ns != CLOCK_NEVER && waited_ns(k, k->looked_ns) >= timeout_of(k));
        if (!read_batch(k, e))
            return false;
        if (cursor_was_moved(k)) {
            k->first_ns = CLOCK_NEVER;
            due = false;
        }
        k->singly = has(k, DEFECT_SENDS_SINGLY) && due && k->batch.tokens > 1 &&
                    k->batch.tokens < limit_of(k);
        // With `singly` the limit is 1, so this reads one token.
        if (k->singly && !read_batch(k, e))
            return false;
        full = k->batch.tokens >= limit_of(k) && (due || sent || !has(k, DEFECT_WAITS_FULL));
        // A batch without a token is "sent", too, because the cursor must move past its rows.
        bool waits = k->batch.tokens > 0 || k->batch.walked > 0;
        if (waits && (full || due)) {
            if (!claim_batch(k, due, e) || !keeper_send(k, e))
                return false;
            waits = false;
            sent = full;
        }
        // Nothing waits any more, so stop the timer; but not with the defect stale-timer, nor with
        // sends-singly, where the other tokens of the batch still wait.
        bool stale = has(k, DEFECT_STALE_TIMER) && !due;
        if (!waits && !k->singly && !stale)
            k->first_ns = CLOCK_NEVER;
        else if (k->first_ns == CLOCK_NEVER) {
            // The timeout of the waiting tokens starts now and not at looked_ns, because the
            // server's answer may hold a token that was committed after looked_ns.
            k->first_ns = clock_now_ns();
            k->first_wall_ns = clock_wall_ns();
        }
        if (full && k->settings->shares && !sharing_free(&k->sharing, &k->session, e))
            return false;
        k->singly = false;
    }
    k->draining = false;
    if (k->first_ns == CLOCK_NEVER && !leave_to_others(k, e))
        return false;
    // Defects leaves-backlog and rewaits: only the next announcement, or the timeout, makes the
    // collector look again.
    if (one_by_one && sent)
        k->first_ns = k->looked_ns;
    return !k->settings->shares || !k->behind || sharing_free(&k->sharing, &k->session, e);
}

// Waits until there is a reason to look: enough announcements, the timeout, the health check, or
// TERM. False when the session fails.
static bool wait_for_work(struct keeper *k, struct err *e)
{
    const struct settings *s = k->settings;
    int64_t until_ns = k->looked_ns + s->healthcheck_ns;

    if (k->first_ns != CLOCK_NEVER)
        until_ns = clock_min(until_ns, k->looked_ns + timeout_of(k) - waited_ns(k, k->looked_ns));
    // Look often while tokens may become readable, or be inserted, without an announcement.
    if (k->behind || (*k->bell.number && !(k->bell.ours && k->bell.quiet)))
        until_ns = clock_min(until_ns, k->looked_ns + HORIZON_POLL_NS);
    while (!stop_requested() && clock_now_ns() < until_ns) {
        int before = k->announced;
        struct pollfd fd = {.fd = PQsocket(k->session.conn), .events = POLLIN};
        int64_t wake_ns = until_ns;
        if (!vices_idle(&k->vices, &k->session, &wake_ns, e))
            return false;
        if (!session_listen(&k->session, &k->announced, e))
            return false;
        k->wakeups += k->announced > before;
        bool enough =
            k->announced >= limit_of(k) && !has(k, DEFECT_REWAITS) && !has(k, DEFECT_WAITS_FULL);
        // While nothing waits, one announcement is enough: the look starts the timer of a new
        // batch.
        if (enough || (k->announced > 0 && k->first_ns == CLOCK_NEVER))
            return true;
        bool spins =
            has(k, DEFECT_SPINS) || (has(k, DEFECT_SPINS_WAITING) && k->first_ns != CLOCK_NEVER);
        stop_poll(&fd, 1, spins ? 0 : wake_ns);
    }
    return true;
}

// Reads tokens after the cursor into the batch, up to the limit, without moving the cursor.
static bool read_batch(struct keeper *k, struct err *e)
{
    int limit = limit_of(k);
    int window = 4 * limit + 100; // number of rows to read; some of them may not go out
    bool full_window;
    int rows;

    if (has(k, DEFECT_CURSOR_FIRST))
        return dequeue_at_once(k, e);
    k->batch.stale = has(k, DEFECT_STALE_AT_START) && k->draining;
    // Defect counts-wakeups: reads only as many tokens as there were wake-ups.
    if (has(k, DEFECT_COUNTS_WAKEUPS) && !k->draining)
        limit = (int)clock_min(k->wakeups, limit);
    // A batch may be short only when nothing else waits. So if the window is full, but with too
    // many rows that do not go out, read again with a larger window.
    do {
        batch_clear(&k->batch);
        if (!read_rows(k, window, limit, &rows, e))
            return false;
        full_window = rows == window;
        window *= 2;
    } while (full_window && k->batch.tokens < limit && window <= LARGEST_WINDOW);
    k->announced = k->batch.tokens;
    return true;
}

// Defect cursor-first: moves the cursor past waiting tokens at once, and keeps the tokens in memory
// until the line is full or its time has come.
static bool dequeue_at_once(struct keeper *k, struct err *e)
{
    int limit = k->settings->limit;
    int rows;

    if (!read_rows(k, limit, limit - k->batch.tokens, &rows, e))
        return false;
    // While a line is incomplete, the next announcement is enough to look again: it makes
    // `announced` reach the limit.
    k->announced = k->batch.tokens > 0 ? limit - 1 : 0;
    return k->batch.walked == 0 || keeper_move_cursor(k, e);
}

// Reads up to `window` rows after the cursor, and adds them to the batch until it has gained
// `wanted` tokens. *rows: how many rows the server returned.
static bool read_rows(struct keeper *k, int window, int wanted, int *rows, struct err *e)
{
    char window_text[16];
    const char *params[] = {k->settings->queue, window_text};
    const char *sql = cursor_read_sql(k->defect);
    int goal = k->batch.tokens + wanted;
    PGresult *result;

    snprintf(window_text, sizeof window_text, "%d", window);
    if (has(k, DEFECT_KEEPS_ADDRESSES) && !addresses_read(&k->batch.seen, &k->session, e))
        return false;
    const struct sharing_wish wish = {.window = window, .most = wanted};
    if (k->settings->shares ? !sharing_take(&k->sharing, &k->session, &wish, &result, e)
                            : !session_query(&k->session, sql, 2, params, &result, e))
        return false;
    return add_rows(k, result, goal, rows, e);
}

// Adds the rows of a result to the batch until it has `goal` tokens, sets k->behind, and clears the
// result. *rows: how many rows the result has.
static bool add_rows(struct keeper *k, PGresult *result, int goal, int *rows, struct err *e)
{
    bool ok = true;

    *rows = PQntuples(result);
    // The first column is `behind`, the fifth the token's id. The server returns no row when there
    // is no such queue, and one row with a null id when no token waits.
    if (*rows == 0) {
        ok = err_set(e, ERR_SCHEMA, "jobs has no queue '%s'", k->settings->queue);
    } else {
        k->behind = *PQgetvalue(result, 0, 0) == 't';
        if (PQgetisnull(result, 0, 4))
            *rows = 0;
    }
    for (int i = 0; ok && i < *rows && k->batch.tokens < goal; i++)
        ok = batch_add(&k->batch, result, i, k->settings->key, e);
    PQclear(result);
    return ok;
}

// In shared mode, claims the rows of the batch. This reads the batch again, because another
// collector may have taken the rows since they were read. A short batch is claimed only when it is
// due.
static bool claim_batch(struct keeper *k, bool due, struct err *e)
{
    int limit = limit_of(k), rows;
    PGresult *result;

    if (!k->settings->shares)
        return true;
    batch_clear(&k->batch);
    const struct sharing_wish wish = {
        .window = 4 * limit, .claim = true, .most = limit, .least = due ? 0 : limit};
    return sharing_take(&k->sharing, &k->session, &wish, &result, e) &&
           add_rows(k, result, INT_MAX, &rows, e);
}
