// Rules for a state in which a power cut leaves the disk:
//
// A line counts as delivered when it was read before the cut. Each flush of the workload takes 20
// ms, so that the reader gets a line before its confirmation is on the disk.
//
// Which tokens may come again depends on the mode. In cursor and shared mode these are the tokens
// of the last line of each collector. In leased mode the harness answers, and a token may come
// again until its end is recorded in the database; an end that another session has seen there must
// survive the cut.
//
// A second cut may tear the superblock of ext4, which is two sectors long and written in place by
// the mount. The file system is then repaired, as an operator would. The state is counted and not
// judged, because what the repair threw away may have been flushed.
#include "run/cuts/everyflush_inside.h"

#include "check/bounds.h"
#include "os/interrupt.h"
#include "plan/names.h"
#include "plan/rng.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"
#include "subject/command.h"

// The token that is inserted after the cut, behind those of the workload. Tokens are taken in
// order, so when it has come out, all of the workload's were taken.
#define LAST_TOKEN FLUSH_TRIAL_TOKENS
#define TOKENS FLUSH_TRIAL_ALL

static const int64_t poll_ns = 500 * NS_PER_US;
static const int64_t margin_ns = 500 * NS_PER_MS; // added to stop_waiting_ns, for a busy machine
static const int64_t collector_end_ns = 5 * NS_PER_S;

// What is known of each token at the cut and after it.
struct token_facts {
    bool acked[TOKENS], present[TOKENS];
    unsigned before[TOKENS], after[TOKENS]; // number of deliveries before and after the cut
    bool in_doubt[TOKENS];                  // true: it was in the last line of its process before
                                            // the cut
    // The following members are for leased mode.
    bool recorded[TOKENS]; // its end was seen before the cut, or was in the database after the cut
    bool ended[TOKENS];    // its end was in the database when the trial ended
    unsigned after_answer[TOKENS]; // number of deliveries after a final answer, within one life of
                                   // the collectors
};

struct subject *flush_trial_start_collectors(const struct flush_trial_setting *setting,
    int instances, struct command *command, struct err *e)
{
    const struct scenario *s = setting->scenario;
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);

    bool ok = migrate_conninfo(setting->server, MIGRATE_COLLECTOR, &conninfo, e) &&
              command_make(command, s, setting->collector, buf_str(&conninfo), e);
    if (!ok)
        return NULL;
    struct subject_config config = {
        .command = command->argv,
        .env = (const char *const *)command->env.items,
        .key = command->key,
        .instances = instances,
        // The collectors run while the server is killed, and may end because of that.
        .restart = true,
        .token_count = TOKENS,
        .sender = setting->leased ? &s->collector.sender : NULL,
        .seed = s->seed,
        .log_dir = setting->log_dir,
    };
    return subject_start(&config, e);
}

bool flush_trial_insert(PGconn *conn, uint32_t token, struct err *e)
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

// Counts, for each token, the deliveries that were read before `until_ns`, and how many of them
// came after a final answer (sent, or failed for good) for the token.
static void count_logged_deliveries(const struct subject_log *log, int64_t until_ns,
    unsigned deliveries[TOKENS], unsigned after_answer[TOKENS])
{
    bool answered[TOKENS] = {false};

    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        const struct line_record *line = &log->lines[d->line];
        // A line that was torn by the cut has delivered nothing. A delivery with a flag, such as
        // one with a wrong signature, does not count.
        if (line->state != LINE_WHOLE || line->read_ns >= until_ns || d->flags != 0 ||
            d->token >= TOKENS)
            continue;
        deliveries[d->token]++;
        after_answer[d->token] += answered[d->token];
        answered[d->token] =
            answered[d->token] || (d->replied_ns && d->replied_ns < until_ns &&
                                      (d->reply == REPLY_SENT || d->reply == REPLY_PERMANENT));
    }
}

// True when line i was read before until_ns, and its process wrote no later line before then.
static bool is_last_line(const struct subject_log *log, size_t i, int64_t until_ns)
{
    for (size_t k = i + 1; k < log->line_count; k++) {
        if (log->lines[k].process == log->lines[i].process && log->lines[k].read_ns < until_ns)
            return false;
    }
    return log->lines[i].read_ns < until_ns;
}

// Marks the tokens that were in doubt at the cut. A collector confirms a line before it begins
// another one, so only its last line can be unconfirmed.
static void find_doubt(const struct subject_log *log, int64_t until_ns, bool in_doubt[TOKENS])
{
    for (size_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        if (line->state != LINE_WHOLE || !is_last_line(log, i, until_ns))
            continue;
        for (uint32_t k = 0; k < line->tokens; k++) {
            const struct delivery *d = &log->deliveries[line->first_delivery + k];
            if (d->flags == 0 && d->token < TOKENS)
                in_doubt[d->token] = true;
        }
    }
}

