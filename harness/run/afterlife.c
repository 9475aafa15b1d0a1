#include "run/afterlife.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "os/interrupt.h"
#include "plan/names.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"
#include "subject/command.h"

// This token follows those of the workload: when it has come out, so has everything ahead of it.
#define QUESTION AFTERLIFE_TOKENS
#define TOKENS (AFTERLIFE_TOKENS + 1)

static const int64_t poll_ns = 500 * NS_PER_US;
static const int64_t collector_end_ns = 5 * NS_PER_S;

// The state of each token at the cut and after it.
struct fates {
    bool acked[TOKENS], present[TOKENS];
    unsigned before[TOKENS], after[TOKENS]; // deliveries
    bool in_doubt[TOKENS];                  // in the last line before the cut
};

struct subject *afterlife_start_collector(
    const struct afterlife_setting *setting, struct command *command, struct err *e)
{
    const struct scenario *s = setting->scenario;
    struct buf conninfo;

    buf_init(&conninfo, 4096);
    bool ok = migrate_conninfo(setting->server, MIGRATE_COLLECTOR, &conninfo, e) &&
              command_make(command, s, setting->collector, buf_str(&conninfo), e);
    buf_fini(&conninfo);
    if (!ok)
        return NULL;
    struct subject_config config = {
        .command = command->argv,
        .env = (const char *const *)command->env,
        .key = command->key,
        .instances = 1,
        .restart = true,
        .token_count = TOKENS,
        .log_dir = setting->log_dir,
    };
    return subject_start(&config, e);
}

bool afterlife_insert(PGconn *conn, uint32_t token, struct err *e)
{
    char login[NAMES_MAX], email[NAMES_MAX];
    const char *params[] = {email, login};

    names_login(login, token);
    names_email(email, token);
    PGresult *result =
        sql_query(conn, "INSERT INTO accounts (email, login) VALUES ($1, $2)", 2, params, e);
    PQclear(result);
    return result != NULL;
}

// --- what the cut left ------------------------------------------------------------

static void count_line(const struct subject_log *log, const struct line_record *line,
    unsigned deliveries[TOKENS], bool *in_doubt)
{
    for (uint32_t i = 0; line->state == LINE_WHOLE && i < line->tokens; i++) {
        const struct delivery *d = &log->deliveries[line->first_delivery + i];
        if (d->flags != 0 || d->token >= TOKENS)
            continue;
        deliveries[d->token]++;
        if (in_doubt)
            in_doubt[d->token] = true;
    }
}

// A collector confirms a line before it begins another, so the cursor can be wrong only about the
// last line.
static void look_before(const struct before *b, int64_t at_ns, struct fates *f)
{
    const struct line_record *last = NULL;
    unsigned again[TOKENS] = {0};

    for (uint32_t t = 0; t < AFTERLIFE_TOKENS; t++)
        f->acked[t] = b->acked_ns[t] && b->acked_ns[t] < at_ns;
    for (size_t i = 0; i < b->log->line_count; i++) {
        if (b->log->lines[i].read_ns >= at_ns)
            continue;
        last = &b->log->lines[i];
        count_line(b->log, last, f->before, NULL);
    }
    if (last)
        count_line(b->log, last, again, f->in_doubt);
}

static bool find_tokens(PGconn *conn, struct fates *f, struct err *e)
{
    PGresult *rows = sql_query(
        conn, "SELECT a.login FROM accounts a JOIN tokens t ON t.account = a.id", 0, NULL, e);

    for (int i = 0; rows && i < PQntuples(rows); i++) {
        uint32_t token;
        if (names_token(PQgetvalue(rows, i, 0), (size_t)PQgetlength(rows, i, 0), &token) &&
            token < TOKENS)
            f->present[token] = true;
    }
    PQclear(rows);
    return rows != NULL;
}

// Looks for torn pages, which show as broken tuples, or as an index that does not agree with its
// table.
static bool look_for_damage(PGconn *conn, struct afterlife_result *r, struct err *e)
{
    static const char heaps[] =
        "SELECT format('%s block %s: %s', c.relname, v.blkno, v.msg) FROM pg_class c, LATERAL "
        "verify_heapam(c.oid) v WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND "
        "c.relnamespace = 'public'::regnamespace";
    static const char indexes[] =
        "SELECT bt_index_check(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = "
        "i.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'btree' AND "
        "c.relkind = 'i' AND c.relnamespace = 'public'::regnamespace AND i.indisvalid";
    PGresult *rows = sql_query(conn, heaps, 0, NULL, e);

    if (!rows)
        return false;
    r->damaged += (unsigned)PQntuples(rows);
    if (PQntuples(rows) > 0)
        snprintf(r->why, sizeof r->why, "%.190s", PQgetvalue(rows, 0, 0));
    PQclear(rows);
    return sql_exec(conn, indexes, e);
}

