#include "leasing.h"

#include <sys/random.h>
#include <sysexits.h>

#include "base/base.h"
#include "base/log.h"
#include "batch.h"
#include "output.h"
#include "session.h"
#include "sql.h"
#include "stop.h"
#include "vices.h"

#define PATIENCE_NS (5 * NS_PER_S)
#define LOOK_NS (20 * NS_PER_MS)
#define BACKOFF_NS (50 * NS_PER_MS)
#define SHORT_LEASE_NS (100 * NS_PER_MS)
#define FORGOTTEN_NS (300 * NS_PER_MS) // defect forgets-answers takes a token back after this
#define RECORDED_LATE_NS (1500 * NS_PER_MS)
#define ANSWERS_MAX (1u << 20)
#define OWNERS_MAX 1024 // room for an array of owners as text, bytes

struct leased_token {
    int64_t id;
    int number;           // number of this attempt
    int errors;           // number of errors before this attempt
    const char *outcome;  // the outcome to record; NULL: the token has no answer yet
    int64_t delay_ms;     // delay of the retry
    bool recorded;        // the database has confirmed that the outcome is recorded
    int64_t forgotten_ns; // defect forgets-answers: when an answer came that was ignored; 0: none
                          // was
};

struct leased_line {
    int64_t row;   // `n` of the line's row in the table deliveries
    int64_t nonce; // nonce of that row
    int64_t written_ns;
    int count; // number of tokens in the line; in `tokens`, those that the line cannot carry follow
               // after them
    int left;  // number of `tokens` that have no outcome yet
    struct leased_token *tokens;
};

struct leasing {
    const struct settings *settings;
    enum defect defect;
    char number[24]; // the number of this collector as the owner of its leases
    struct session session;
    struct batch batch;
    struct buf input;
    struct leased_line *lines; // owned; answers name the lines by number: line n is lines[n - 1]
    int count;
    int answers;      // number of answers taken so far
    int64_t heard_ns; // when the first of the answers in `input` came
    int64_t look_ns;  // when to try to lease next
    int64_t first_ns; // when it was found that tokens wait; CLOCK_NEVER: none does
    bool draining;    // true after a connect until the first look is done: the tokens that wait
                      // then go out at once
    char gone[OWNERS_MAX], counters[OWNERS_MAX]; // owners that were gone at peers_ns, and the
                                                 // counters of their leases at that time
    int64_t peers_ns;                            // when it was last asked which owners are gone
    struct vices vices;
};

static bool has(const struct leasing *g, enum defect defect)
{
    return g->defect == defect;
}

// Joins the queue as a collector in leased mode.
static bool join_queue(struct leasing *g, struct err *e)
{
    const char *params[] = {g->settings->queue, g->number};
    char why[80];

    if (!session_value(
            &g->session, &(struct session_call){sql_lease_join, 2, params}, why, sizeof why, e))
        return false;
    if (strcmp(why, "held") == 0) {
        // Another collector is just making the cursor and holds the queue's lock exclusively.
        err_set(e, ERR_SQL, "the queue is locked");
        snprintf(e->sqlstate, sizeof e->sqlstate, "55006");
        return false;
    }
    return !*why || err_set(e, ERR_SCHEMA, "the queue cannot be leased from: %s", why);
}

// --- lines ------------------------------------------------------------------------

enum { ID = 4, TROUBLE = 10, LINE, NONCE, NUMBER, ERRORS, LEFT }; // columns of sql/lease.sql

// Remembers the line that was leased with these rows. The tokens that the line cannot carry come
// last.
static void keep_line(struct leasing *g, const PGresult *rows)
{
    int n = PQntuples(rows), bad = n;

    memory_grow(&g->lines, (size_t)g->count, 1, sizeof *g->lines);
    struct leased_line *line = &g->lines[g->count++];
    *line = (struct leased_line){.row = strtoll(PQgetvalue(rows, 0, LINE), NULL, 10),
        .nonce = strtoll(PQgetvalue(rows, 0, NONCE), NULL, 10),
        .left = n,
        .tokens = memory_zeroed((size_t)n, sizeof *line->tokens)};
    // A token with trouble goes to the end of the array, every other one to its beginning.
    for (int i = 0; i < n; i++)
        line->tokens[PQgetisnull(rows, i, TROUBLE) ? line->count++ : --bad] = (struct leased_token){
            .id = strtoll(PQgetvalue(rows, i, ID), NULL, 10),
            .number = atoi(PQgetvalue(rows, i, NUMBER)),
            // Defect excuses-errors: its failed attempts were recorded as given back, so the
            // database counts no errors. Count all earlier attempts instead.
            .errors = atoi(PQgetvalue(rows, i, has(g, DEFECT_EXCUSES_ERRORS) ? NUMBER : ERRORS)) -
                      has(g, DEFECT_EXCUSES_ERRORS)};
}