// Notes what was known of each token at the cut, which came at at_ns.
static void note_before_cut(const struct flush_workload *w, int64_t at_ns, struct token_facts *f)
{
    for (uint32_t t = 0; t < FLUSH_TRIAL_TOKENS; t++) {
        f->acked[t] = w->acked_ns[t] && w->acked_ns[t] < at_ns;
        f->recorded[t] = w->recorded_ns[t] && w->recorded_ns[t] < at_ns;
    }
    count_logged_deliveries(w->log, at_ns, f->before, f->after_answer);
    find_doubt(w->log, at_ns, f->in_doubt);
}

// Marks the token of each login that the query returns; false when the query fails.
static bool find_tokens(PGconn *conn, const char *sql, bool found[TOKENS], struct err *e)
{
    PGresult *rows = sql_query(conn, sql, 0, NULL, e);

    for (int i = 0; rows && i < PQntuples(rows); i++) {
        uint32_t token, segment;
        if (names_token(
                PQgetvalue(rows, i, 0), (size_t)PQgetlength(rows, i, 0), &token, &segment) &&
            token < TOKENS)
            found[token] = true;
    }
    PQclear(rows);
    return rows != NULL;
}

bool flush_trial_find_ended(PGconn *conn, bool ended[FLUSH_TRIAL_ALL], struct err *e)
{
    return find_tokens(conn,
        "SELECT a.login FROM mailroom_status s JOIN tokens t ON t.id = s.token JOIN accounts a ON "
        "a.id = t.account WHERE s.state IN ('sent', 'dead')",
        ended, e);
}

// Looks for torn pages with the functions of amcheck: verify_heapam returns a row for each broken
// tuple, which counts as damage; bt_index_check fails if an index does not agree with its table.
// False when a query fails; the caller counts that as one damage more.
static bool look_for_damage(PGconn *conn, struct flush_trial_result *r, struct err *e)
{
    // Only permanent tables are examined: every recovery empties an unlogged one.
    static const char heaps[] =
        "SELECT format('%s block %s: %s', c.relname, v.blkno, v.msg) FROM pg_class c, LATERAL "
        "verify_heapam(c.oid) v WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND "
        "c.relnamespace = 'public'::regnamespace";
    static const char indexes[] =
        "SELECT bt_index_check(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = "
        "i.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'btree' AND "
        "c.relkind = 'i' AND c.relnamespace = 'public'::regnamespace AND i.indisvalid";
    PGresult *rows FREED_BY(sql_clear) = sql_query(conn, heaps, 0, NULL, e);

    if (!rows)
        return false;
    r->failures[FLUSH_DAMAGED] += (unsigned)PQntuples(rows);
    if (PQntuples(rows) > 0)
        snprintf(r->why, sizeof r->why, "%.190s", PQgetvalue(rows, 0, 0));
    return sql_exec(conn, indexes, e);
}

// Notes in `f` which tokens are in the database and, in leased mode, which have an end, and looks
// for damage. Data that the server cannot read, or that makes the server crash, counts as damage,
// too. Returns the connection, or NULL when there is none.
static PGconn *examine_database(const struct flush_trial_setting *setting,
    const struct flush_workload *workload, struct token_facts *f, struct flush_trial_result *r)
{
    struct err e = {0};
    PGconn *conn = migrate_admin(setting->server, &e);
    bool ok = conn &&
              find_tokens(conn, "SELECT a.login FROM accounts a JOIN tokens t ON t.account = a.id",
                  f->present, &e) &&
              (!setting->leased || flush_trial_find_ended(conn, f->recorded, &e)) &&
              (!workload->amcheck || look_for_damage(conn, r, &e));

    if (!ok) {
        r->failures[FLUSH_DAMAGED]++;
        snprintf(r->why, sizeof r->why, "%.190s", e.text);
    }
    return conn;
}

// --- what the collector does with that state ------------------------------------------

// True when every token that is in the database, and was not read before the cut, has been read.
static bool all_seen(struct subject *subject, const struct token_facts *f)
{
    for (uint32_t t = 0; t < TOKENS; t++) {
        if (f->present[t] && !f->before[t] && !subject_seen_ns(subject, t))
            return false;
    }
    return true;
}

