#include "leasing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
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
#define FORGOTTEN_NS (300 * NS_PER_MS)
#define RECORDED_LATE_NS (1500 * NS_PER_MS)
#define ANSWERS_MAX (1u << 20)
#define OWNERS_MAX 1024 // bytes of the text of an array of owners

struct leased_token {
    int64_t id;
    int number;           // number of this attempt
    int errors;           // number of errors before this attempt
    const char *outcome;  // what it is recorded as; NULL: it has no answer yet
    int64_t delay_ms;     // before the retry
    bool recorded;        // the database has confirmed it
    int64_t forgotten_ns; // defect forgets-answers: time of the answer that it ignored; 0: none
};

struct leased_line {
    int64_t row;   // n of its row in deliveries
    int64_t nonce; // of that row
    int64_t written_ns;
    int count; // tokens in the line; `tokens` has more: behind these it has those that the line
               // cannot carry
    int left;  // number of `tokens` that have no answer yet
    struct leased_token *tokens;
};

struct leasing {
    const struct settings *settings;
    enum defect defect;
    char number[24]; // our number as the owner
    struct session session;
    struct batch batch;
    struct buf input;
    struct leased_line *lines; // owned; the n-th line is lines[n - 1]
    int count, cap;
    int answers;      // number of answers so far
    int64_t heard_ns; // when the first answer came that was not taken yet
    int64_t look_ns;
    char gone[OWNERS_MAX], counters[OWNERS_MAX]; // owners that were gone at peers_ns
    int64_t peers_ns;
    struct vices vices;
};

static bool has(const struct leasing *g, enum defect defect)
{
    return g->defect == defect;
}

static bool join(struct leasing *g, struct err *e)
{
    const char *params[] = {g->settings->queue, g->number};
    char why[80];

    if (!session_value(
            &g->session, &(struct session_call){sql_lease_join, 2, params}, why, sizeof why, e))
        return false;
    if (strcmp(why, "held") == 0) {
        // Another one is making the cursor, and holds the queue's lock alone.
        err_set(e, ERR_SQL, "the queue is locked");
        snprintf(e->sqlstate, sizeof e->sqlstate, "55006");
        return false;
    }
    return !*why || err_set(e, ERR_SCHEMA, "the queue cannot be leased from: %s", why);
}

// --- lines ------------------------------------------------------------------------

static bool keep_line(struct leasing *g, const PGresult *rows, struct err *e)
{
    enum { ID = 4, TROUBLE = 10, LINE, NONCE, NUMBER, ERRORS };
    int n = PQntuples(rows), bad = n;

    if (g->count == g->cap) {
        int cap = g->cap ? 2 * g->cap : 64;
        struct leased_line *more = realloc(g->lines, (size_t)cap * sizeof *more);
        if (!more)
            return err_memory_for(e, "%d lines", cap);
        g->lines = more;
        g->cap = cap;
    }
    struct leased_line *line = &g->lines[g->count++];
    *line = (struct leased_line){.row = strtoll(PQgetvalue(rows, 0, LINE), NULL, 10),
        .nonce = strtoll(PQgetvalue(rows, 0, NONCE), NULL, 10),
        .left = n,
        .tokens = calloc((size_t)n, sizeof *line->tokens)};
    if (!line->tokens)
        return err_memory_for(e, "%d tokens", n);
    for (int i = 0; i < n; i++)
        line->tokens[PQgetisnull(rows, i, TROUBLE) ? line->count++ : --bad] = (struct leased_token){
            .id = strtoll(PQgetvalue(rows, i, ID), NULL, 10),
            .number = atoi(PQgetvalue(rows, i, NUMBER)),
            // What is recorded as given back is no error to the database.
            .errors = atoi(PQgetvalue(rows, i, has(g, DEFECT_EXCUSES_ERRORS) ? NUMBER : ERRORS)) -
                      has(g, DEFECT_EXCUSES_ERRORS)};
    return true;
}