// Records a token's outcome in the database. Doing so twice changes nothing.
static bool settle(
    struct leasing *g, const struct leased_line *line, struct leased_token *t, struct err *e)
{
    char row[24], nonce[24], id[24], number[16], delay[24];
    const char *params[] = {
        g->settings->queue, g->number, row, nonce, id, number, t->outcome, delay};

    snprintf(row, sizeof row, "%" PRId64, line->row);
    snprintf(nonce, sizeof nonce, "%" PRId64, line->nonce);
    snprintf(id, sizeof id, "%" PRId64, t->id);
    snprintf(number, sizeof number, "%d", t->number + has(g, DEFECT_MISCOUNTS));
    snprintf(delay, sizeof delay, "%" PRId64, t->delay_ms);
    t->recorded =
        session_value(&g->session, &(struct session_call){sql_lease_answer, 8, params}, NULL, 0, e);
    return t->recorded;
}

// Sets a token's outcome and records it.
static bool record_outcome(struct leasing *g, struct leased_line *line, struct leased_token *t,
    const char *outcome, int64_t delay_ms, struct err *e)
{
    bool failed = strcmp(outcome, "transient") == 0;

    t->outcome = failed && has(g, DEFECT_EXCUSES_ERRORS) ? "returned" : outcome;
    t->delay_ms = delay_ms;
    line->left--;
    return settle(g, line, t, e);
}

// Forgets the last line, which was not written.
static void drop_line(struct leasing *g)
{
    free(g->lines[--g->count].tokens);
}

// Makes dead letters of those of the last line's tokens that the line cannot carry (`all`: number
// of all its tokens). If no other tokens are left, the line is forgotten, so that it uses no line
// number.
static bool bury_unsendable(struct leasing *g, int all, struct err *e)
{
    struct leased_line *line = &g->lines[g->count - 1];

    for (int i = line->count; i < all; i++)
        if (!record_outcome(g, line, &line->tokens[i], "dead", 0, e))
            return false;
    if (line->count == 0)
        drop_line(g);
    return true;
}

// Writes the line of the batch, which is the last of g->lines.
static bool write_line(struct leasing *g, struct err *e)
{
    int ignored = 0;

    if (g->batch.tokens == 0)
        return true;
    if (!buf_append_char(&g->batch.line, '\n'))
        return err_memory(e);
    g->lines[g->count - 1].written_ns = clock_now_ns();
    return output_write(&g->batch.line, &g->session, &ignored, g->defect, e);
}

// Returns the number of lines that have tokens without an outcome.
static int count_unanswered(const struct leasing *g)
{
    int lines = 0;

    for (int i = 0; i < g->count; i++)
        lines += g->lines[i].left > 0;
    return lines;
}

// Returns when a line goes out even if it is not full, because its first token has waited for the
// timeout; CLOCK_NEVER: no token waits.
static int64_t due_ns(const struct leasing *g)
{
    return g->first_ns == CLOCK_NEVER
               ? CLOCK_NEVER
               : g->first_ns + vices_timeout_ns(g->defect, g->settings->timeout_ns);
}

// Begins the timeout of the tokens that wait after a look, or ends it if none waits.
static void time_waiting(struct leasing *g, bool waits)
{
    if (!waits)
        g->first_ns = CLOCK_NEVER;
    else if (g->first_ns == CLOCK_NEVER)
        // Now and not when the look began, because a token may have been committed meanwhile.
        g->first_ns = clock_now_ns();
}