// Examines the database. Data that the server cannot read is damage, and so is a crash over it.
static PGconn *examine(const struct afterlife_setting *setting, const struct before *before,
    struct fates *f, struct afterlife_result *r)
{
    struct err e = {0};
    PGconn *conn = migrate_admin(setting->server, &e);
    bool ok =
        conn && find_tokens(conn, f, &e) && (!before->amcheck || look_for_damage(conn, r, &e));

    if (!ok) {
        r->damaged++;
        snprintf(r->why, sizeof r->why, "%.190s", e.text);
    }
    return conn;
}

// --- what the collector makes of it ---------------------------------------------------

static bool all_seen(struct subject *subject, const struct fates *f)
{
    for (uint32_t t = 0; t < TOKENS; t++) {
        if (f->present[t] && !f->before[t] && !subject_seen(subject, t))
            return false;
    }
    return true;
}

// Returns until when to wait. A token that has not come out this long after the question will not
// come, because it was waiting before the collector began.
static int64_t last_call_ns(const struct scenario *s)
{
    return clock_now_ns() + s->collector.batch_timeout_ns + 500 * NS_PER_MS;
}

static bool wait_for_tokens(const struct afterlife_setting *setting, struct subject *subject,
    const struct fates *f, struct err *e)
{
    const struct scenario *s = setting->scenario;
    int64_t deadline = clock_now_ns() + s->recovery_limit_ns + s->collector.batch_timeout_ns;
    bool answered = false;

    while (!all_seen(subject, f) && clock_now_ns() < deadline && !subject_gave_up(subject, NULL)) {
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        if (subject_failed(subject, e))
            return false;
        if (!answered && subject_seen(subject, QUESTION)) {
            answered = true;
            deadline = clock_min(deadline, last_call_ns(s));
        }
    }
    return true;
}

static bool drain(const struct afterlife_setting *setting, PGconn *conn, struct fates *f,
    struct afterlife_result *r, struct err *e)
{
    struct command command = {0};
    struct err refused;
    struct subject *subject = afterlife_start_collector(setting, &command, e);
    bool ok = subject != NULL;

    if (ok) {
        // A database that accepts no token any more is damaged as well.
        f->present[QUESTION] = afterlife_insert(conn, QUESTION, &refused);
        if (!f->present[QUESTION] && r->damaged++ == 0)
            snprintf(r->why, sizeof r->why, "%.190s", refused.text);
        ok = wait_for_tokens(setting, subject, f, e);
        subject_stop(subject, collector_end_ns);
        ok = ok && !subject_failed(subject, e);
    }
    if (ok) {
        const struct subject_log *log = subject_log(subject);
        for (size_t i = 0; i < log->line_count; i++)
            count_line(log, &log->lines[i], f->after, NULL);
        for (size_t i = 0; i < log->process_count; i++)
            r->exits += !log->processes[i].asked;
    }
    subject_free(subject);
    command_fini(&command);
    return ok;
}

static void judge(
    const struct fates *f, const struct before *b, int64_t cut_ns, struct afterlife_result *r)
{
    for (uint32_t t = 0; t < TOKENS; t++) {
        // Commits are in order, so the first one that vanished is the oldest.
        if (f->acked[t] && !f->present[t] && r->vanished++ == 0)
            r->oldest_ns = cut_ns - b->acked_ns[t];
        r->lost += f->present[t] && !f->before[t] && !f->after[t];
        r->duplicated += f->before[t] + f->after[t] > 1u + f->in_doubt[t];
    }
}

bool afterlife_try(const struct afterlife_setting *setting, const struct before *before,
    const struct state *state, struct afterlife_result *result, struct err *e)
{
    struct fates f = {0};
    struct err refused = {0};
    int64_t began_ns = clock_now_ns();
    bool ok = true;

    *result = (struct afterlife_result){0};
    look_before(before, state->at_ns, &f);
    result->starts = setting->server->provider->start(setting->server, &refused);
    if (!result->starts) {
        snprintf(result->why, sizeof result->why, "%.190s", refused.text);
        if (refused.kind == ERR_INTERRUPTED)
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    } else {
        PGconn *conn = examine(setting, before, &f, result);
        ok = !conn || drain(setting, conn, &f, result, e);
        PQfinish(conn);
    }
    judge(&f, before, state->at_ns, result);
    result->took_ns = clock_now_ns() - began_ns;
    return ok;
}