// Records what became of a token. To do so twice changes nothing.
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

static bool record(struct leasing *g, struct leased_line *line, struct leased_token *t,
    const char *outcome, int64_t delay_ms, struct err *e)
{
    bool failed = strcmp(outcome, "transient") == 0;

    t->outcome = failed && has(g, DEFECT_EXCUSES_ERRORS) ? "returned" : outcome;
    t->delay_ms = delay_ms;
    line->left--;
    return settle(g, line, t, e);
}

// Forgets the last line, which is not written.
static void drop_line(struct leasing *g)
{
    free(g->lines[--g->count].tokens);
}

// Makes dead letters of the tokens that the line cannot carry. If no other tokens are left, the
// line gets no number.
static bool bury(struct leasing *g, int all, struct err *e)
{
    struct leased_line *line = &g->lines[g->count - 1];

    for (int i = line->count; i < all; i++)
        if (!record(g, line, &line->tokens[i], "dead", 0, e))
            return false;
    if (line->count == 0)
        drop_line(g);
    return true;
}

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

static int unanswered(const struct leasing *g)
{
    int lines = 0;

    for (int i = 0; i < g->count; i++)
        lines += g->lines[i].left > 0;
    return lines;
}

// Leases one line if there are tokens for it.
static bool lease(struct leasing *g, bool *some, struct err *e)
{
    const struct settings *s = g->settings;
    char limit[16], per_s[32], burst[32], ageing[24];
    bool aged = (g->count % 4 == 3 && !has(g, DEFECT_NEVER_AGES)) || has(g, DEFECT_LAST_FIRST);
    const char *params[] = {s->queue, g->number, limit, per_s, burst, aged ? "t" : "f", ageing};
    PGresult *rows;

    snprintf(limit, sizeof limit, "%d", s->limit);
    snprintf(per_s, sizeof per_s, "%g", has(g, DEFECT_OVERSPENDS) ? 0 : s->budget_per_s);
    snprintf(burst, sizeof burst, "%g", s->burst);
    snprintf(ageing, sizeof ageing, "%" PRId64, has(g, DEFECT_LAST_FIRST) ? -2 : s->ageing_s);
    if (has(g, DEFECT_KEEPS_ADDRESSES) && !addresses_read(&g->batch.seen, &g->session, e))
        return false;
    if (!session_query(&g->session, sql_lease, 7, params, &rows, e))
        return false;
    batch_clear(&g->batch);
    bool ok = true;
    *some = PQntuples(rows) > 0;
    for (int i = 0; ok && i < PQntuples(rows); i++)
        ok = batch_add(&g->batch, rows, i, s->key, e);
    ok = ok && (!*some || keep_line(g, rows, e));
    if (ok && *some && !bury(g, PQntuples(rows), e)) {
        // The next session gives back the lines that are not written.
        drop_line(g);
        ok = false;
    }
    PQclear(rows);
    return ok && (!*some || write_line(g, e));
}

// --- answers ----------------------------------------------------------------------

// Records a failed attempt: the retry gets a delay with full jitter, or the token is dead.
static bool record_error(
    struct leasing *g, struct leased_line *line, struct leased_token *t, struct err *e)
{
    const struct settings *s = g->settings;
    int64_t most = s->retry_base_ms;

    if (t->errors + 1 >= s->attempts && !has(g, DEFECT_NEVER_GIVES_UP))
        return record(g, line, t, "dead", 0, e);
    for (int i = 0; i <= t->errors && most < s->retry_max_ms; i++)
        most *= 2;
    most = clock_min(most, s->retry_max_ms);
    int64_t delay_ms = random() % (most + 1);
    if (has(g, DEFECT_RETRIES_AT_ONCE))
        delay_ms = 0;
    if (has(g, DEFECT_PUTS_OFF))
        delay_ms = INT64_C(3600) * 1000;
    return record(g, line, t, "transient", delay_ms, e);
}