// Leases one line and writes it, if it is full or due. *some: tokens were leased.
static bool lease_line(struct leasing *g, bool *some, struct err *e)
{
    const struct settings *s = g->settings;
    char limit[16], per_s[32], burst[32], ageing[24];
    const char *fewest = g->draining || clock_now_ns() >= due_ns(g) ? "1" : limit;
    // With every fourth line, a lower lane goes first if its oldest token has waited long enough.
    bool aged = (g->count % 4 == 3 && !has(g, DEFECT_NEVER_AGES)) || has(g, DEFECT_LAST_FIRST);
    const char *params[] = {
        s->queue, g->number, limit, per_s, burst, aged ? "t" : "f", ageing, fewest};
    PGresult *rows;

    snprintf(limit, sizeof limit, "%d", s->limit);
    // Defect overspends: 0 stands for no budget.
    snprintf(per_s, sizeof per_s, "%g", has(g, DEFECT_OVERSPENDS) ? 0 : s->budget_per_s);
    snprintf(burst, sizeof burst, "%g", s->burst);
    // Defect last-first: a negative time, which every token has waited.
    snprintf(ageing, sizeof ageing, "%" PRId64, has(g, DEFECT_LAST_FIRST) ? -2 : s->ageing_s);
    if (has(g, DEFECT_KEEPS_ADDRESSES) && !addresses_read(&g->batch.seen, &g->session, e))
        return false;
    if (!session_query(&g->session, sql_lease, 8, params, &rows, e))
        return false;
    batch_clear(&g->batch);
    bool ok = true;
    *some = PQntuples(rows) > 0 && !PQgetisnull(rows, 0, LINE);
    // If a line was leased, the next look finds out what still waits. But tokens that the budget
    // has left over have waited as long as those of the line.
    time_waiting(g, PQntuples(rows) > 0 && (!*some || strcmp(PQgetvalue(rows, 0, LEFT), "t") == 0));
    for (int i = 0; ok && *some && i < PQntuples(rows); i++)
        ok = batch_add(&g->batch, rows, i, s->key, e);
    if (ok && *some) {
        keep_line(g, rows);
        ok = bury_unsendable(g, PQntuples(rows), e);
        // A line that is not written is forgotten. The next session gives its tokens back.
        if (!ok)
            drop_line(g);
    }
    PQclear(rows);
    return ok && (!*some || write_line(g, e));
}

// --- answers ----------------------------------------------------------------------

// Records a failed attempt: the token is retried after a random delay (full jitter), or becomes a
// dead letter after too many attempts.
static bool record_error(
    struct leasing *g, struct leased_line *line, struct leased_token *t, struct err *e)
{
    const struct settings *s = g->settings;
    int64_t most = s->retry_base_ms;

    if (t->errors + 1 >= s->attempts && !has(g, DEFECT_NEVER_GIVES_UP))
        return record_outcome(g, line, t, "dead", 0, e);
    // The longest delay doubles with each error, this one included.
    for (int i = 0; i <= t->errors && most < s->retry_max_ms; i++)
        most *= 2;
    most = clock_min(most, s->retry_max_ms);
    int64_t delay_ms = random() % (most + 1);
    if (has(g, DEFECT_RETRIES_AT_ONCE))
        delay_ms = 0;
    if (has(g, DEFECT_PUTS_OFF))
        delay_ms = INT64_C(3600) * 1000;
    return record_outcome(g, line, t, "transient", delay_ms, e);
}

// Takes the answer `what` about the token at `place` of a line. Answers about unknown tokens are
// ignored.
static bool take_answer(struct leasing *g, int number, int place, const char *what, struct err *e)
{
    if (number < 1 || number > g->count || place < 1 || place > g->lines[number - 1].count)
        return true;
    struct leased_line *line = &g->lines[number - 1];
    struct leased_token *t = &line->tokens[place - 1];
    if (t->outcome || t->forgotten_ns)
        return true; // the token has an answer already
    // Two defects treat every tenth answer wrongly.
    bool nth = ++g->answers % 10 == 0;
    if (strncmp(what, "error transient", 15) == 0)
        return record_error(g, line, t, e);
    if (strncmp(what, "error permanent", 15) == 0)
        return record_outcome(g, line, t, has(g, DEFECT_ALL_IS_WELL) ? "sent" : "dead", 0, e);
    if (strncmp(what, "sent", 4) != 0 || (has(g, DEFECT_LOSES_ANSWERS) && nth))
        return true;
    if (has(g, DEFECT_FORGETS_ANSWERS) && nth) {
        t->forgotten_ns = clock_now_ns();
        return true;
    }
    return record_outcome(g, line, t, "sent", 0, e);
}

