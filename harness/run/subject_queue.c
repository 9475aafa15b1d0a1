#include "run/subject_queue.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>

#include "os/other_user.h"
#include "os/paths.h"
#include "os/process.h"
#include "plan/names.h"
#include "postgres/migrate.h"
#include "run/run.h"
#include "run_sql.h"

#define OUTPUT_MAX 600
#define FEATURE_NOT_SUPPORTED "0A000"
#define SQL_FILE_MAX (1u << 20)
#define FACADE_MAX (256u << 20)

// True, with ERR_SKIP in e, when a verb of the scenario acts on the tables of the mail schema.
static bool needs_mail_tables(const struct scenario *s, struct err *e)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb->needs_mail)
            return !err_set(e, ERR_SKIP,
                "%s acts on the tables of the mail schema, which %s does not have",
                s->faults[i].verb->name, s->collector.subject);
    }
    return false;
}

// False, with ERR_SKIP in e, when the scenario wants handlers to fail or to hang, and the handlers
// of this queue do not ask the harness how to end.
static bool can_answer(const struct manifest *m, const struct scenario *s, struct err *e)
{
    return m->answers || !scenario_sender_deviates(&s->collector.sender) ||
           err_set(e, ERR_SKIP,
               "the handlers of %s take no answers (answers: true in its subject.yaml), which "
               "collector.sender gives",
               m->name);
}

bool queue_load(struct manifest *m, const struct scenario *s, struct err *e)
{
    return !scenario_is_queue(s) ||
           (!needs_mail_tables(s, e) && manifest_load(m, s->collector.subject, e) &&
               can_answer(m, s, e) && manifest_installed(m, e));
}

// Turns an error in the superuser's file into ERR_SKIP when the server lacks a feature, such as an
// extension of another version: then the queue cannot run on this server. Always returns false.
static bool skip_missing_feature(const struct manifest *m, struct err *e)
{
    const struct err why = *e;

    if (why.kind != ERR_SQL || strcmp(why.sqlstate, FEATURE_NOT_SUPPORTED) != 0)
        return err_prefix(e, "%s/%s", m->name, m->superuser);
    // Without DETAIL and HINT, which come after a semicolon.
    return err_set(e, ERR_SKIP, "this server lacks what %s needs: %.*s", m->name,
        (int)strcspn(why.text, ";"), why.text);
}

// Runs the manifest's SQL file as superuser, if it names one: it does what the consumer's role may
// not do, such as making an extension.
static bool run_superuser_file(struct run *r, struct err *e)
{
    char path[PATH_MAX];
    struct buf sql FREED_BY(buf_fini) = BUF_INIT(SQL_FILE_MAX);

    if (strcmp(r->queue.manifest.superuser, MANIFEST_NONE) == 0)
        return true;
    if (!path_join(path, r->queue.manifest.dir, r->queue.manifest.superuser, e))
        return false;
    return path_read(path, &sql, ERR_USAGE, e) &&
           (sql_exec(r->context.admin, sql.data, e) || skip_missing_feature(&r->queue.manifest, e));
}

bool queue_needs_one_address(const struct scenario *s)
{
    return scenario_is_queue(s) && strcmp(s->postgres.provider, "local") == 0 &&
           s->postgres.standby != STANDBY_NONE;
}

// If the queue's clients need one address, appends that of the server that is the primary now.
static bool append_primary_address(const struct run *r, struct buf *conninfo, struct err *e)
{
    if (!queue_needs_one_address(r->scenario))
        return true;
    buf_printf(conninfo, " host=%s port=%s target_session_attrs=any", PQhost(r->context.admin),
        PQport(r->context.admin));
    return buf_str(conninfo) || err_set(e, ERR_INTERNAL, "the conninfo is too long");
}

// Runs the manifest's schema command with the consumer's role. It connects to the server itself,
// and not to the proxy.
static bool run_schema_command(struct run *r, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct command command FREED_BY(command_fini) = {0};
    char output[OUTPUT_MAX];
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);

    if (!r->queue.manifest.schema[0])
        return true;
    bool ok = migrate_conninfo(&r->server, MIGRATE_COLLECTOR, &conninfo, e) &&
              append_primary_address(r, &conninfo, e) &&
              command_make_of_subject(
                  &command, r->scenario, r->queue.manifest.schema, buf_str(&conninfo), e);
    spec.argv = (const char *const *)command.argv;
    spec.env = (const char *const *)command.env.items;
    spec.dir = r->queue.manifest.dir;
    // A client of another project may hang, and must not outlive the harness.
    spec.death_signal = SIGKILL;
    return ok && other_user_apply(&spec, e) &&
           (process_collect(&spec, output, sizeof output, e) ||
               err_prefix(e, "%s: schema", r->queue.manifest.name));
}