static bool take_answer(struct leasing *g, int number, int place, const char *what, struct err *e)
{
    if (number < 1 || number > g->count || place < 1 || place > g->lines[number - 1].count)
        return true;
    struct leased_line *line = &g->lines[number - 1];
    struct leased_token *t = &line->tokens[place - 1];
    if (t->outcome || t->forgotten_ns)
        return true; // the token was answered before
    bool nth = ++g->answers % 10 == 0;
    if (strncmp(what, "error transient", 15) == 0)
        return record_error(g, line, t, e);
    if (strncmp(what, "error permanent", 15) == 0)
        return record(g, line, t, has(g, DEFECT_ALL_IS_WELL) ? "sent" : "dead", 0, e);
    if (strncmp(what, "sent", 4) != 0 || (has(g, DEFECT_LOSES_ANSWERS) && nth))
        return true;
    if (has(g, DEFECT_FORGETS_ANSWERS) && nth) {
        t->forgotten_ns = clock_now_ns();
        return true;
    }
    return record(g, line, t, "sent", 0, e);
}

// Takes "12.3 sent" for the third token of line 12, or "12 sent" for all its tokens.
static bool take_line(struct leasing *g, const char *text, struct err *e)
{
    int number, place, end = 0;

    if (sscanf(text, "%d.%d %n", &number, &place, &end) == 2 && end > 0)
        return take_answer(g, number, place, text + end, e);
    end = 0;
    if (sscanf(text, "%d %n", &number, &end) == 1 && end > 0 && number >= 1 && number <= g->count)
        for (place = 1; place <= g->lines[number - 1].count; place++)
            if (!take_answer(g, number, place, text + end, e))
                return false;
    return true;
}

// Takes the whole lines that were read. A line that a lost session could not record whole is taken
// again: its other tokens have their answers.
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

// Reads the answers that poll() announced.
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

// Ends leases after a while; only some defects do this. A good collector waits for the answer. With
// short-lease only the first lease of each token ends.
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
            if (over && !t->outcome && !record(g, line, t, "returned", 0, e))
                return false;
        }
    }
    return true;
}

// --- sessions and others ----------------------------------------------------------

// Renews our lease, and frees what others have that have been gone for the grace.
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

// Records what the last session may not have recorded, and gives back the lines that it took and
// that were never written.
static bool make_up(struct leasing *g, struct err *e)
{
    struct buf written;
    const char *separator = "";

    buf_init(&written, ANSWERS_MAX);
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
    ok = ok && (params[2] || err_memory(e)) &&
         session_value(&g->session, &(struct session_call){sql_lease_back, 3, params}, NULL, 0, e);
    buf_fini(&written);
    return ok;
}

// --- the loop ---------------------------------------------------------------------

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
    if (clock_now_ns() < g->look_ns)
        return true;
    while (some && unanswered(g) < g->settings->in_flight && !stop_requested())
        if (!lease(g, &some, e))
            return false;
    g->look_ns = clock_now_ns() + LOOK_NS;
    return true;
}

// Serves one session, until it dies or the process is told to stop.
static bool serve(struct leasing *g, struct err *e)
{
    const struct settings *s = g->settings;
    const char *params[] = {s->queue, g->number};

    if (!session_open(&g->session, s->database_url, s->channel, PATIENCE_NS, e) || !join(g, e) ||
        !make_up(g, e))
        return false;
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
        if (ok || stop_requested())
            code = !ok || unanswered(&g) > 0 ? 75 : 0;
        else if (e.kind == ERR_SCHEMA || e.kind == ERR_OUTPUT)
            code = e.kind == ERR_SCHEMA ? EX_CONFIG : EX_IOERR;
        else if (e.kind == ERR_SYSTEM || e.kind == ERR_INTERNAL)
            code = EX_SOFTWARE;
        session_close(&g.session);
        // Another one may be making the cursor; then this is the time that it gets.
        if (code < 0)
            stop_poll(NULL, 0, clock_now_ns() + BACKOFF_NS);
    }
    fini(&g);
    return code;
}