// Takes one line of answers: "12.3 sent" is about the third token of line 12, "12 sent" about all
// tokens of line 12. Other text is ignored.
static bool take_line(struct leasing *g, const char *text, struct err *e)
{
    int number, place, end = 0; // end: where the text after the number begins; 0: there is none

    if (sscanf(text, "%d.%d %n", &number, &place, &end) == 2 && end > 0)
        return take_answer(g, number, place, text + end, e);
    end = 0;
    if (sscanf(text, "%d %n", &number, &end) == 1 && end > 0 && number >= 1 && number <= g->count)
        for (place = 1; place <= g->lines[number - 1].count; place++)
            if (!take_answer(g, number, place, text + end, e))
                return false;
    return true;
}

// Takes the whole lines of answers in `input`. If a line cannot be recorded completely because the
// session is lost, it stays in `input` and is taken again; tokens that have their answer already
// are then skipped.
static bool take_lines(struct leasing *g, struct err *e)
{
    char *end;

    if (has(g, DEFECT_RECORDS_LATE) && clock_now_ns() - g->heard_ns < RECORDED_LATE_NS)
        return true;
    while (g->input.len > 0 && (end = memchr(g->input.data, '\n', g->input.len)) != NULL) {
        *end = '\0';
        bool ok = take_line(g, g->input.data, e);
        *end = '\n';
        if (!ok)
            return false;
        buf_consume(&g->input, (size_t)(end - g->input.data) + 1);
    }
    return true;
}

// Reads answers into `input`, when poll() says that there are some. False at the end of standard
// input, or when it cannot be read.
static bool read_answers(struct leasing *g, struct err *e)
{
    char *room = buf_reserve(&g->input, 65536);
    ssize_t n = room ? read(STDIN_FILENO, room, 65536) : -1;

    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return err_set(e, ERR_OUTPUT, "standard input has ended: nobody answers any more");
    g->heard_ns = g->input.len == 0 ? clock_now_ns() : g->heard_ns;
    g->input.len += (size_t)n;
    return true;
}

// Takes back leases that have no answer after a while. Only two defects do this; a good collector
// waits for the answer. With short-lease, only the first lease of each token is taken back.
static bool end_leases(struct leasing *g, struct err *e)
{
    int64_t now_ns = clock_now_ns();

    if (!has(g, DEFECT_SHORT_LEASE) && !has(g, DEFECT_FORGETS_ANSWERS))
        return true;
    for (int i = 0; i < g->count; i++) {
        struct leased_line *line = &g->lines[i];
        for (int k = 0; k < line->count; k++) {
            struct leased_token *t = &line->tokens[k];
            bool over = has(g, DEFECT_SHORT_LEASE)
                            ? t->number == 1 && now_ns - line->written_ns >= SHORT_LEASE_NS
                            : t->forgotten_ns && now_ns - t->forgotten_ns >= FORGOTTEN_NS;
            if (over && !t->outcome && !record_outcome(g, line, t, "returned", 0, e))
                return false;
        }
    }
    return true;
}

// --- sessions and others ----------------------------------------------------------

// Once per grace, renews this collector's lease, and frees the leases of those owners that were
// gone at the last call and still are.
static bool free_gone(struct leasing *g, struct err *e)
{
    const char *params[] = {g->settings->queue, g->number, g->gone, g->counters};
    PGresult *row;

    if (has(g, DEFECT_NEVER_FREES) || clock_now_ns() - g->peers_ns < g->settings->grace_ns)
        return true;
    g->peers_ns = clock_now_ns();
    if (!session_query(&g->session, sql_lease_peers, 4, params, &row, e))
        return false;
    snprintf(g->gone, sizeof g->gone, "%s", PQgetvalue(row, 0, 0));
    snprintf(g->counters, sizeof g->counters, "%s", PQgetvalue(row, 0, 1));
    PQclear(row);
    return true;
}