// If the subject's own client puts the jobs, inserts the rows of mailproof_sent before the load,
// because the client does not know this table. Otherwise the generator inserts each row in the
// transaction of its job. A job whose put got no answer stays unknown, so it counts neither as lost
// nor as phantom.
static bool fill_facade(struct run *r, struct err *e)
{
    struct buf sql FREED_BY(buf_fini) = BUF_INIT(FACADE_MAX);

    if (!manifest_is_client(&r->queue.manifest) || r->plan.token_count == 0)
        return true;
    for (uint32_t t = 0; t < r->plan.token_count; t++) {
        char login[NAMES_MAX];
        names_login(login, t);
        // One statement for all rows; single inserts would take longer than the run.
        buf_printf(&sql, "%s(%u, '%s')", t ? ", " : "INSERT INTO mailproof_sent VALUES ", t, login);
    }
    return buf_str(&sql)
               ? sql_exec(r->context.admin, sql.data, e)
               : err_set(e, ERR_USAGE, "enqueue: client: %zu jobs are too many; lower the load",
                     r->plan.token_count);
}

// Makes the command and the environment of the subject's own client.
static bool make_producer_command(struct run *r, struct err *e)
{
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(8192);

    buf_append_str(&conninfo, r->generator.conninfo.data);
    if (queue_needs_one_address(r->scenario) && !proxy_conninfo(r->context.proxy, &conninfo, e))
        return false;
    // The generator's conninfo has at most half of this length.
    return command_make_of_subject(
        &r->queue.producer_command, r->scenario, r->queue.manifest.producer, buf_str(&conninfo), e);
}

bool queue_prepare_producer(struct run *r, struct err *e)
{
    char path[PATH_MAX];

    if (!manifest_is_client(&r->queue.manifest))
        return true;
    if (!make_producer_command(r, e) || !path_join(path, r->folder.logs, "producer.log", e))
        return false;
    r->queue.producer =
        (struct load_producer){.argv = (const char *const *)r->queue.producer_command.argv,
            .env = (const char *const *)r->queue.producer_command.env.items,
            .dir = r->queue.manifest.dir,
            .log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
    return r->queue.producer.log >= 0 || err_sys(e, ERR_SYSTEM, "cannot write %s", path);
}

void queue_fini(struct run_queue *q)
{
    // Only a client has a log of its own, which queue_prepare_producer opened.
    if (manifest_is_client(&q->manifest) && q->producer.argv)
        close(q->producer.log);
    command_fini(&q->producer_command);
    manifest_fini(&q->manifest);
}

bool queue_prepare(struct run *r, struct err *e)
{
    char grant[200];

    if (!scenario_is_queue(r->scenario))
        return true;
    snprintf(grant, sizeof grant, "GRANT CREATE ON DATABASE %s TO " MIGRATE_COLLECTOR,
        r->server.database);
    // The rights are granted twice: the schema command needs those on what the superuser has made,
    // and the consumer and the producer those on what the schema command makes.
    return sql_exec(r->context.admin, run_sql_facade, e) && sql_exec(r->context.admin, grant, e) &&
           fill_facade(r, e) && run_superuser_file(r, e) &&
           sql_exec(r->context.admin, run_sql_grant_queue, e) && run_schema_command(r, e) &&
           sql_exec(r->context.admin, run_sql_grant_queue, e);
}

bool queue_is_done(struct run *r)
{
    const char *query = r->queue.manifest.end_state;
    struct err unanswered;
    bool none = false;

    return strcmp(query, MANIFEST_NONE) == 0 ||
           (run_count_is(r, query, "0", &none, &unanswered) && none);
}

double queue_count(struct run *r, const char *query)
{
    struct err ignored;
    char count[32];

    if (!scenario_is_queue(r->scenario) || strcmp(query, MANIFEST_NONE) == 0 ||
        !sql_value(r->context.admin, query, count, sizeof count, &ignored))
        return NAN;
    return strtod(count, NULL);
}

bool queue_is_answered(const struct run *r)
{
    return r->queue.manifest.answers && scenario_sender_deviates(&r->scenario->collector.sender);
}