// True when the collectors take tokens through the table deliveries (shared and leased mode).
static bool shares_batches(const struct scenario *s)
{
    return s->collector.dequeue != DEQUEUE_CURSOR && s->collector.layout == LAYOUT_REFERENCE;
}

// Returns how long the tokens that a dead collector has taken may wait for the takeover by another;
// 0: nobody takes over.
static int64_t takeover_limit_ns(const struct scenario *s)
{
    return s->collector.instances > 1 || shares_batches(s) ? bounds_grace_ns(s) + bounds_takeover_ns
                                                           : 0;
}

// Returns how long the collectors may take at most to recover, to fill a batch, to take over the
// tokens of dead collectors and, in leased mode, to make all retries.
static int64_t drain_limit_ns(const struct flush_trial_setting *setting)
{
    const struct scenario *s = setting->scenario;
    int64_t retries_ns = setting->leased ? s->drain_ns : 0;

    return s->recovery_limit_ns + s->collector.batch_timeout_ns + takeover_limit_ns(s) +
           retries_ns + (s->slack_ns == SLACK_AUTO ? 0 : s->slack_ns);
}

// Called when the last token has come out. Returns the time at which to stop waiting for others.
// All others waited before the collectors began, so one that is missing by then never comes. In
// leased mode a retry may be due later, so there is no such time.
static int64_t stop_waiting_ns(const struct flush_trial_setting *setting)
{
    const struct scenario *s = setting->scenario;

    // The wait ends sooner than by drain_limit_ns, so that a state with a lost token takes less
    // time.
    return setting->leased
               ? CLOCK_NEVER
               : clock_now_ns() + s->collector.batch_timeout_ns + takeover_limit_ns(s) + margin_ns;
}

// True when no token is missing and, in shared and leased mode, none is taken or waits for a retry.
static bool is_flush_trial_done(const struct flush_trial_setting *setting, struct subject *subject,
    PGconn *conn, const struct token_facts *f)
{
    struct err unanswered;
    char count[24] = "";

    // A collector writes a line before it settles the tokens in it. If it were stopped in between,
    // it would be convicted, so the trial waits until the table deliveries is empty.
    return all_seen(subject, f) && (!shares_batches(setting->scenario) ||
                                       (subject_answered(subject) &&
                                           sql_value(conn, "SELECT count(*) FROM deliveries", count,
                                               sizeof count, &unanswered) &&
                                           strcmp(count, "0") == 0));
}

// Waits until the trial is done, for drain_limit_ns at most; after the last token only until
// stop_waiting_ns. Returns true even if tokens are still missing then; false only on failure or
// interrupt.
static bool wait_for_tokens(const struct flush_trial_setting *setting, struct subject *subject,
    PGconn *conn, const struct token_facts *f, struct err *e)
{
    int64_t deadline = clock_now_ns() + drain_limit_ns(setting);
    bool last_seen = false;

    while (!is_flush_trial_done(setting, subject, conn, f) && clock_now_ns() < deadline &&
           !subject_gave_up(subject, NULL)) {
        if (!interrupt_sleep(poll_ns, e) || subject_failed(subject, e))
            return false;
        if (!last_seen && subject_seen_ns(subject, LAST_TOKEN)) {
            last_seen = true;
            deadline = clock_min(deadline, stop_waiting_ns(setting));
        }
    }
    return true;
}

// Adds the deliveries and the unplanned exits of a log whose collectors were stopped.
static void count_after_stop(
    const struct subject_log *log, struct token_facts *f, struct flush_trial_result *r)
{
    count_logged_deliveries(log, CLOCK_NEVER, f->after, f->after_answer);
    for (size_t i = 0; i < log->process_count; i++)
        r->failures[FLUSH_EXITS] += !log->processes[i].asked;
}

// Starts the collectors, inserts the last token, waits for all tokens, stops the collectors, and
// adds what they did to `f` and `r`. False when the harness failed.
static bool drain_state(const struct flush_trial_setting *setting, PGconn *conn, int instances,
    struct token_facts *f, struct flush_trial_result *r, struct err *e)
{
    struct command command FREED_BY(command_fini) = {0};
    struct err refused;
    struct subject *subject = flush_trial_start_collectors(setting, instances, &command, e);
    bool ok = subject != NULL;

