#include "run/queue.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/paths.h"
#include "os/process.h"
#include "postgres/migrate.h"
#include "run_sql.h"

#define OUTPUT_MAX 600
#define SQL_FILE_MAX (1u << 20)

// True when a verb acts on the tables of the mail schema.
static bool needs_mail_tables(const struct scenario *s, struct err *e)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        enum verb_id id = s->faults[i].verb->id;
        if (id == VERB_LOCK_JOBS || id == VERB_LONG_VACUUM || id == VERB_ACTIVE_READERS)
            return !err_set(e, ERR_SKIP,
                "%s acts on the tables of the mail schema, which %s has not got",
                s->faults[i].verb->name, s->collector.subject);
    }
    return false;
}

bool queue_load(struct run *r, struct err *e)
{
    if (!scenario_is_queue(r->scenario))
        return true;
    return !needs_mail_tables(r->scenario, e) &&
           manifest_load(&r->manifest, r->scenario->collector.subject, e) &&
           manifest_installed(&r->manifest, e);
}

static bool run_superuser_file(struct run *r, struct err *e)
{
    char path[PATH_MAX], chunk[4096];
    struct buf sql;
    size_t got;

    if (strcmp(r->manifest.superuser, MANIFEST_NONE) == 0)
        return true;
    if (!path_join(path, r->manifest.dir, r->manifest.superuser, e))
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return err_sys(e, ERR_USAGE, "cannot read %s", path);
    buf_init(&sql, SQL_FILE_MAX);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_append(&sql, chunk, got);
    fclose(file);
    bool ok = (buf_str(&sql) || err_set(e, ERR_USAGE, "%s is too long", path)) &&
              (sql_exec(r->context.admin, sql.data, e) || err_prefix(e, "%s", path));
    buf_fini(&sql);
    return ok;
}

// Runs the command as the role that consumes, with a direct connection to the server.
static bool run_schema_command(struct run *r, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct command command = {0};
    char output[OUTPUT_MAX];
    struct buf conninfo;

    if (!r->manifest.schema[0])
        return true;
    buf_init(&conninfo, 4096);
    bool ok = migrate_conninfo(&r->server, MIGRATE_COLLECTOR, &conninfo, e) &&
              command_make_consumer(&command, r->scenario, &r->manifest, buf_str(&conninfo), e);
    spec.argv = (const char *const *)r->manifest.schema;
    spec.env = (const char *const *)command.env;
    spec.dir = r->manifest.dir;
    spec.death_signal = SIGKILL;
    ok = ok && (process_collect(&spec, output, sizeof output, e) ||
                   err_prefix(e, "%s: schema", r->manifest.name));
    command_fini(&command);
    buf_fini(&conninfo);
    return ok;
}

bool queue_prepare(struct run *r, struct err *e)
{
    char grant[200];

    if (!scenario_is_queue(r->scenario))
        return true;
    snprintf(grant, sizeof grant, "GRANT CREATE ON DATABASE %s TO " MIGRATE_COLLECTOR,
        r->server.database);
    return sql_exec(r->context.admin, run_sql_facade, e) && sql_exec(r->context.admin, grant, e) &&
           run_superuser_file(r, e) && sql_exec(r->context.admin, run_sql_grant_queue, e) &&
           run_schema_command(r, e) && sql_exec(r->context.admin, run_sql_grant_queue, e);
}

static bool has_end_state(const struct run *r)
{
    return scenario_is_queue(r->scenario) && strcmp(r->manifest.end_state, MANIFEST_NONE) != 0;
}

bool queue_is_done(struct run *r)
{
    struct err unanswered;
    bool none = false;

    return !has_end_state(r) ||
           (run_count_is(r, r->manifest.end_state, "0", &none, &unanswered) && none);
}

double queue_left(struct run *r)
{
    struct err ignored;
    char count[32];

    if (!has_end_state(r) ||
        !sql_value(r->context.admin, r->manifest.end_state, count, sizeof count, &ignored))
        return NAN;
    return strtod(count, NULL);
}
