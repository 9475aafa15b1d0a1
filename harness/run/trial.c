#include "run/trial.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "os/interrupt.h"
#include "plan/names.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"
#include "subject/command.h"
#include "subject/subject.h"

// The sixth token is a question: when it has come out, so has all that a
// collector would repeat after its connection was cut.
#define TOKENS (TRIAL_STEPS + 1)

static const int64_t poll_ns = 500 * NS_PER_US;
static const int64_t quiet_ns = 20 * NS_PER_MS; // for what follows a line: its confirmation
static const int64_t collector_end_ns = 5 * NS_PER_S;

struct trial {
    const struct trial_setting *setting;
    struct trial_bench *bench;
    struct command command;
    struct subject *subject;
};

static bool start_collector(struct trial *t, struct err *e)
{
    const struct trial_setting *s = t->setting;
    struct buf conninfo;

    buf_init(&conninfo, 4096);
    bool ok =
        s->server->provider->conninfo(s->server, MIGRATE_COLLECTOR, t->bench->db.name, &conninfo) &&
        proxy_conninfo(t->bench->proxy, &conninfo) && buf_str(&conninfo) &&
        command_make(&t->command, s->scenario, s->collector, conninfo.data, e);
    buf_fini(&conninfo);
    if (!ok)
        return false;
    struct subject_config config = {
        .command = t->command.argv,
        .env = (const char *const *)t->command.env,
        .key = t->command.key,
        .instances = 1,
        .restart = true,
        .token_count = TOKENS,
        .log_dir = s->log_dir,
    };
    t->subject = subject_start(&config, e);
    return t->subject != NULL;
}

// Commits a token and waits for its line, no longer than a recovery may take.
static bool step(struct trial *t, uint32_t token, struct err *e)
{
    char login[NAMES_MAX], email[NAMES_MAX];
    const char *params[] = {email, login};
    const struct scenario *s = t->setting->scenario;
    int64_t deadline = clock_now_ns() + s->recovery_limit_ns + s->collector.batch_timeout_ns;

    names_login(login, token);
    names_email(email, token);
    PGresult *result = sql_query(
        t->bench->db.conn, "INSERT INTO accounts (email, login) VALUES ($1, $2)", 2, params, e);
    if (!result)
        return false;
    PQclear(result);
    while (!subject_seen(t->subject, token) && clock_now_ns() < deadline &&
           !subject_gave_up(t->subject, NULL)) {
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        if (subject_failed(t->subject, e))
            return false;
    }
    return true;
}

static bool go_through_steps(struct trial *t, uint32_t *committed, struct err *e)
{
    for (*committed = 0; *committed < TRIAL_STEPS; (*committed)++) {
        if (!step(t, *committed, e))
            return false;
    }
    int64_t quiet_until = clock_now_ns() + quiet_ns;
    while (!proxy_was_cut(t->bench->proxy) && clock_now_ns() < quiet_until) {
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    if (!proxy_was_cut(t->bench->proxy))
        return true;
    return step(t, (*committed)++, e);
}

static void judge(const struct subject_log *log, uint32_t committed, struct trial_result *result)
{
    unsigned deliveries[TOKENS] = {0};

    result->lines = log->line_count;
    for (size_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        for (uint32_t d = 0; line->state == LINE_WHOLE && d < line->tokens; d++) {
            const struct delivery *delivery = &log->deliveries[line->first_delivery + d];
            if (delivery->flags == 0 && delivery->token < TOKENS)
                deliveries[delivery->token]++;
        }
    }
    for (uint32_t token = 0; token < committed; token++) {
        result->lost += deliveries[token] == 0;
        result->duplicated += deliveries[token] > 1 ? deliveries[token] - 1 : 0;
    }
    for (size_t i = 0; i < log->process_count; i++)
        result->exits += !log->processes[i].asked;
}

static void close_down(struct trial *t)
{
    subject_free(t->subject);
    command_fini(&t->command);
}

bool trial_run(const struct trial_setting *setting, struct trial_bench *bench,
    const struct cut_point *cut, struct trial_result *result, unsigned tally[2][256], struct err *e)
{
    const struct message_kind kind = {.sender = cut->sender, .type = cut->type};
    struct trial t = {.setting = setting, .bench = bench};
    unsigned counts[2][256];
    uint32_t committed = 0;
    int64_t began_ns = clock_now_ns();

    *result = (struct trial_result){0};
    proxy_reset(bench->proxy);
    proxy_tally(bench->proxy, counts);
    proxy_forget_cut(bench->proxy);
    if (cut->n > 0)
        proxy_cut(bench->proxy, &kind, cut->n, cut->side);
    bool ok = freshdb_renew(&bench->db, e) && start_collector(&t, e) &&
              go_through_steps(&t, &committed, e);
    if (ok) {
        subject_stop(t.subject, collector_end_ns);
        ok = !subject_failed(t.subject, e);
    }
    if (ok) {
        result->reached = proxy_was_cut(bench->proxy);
        judge(subject_log(t.subject), committed, result);
        proxy_tally(bench->proxy, counts);
        if (tally)
            memcpy(tally, counts, sizeof counts);
    }
    close_down(&t);
    result->took_ns = clock_now_ns() - began_ns;
    return ok;
}