// At the start of a session, records the outcomes that the last session may not have recorded, and
// gives back the lines that were leased but never written.
static bool settle_after_reconnect(struct leasing *g, struct err *e)
{
    // The rows of the lines that were written and still lack answers. These are not given back.
    struct buf written FREED_BY(buf_fini) = BUF_INIT(ANSWERS_MAX);
    const char *separator = "";

    buf_append_char(&written, '{');
    bool ok = true;
    for (int i = 0; ok && i < g->count; i++) {
        struct leased_line *line = &g->lines[i];
        bool settled = true;
        for (int k = 0; ok && k < line->count; k++) {
            struct leased_token *t = &line->tokens[k];
            ok = !t->outcome || t->recorded || settle(g, line, t, e);
            settled = settled && t->outcome;
        }
        if (settled)
            continue;
        buf_printf(&written, "%s%" PRId64, separator, line->row);
        separator = ",";
    }
    buf_append_char(&written, '}');
    const char *params[] = {g->settings->queue, g->number, buf_str(&written)};
    return ok && (params[2] || err_memory(e)) &&
           session_value(
               &g->session, &(struct session_call){sql_lease_back, 3, params}, NULL, 0, e);
}

// --- the loop ---------------------------------------------------------------------

// Waits, takes what answers and announcements have come, and leases lines when it is time to.
static bool do_round(struct leasing *g, struct err *e)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = PQsocket(g->session.conn), .events = POLLIN}};
    int announced = 0;
    bool some = true;

    stop_poll(fds, 2, g->look_ns);
    if ((fds[0].revents & (POLLIN | POLLHUP)) && !read_answers(g, e))
        return false;
    if (!take_lines(g, e) || !session_listen(&g->session, &announced, e) || !end_leases(g, e) ||
        !free_gone(g, e))
        return false;
    // While no line may be leased, the timeout begins with an announcement.
    if (count_unanswered(g) >= g->settings->in_flight && announced > 0)
        time_waiting(g, true);
    if (clock_now_ns() < g->look_ns)
        return true;
    // Lease lines until no token waits, too few wait, or as many lines as allowed are without
    // answers.
    while (some && count_unanswered(g) < g->settings->in_flight && !stop_requested()) {
        if (!lease_line(g, &some, e))
            return false;
        g->draining = g->draining && some;
    }
    int64_t now_ns = clock_now_ns(), due = due_ns(g);
    g->look_ns = due > now_ns ? clock_min(due, now_ns + LOOK_NS) : now_ns + LOOK_NS;
    return true;
}

// Works in one session. False when the session fails; true after TERM, once the leases are given
// back.
static bool serve(struct leasing *g, struct err *e)
{
    const struct settings *s = g->settings;
    const char *params[] = {s->queue, g->number};

    if (!session_open(&g->session, s->database_url, s->channel, PATIENCE_NS, e) ||
        !join_queue(g, e) || !settle_after_reconnect(g, e))
        return false;
    g->draining = true;
    g->first_ns = CLOCK_NEVER;
    while (!stop_requested())
        if (!do_round(g, e))
            return false;
    return session_value(
        &g->session, &(struct session_call){sql_lease_leave, 2, params}, NULL, 0, e);
}

static void fini(struct leasing *g)
{
    session_close(&g->session);
    batch_fini(&g->batch);
    vices_fini(&g->vices);
    buf_fini(&g->input);
    for (int i = 0; i < g->count; i++)
        free(g->lines[i].tokens);
    free(g->lines);
}

int leasing_run(const struct settings *settings, enum defect defect)
{
    struct leasing g = {.settings = settings, .defect = defect, .gone = "{}", .counters = "{}"};
    int code = -1;
    uint64_t number = 0;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)clock_now_ns();
    // Positive as a bigint, and not 0.
    snprintf(g.number, sizeof g.number, "%" PRIu64, number >> 1 | 1);
    srandom((unsigned)number);
    batch_init(&g.batch, defect);
    vices_init(&g.vices, defect, settings);
    buf_init(&g.input, ANSWERS_MAX);
    output_init();
    while (code < 0) {
        struct err e = {0};
        bool ok = serve(&g, &e);
        if (!ok)
            log_line("PG", "%s", e.text);
        // 75 says that after TERM answers are missing, or may not be recorded.
        if (ok || stop_requested())
            code = !ok || count_unanswered(&g) > 0 ? 75 : 0;
        else if (e.kind == ERR_SCHEMA || e.kind == ERR_OUTPUT)
            code = e.kind == ERR_SCHEMA ? EX_CONFIG : EX_IOERR;
        else if (e.kind == ERR_SYSTEM || e.kind == ERR_INTERNAL)
            code = EX_SOFTWARE;
        session_close(&g.session);
        // If another collector is making the cursor, this pause gives it the time for that.
        if (code < 0)
            stop_poll(NULL, 0, clock_now_ns() + BACKOFF_NS);
    }
    fini(&g);
    return code;
}