    if (ok) {
        // A database that does not accept a token counts as damaged, too.
        f->present[LAST_TOKEN] = flush_trial_insert(conn, LAST_TOKEN, &refused);
        if (!f->present[LAST_TOKEN] && r->failures[FLUSH_DAMAGED]++ == 0)
            snprintf(r->why, sizeof r->why, "%.190s", refused.text);
        ok = wait_for_tokens(setting, subject, conn, f, e);
        subject_stop(subject, collector_end_ns);
        ok = ok && !subject_failed(subject, e);
    }
    if (ok)
        count_after_stop(subject_log(subject), f, r);
    if (ok && setting->leased && !flush_trial_find_ended(conn, f->ended, &refused) &&
        r->failures[FLUSH_DAMAGED]++ == 0)
        snprintf(r->why, sizeof r->why, "%.190s", refused.text);
    subject_free(subject);
    return ok;
}

// Returns the number of repeats of a token that nothing excuses. In leased mode a token may come
// again after the cut unless its end is recorded, but never after a final answer to the same
// collectors. In the other modes a token in doubt may come twice, any other once; all further
// deliveries count as one repeat.
static unsigned count_unexcused_repeats(const struct token_facts *f, uint32_t t, bool leased)
{
    if (leased)
        return f->after_answer[t] + (f->recorded[t] && f->after[t]);
    return f->before[t] + f->after[t] > 1u + f->in_doubt[t];
}

// Counts the tokens that vanished, are lost or came again without an excuse.
static void judge_token_facts(const struct token_facts *f, const struct flush_workload *w,
    int64_t cut_ns, bool leased, struct flush_trial_result *r)
{
    for (uint32_t t = 0; t < TOKENS; t++) {
        bool written = f->before[t] || f->after[t];
        // Tokens are committed in the order of their numbers, so the first that vanished is the
        // oldest.
        if (f->acked[t] && !f->present[t] && r->failures[FLUSH_VANISHED]++ == 0)
            r->oldest_ns = cut_ns - w->acked_ns[t];
        r->failures[FLUSH_LOST] += f->present[t] && (!written || (leased && !f->ended[t]));
        r->failures[FLUSH_DUPLICATED] += count_unexcused_repeats(f, t, leased);
    }
}

// --- the server ---------------------------------------------------------------------

// Starts the server. Whether it starts, and if not why, goes into `r`. Returns false only when
// interrupted.
static bool start_crashed_server(
    const struct flush_trial_setting *setting, struct flush_trial_result *r, struct err *e)
{
    struct err refused = {0};

    if (setting->server->provider->start(setting->server, &refused))
        return true;
    r->failures[FLUSH_UNSTARTABLE] = 1;
    snprintf(r->why, sizeof r->why, "%.190s", refused.text);
    return refused.kind != ERR_INTERRUPTED || err_set(e, ERR_INTERRUPTED, "interrupted");
}

// Starts the server on the state. For a second cut, the flushes of this recovery are counted, the
// disk is put into the state that a cut at one of them leaves, and the server starts once more.
// Returns false only when the harness failed.
static bool start_on_state(const struct flush_trial_setting *setting,
    const struct flush_trial *trial, struct flush_trial_result *r, struct err *e)
{
    uint64_t flushes;
    struct rng rng;

    // A server that does not start is a result and not an error.
    if (!start_crashed_server(setting, r, e) || !states_count_flushes(setting->server, &flushes, e))
        return false;
    if (r->failures[FLUSH_UNSTARTABLE] || !trial->second_cut || flushes == 0)
        return true;
    rng_init(&rng, trial->second_cut_seed, 0);
    r->second_cut_flush = 1 + rng_below(&rng, flushes);
    if (!states_put_again(
            setting->server, r->second_cut_flush, trial->second_cut_seed, &r->second, e) ||
        !start_crashed_server(setting, r, e))
        return false;
    // The second cut may have torn the superblock; then the file system was repaired to be mounted.
    r->repaired = states_repaired(setting->server);
    return true;
}

bool flush_trial_run(const struct flush_trial_setting *setting,
    const struct flush_workload *workload, const struct state *state,
    const struct flush_trial *trial, struct flush_trial_result *result, struct err *e)
{
    struct token_facts f = {0};
    int64_t began_ns = clock_now_ns();
    bool ok = true;

    // The disk is in this state already.
    *result = (struct flush_trial_result){0};
    note_before_cut(workload, state->at_ns, &f);
    if (!start_on_state(setting, trial, result, e))
        return false;
    if (!result->failures[FLUSH_UNSTARTABLE]) {
        PGconn *conn FREED_BY(sql_finish) = examine_database(setting, workload, &f, result);
        // If the database cannot be opened, examine_database has counted that already.
        ok = !conn || drain_state(setting, conn, trial->instances, &f, result, e);
    }
    judge_token_facts(&f, workload, state->at_ns, setting->leased, result);
    result->took_ns = clock_now_ns() - began_ns;
    return ok;
}
