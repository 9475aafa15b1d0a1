#include "runner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ledger/history.h"
#include "load/load.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "postgres/durability.h"
#include "postgres/migrate.h"
#include "postgres/probe.h"
#include "postgres/sampler.h"
#include "report/folder.h"
#include "report/progress.h"
#include "report/report.h"
#include "subject/command.h"

static const int64_t tick_ns = 100 * NS_PER_MS;
static const int64_t lead_ns = 300 * NS_PER_MS; // for the load's connections to open
static const int64_t collector_ready_ns = 10 * NS_PER_S;
static const int64_t load_gone_ns = 10 * NS_PER_S;
static const int64_t collector_end_ns = 5 * NS_PER_S;
static const int64_t linger_ns = 300 * NS_PER_MS; // for a duplicate to show itself

struct run {
    const struct scenario *scenario;
    const struct run_options *options;
    struct folder folder;
    struct plan plan;
    struct server server;
    struct durability_proof proof;
    struct command command; // of the collector, with its environment
    struct subject *subject;
    struct probe *probe;        // how fast the server answers meanwhile
    struct fault_context hands; // what faults act on; its admin connection is the run's
    struct fault_record *faults;
    struct buf load_conninfo;
    struct load_config load_config;
    struct load_progress load_progress;
    struct load_result load;
    struct err load_err;
    bool load_ok;
    struct sampler *sampler;
    pthread_t load_thread;
    bool load_started;
    atomic_bool load_done;
    struct ledger ledger;
    struct check_input input;
    struct progress progress;
    struct err gave_up;
    char cpu_users[200];
    struct result result;
};

static bool prepare_server(struct run *r, struct err *e);
static bool start_collector(struct run *r, struct err *e);
static bool start_load(struct run *r, struct err *e);
static bool carry_out_plan(struct run *r, struct err *e);
static bool drain(struct run *r, struct err *e);
static bool settle_and_judge(struct run *r, struct err *e);
static bool write_reports(struct run *r, struct err *e);
static bool keep_server(struct run *r, struct err *e);
static void close_down(struct run *r);

bool run_scenario(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e)
{
    struct run *r = calloc(1, sizeof *r);

    if (!r)
        return err_set(e, ERR_INTERNAL, "out of memory");
    r->scenario = s;
    r->options = o;
    bool ok = plan_make(&r->plan, s, e) &&             //
              folder_make(&r->folder, s, o->out, e) && //
              prepare_server(r, e) &&                  // start, migrate, prove durable
              start_collector(r, e) &&                 //
              start_load(r, e) &&                      //
              carry_out_plan(r, e) &&                  // faults, until load and faults are over
              drain(r, e) &&                           // until nothing expected is missing
              settle_and_judge(r, e) &&                //
              write_reports(r, e) &&                   //
              keep_server(r, e);
    if (ok) {
        outcome->verdict = r->result.verdict;
        snprintf(outcome->folder, sizeof outcome->folder, "%s", r->folder.path);
    }
    close_down(r);
    free(r);
    return ok;
}

// --- before the load ----------------------------------------------------------

static bool server_epoch(struct run *r, struct err *e)
{
    char epoch[32];

    if (!sql_value(r->hands.admin, "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint",
            epoch, sizeof epoch, e))
        return false;
    r->ledger.server_epoch_s = strtoll(epoch, NULL, 10);
    return true;
}

static bool prepare_server(struct run *r, struct err *e)
{
    const struct scenario *s = r->scenario;

    r->server.provider = provider_find(s->postgres.provider);
    r->server.conninfo = r->options->postgres;
    if (!fault_possible(r->server.provider, s, e) ||
        !r->server.provider->open(&r->server, &s->postgres, e) ||
        !r->server.provider->start(&r->server, e) ||
        !migrate_database(&r->server, s->postgres.schema, s->collector.layout, e))
        return false;
    r->hands.server = &r->server;
    r->hands.instances = s->collector.instances;
    r->hands.admin = migrate_admin(&r->server, e);
    return r->hands.admin &&
           durability_prove(&r->server, r->hands.admin, s->postgres.durability,
               &s->postgres.settings, &r->proof, e) &&
           ledger_init(&r->ledger, s, &r->plan, e) && load_prepare(r->hands.admin, &r->plan, e) &&
           (!r->server.provider->settle || r->server.provider->settle(&r->server, e));
}

static bool count_is(struct run *r, const char *sql, const char *want, bool *is, struct err *e)
{
    char count[32];

    if (!fault_admin(&r->hands, e) || !sql_value(r->hands.admin, sql, count, sizeof count, e))
        return false;
    *is = strcmp(count, want) == 0;
    return true;
}

// Start-up is not what the load measures. A collector that does not come in
// time is not waited for longer: what it loses then, the verdict will say.
static bool wait_for_collector(struct run *r, struct err *e)
{
    int64_t deadline = clock_now_ns() + collector_ready_ns;
    bool none = true;

    while (none && clock_now_ns() < deadline && !subject_gave_up(r->subject, NULL)) {
        if (!interrupt_sleep_until(clock_now_ns() + tick_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        if (!count_is(r,
                "SELECT count(*) FROM pg_stat_activity WHERE usename = '" MIGRATE_COLLECTOR "'"
                " AND state IS NOT NULL",
                "0", &none, e))
            return false;
    }
    return true;
}

// Only where the scenario breaks the network does a proxy stand in the way.
static bool through_proxy(struct run *r, struct buf *conninfo, struct err *e)
{
    if (!fault_needs_proxy(r->scenario))
        return true;
    r->hands.proxy = proxy_start(&r->server, e);
    return r->hands.proxy && ((proxy_conninfo(r->hands.proxy, conninfo) && buf_str(conninfo)) ||
                                 err_set(e, ERR_INTERNAL, "the conninfo is too long"));
}

static bool start_collector(struct run *r, struct err *e)
{
    struct buf conninfo;

    buf_init(&conninfo, 4096);
    bool ok = migrate_conninfo(&r->server, MIGRATE_COLLECTOR, &conninfo, e) &&
              through_proxy(r, &conninfo, e) &&
              command_make(&r->command, r->scenario, r->options->collector, conninfo.data, e);
    buf_fini(&conninfo);
    if (!ok)
        return false;
    struct subject_config config = {
        .command = r->command.argv,
        .env = (const char *const *)r->command.env,
        .key = r->command.key,
        .instances = r->scenario->collector.instances,
        .restart = r->scenario->collector.restart,
        .token_count = r->plan.token_count,
        .log_dir = r->folder.logs,
    };
    r->subject = subject_start(&config, e);
    r->hands.subject = r->subject;
    return r->subject && wait_for_collector(r, e);
}

static void *load_thread(void *arg)
{
    struct run *r = arg;

    r->load_ok = load_run(&r->load_config, &r->load_progress, &r->load, &r->load_err);
    atomic_store(&r->load_done, true);
    return NULL;
}

static bool start_probe(struct run *r, struct err *e)
{
    struct buf conninfo;

    buf_init(&conninfo, 4096);
    bool ok = migrate_conninfo(&r->server, r->server.superuser, &conninfo, e);
    r->probe = ok ? probe_start(conninfo.data, e) : NULL;
    buf_fini(&conninfo);
    return r->probe;
}

static size_t collector_pids(void *arg, pid_t *pids, size_t max)
{
    struct run *r = arg;

    (void)max; // as many as there are instances at most, which the scenario limits
    return subject_signal(r->subject, -1, 0, pids);
}

static bool start_sampler(struct run *r, struct err *e)
{
    struct buf conninfo;

    buf_init(&conninfo, 4096);
    bool ok = migrate_conninfo(&r->server, r->server.superuser, &conninfo, e);
    if (ok) {
        r->sampler = sampler_start(&(struct sampler_config){.conninfo = buf_str(&conninfo),
                                       .collector_role = MIGRATE_COLLECTOR,
                                       .load_role = MIGRATE_LOAD,
                                       .collectors = collector_pids,
                                       .arg = r},
            e);
    }
    buf_fini(&conninfo);
    return ok && r->sampler;
}

static bool start_load(struct run *r, struct err *e)
{
    if (!start_sampler(r, e))
        return false;
    buf_init(&r->load_conninfo, 4096);
    if (!start_probe(r, e) || !server_epoch(r, e) ||
        !migrate_conninfo(&r->server, MIGRATE_LOAD, &r->load_conninfo, e))
        return false;
    int64_t start_ns = clock_now_ns() + lead_ns;
    r->ledger.start_ns = start_ns;
    r->load_config = (struct load_config){
        .conninfo = r->load_conninfo.data,
        .plan = &r->plan,
        .scenario = r->scenario,
        .start_ns = start_ns,
        .deadline_ns = start_ns + r->plan.end_ns + r->scenario->drain_ns,
    };
    r->faults = calloc(r->plan.fault_count + 1, sizeof *r->faults);
    if (!r->faults)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (size_t i = 0; i < r->plan.fault_count; i++) {
        r->faults[i].spec = &r->scenario->faults[r->plan.faults[i].spec];
        r->faults[i].planned_ns = start_ns + r->plan.faults[i].at_ns;
    }
    r->load_started = pthread_create(&r->load_thread, NULL, load_thread, r) == 0;
    return r->load_started || err_set(e, ERR_SYSTEM, "cannot start a thread");
}

// --- load and faults ------------------------------------------------------------

// The fault that is to be undone next; faults that last may overlap.
static struct fault_record *next_end(struct run *r, size_t begun, int64_t *at_ns)
{
    struct fault_record *next = NULL;

    *at_ns = CLOCK_NEVER;
    for (size_t i = 0; i < begun; i++) {
        int64_t end_ns = r->ledger.start_ns + r->plan.faults[i].end_ns;
        if (r->faults[i].undone || end_ns >= *at_ns)
            continue;
        *at_ns = end_ns;
        next = &r->faults[i];
    }
    return next;
}

// A phase without inserts has to be lived through as well.
static bool plan_is_over(struct run *r, size_t begun, const struct fault_record *to_end)
{
    return clock_now_ns() >= r->ledger.start_ns + r->plan.end_ns && begun == r->plan.fault_count &&
           !to_end && atomic_load(&r->load_done);
}

static void show(struct run *r, size_t begun, const char *what)
{
    struct progress *p = &r->progress;

    p->what = what;
    p->scenario = r->scenario->name;
    p->at_ns = clock_now_ns() - r->ledger.start_ns;
    p->whole_ns = r->plan.end_ns;
    p->committed = atomic_load(&r->load_progress.tokens);
    p->planned = r->plan.token_count;
    p->delivered = subject_tokens(r->subject);
    p->faults = begun;
    p->faults_planned = r->plan.fault_count;
    if (!r->options->quiet)
        progress_show(p);
}

// A collector that is killed faster than it can reconnect has nothing to be
// killed: of a repeated fault, those whose time passes while the one before is
// still at work are left out, so that the plan's end stays where it is.
static bool leave_out(struct run *r, size_t next)
{
    struct fault_record *f = &r->faults[next];

    for (size_t i = next; i-- > 0;) {
        const struct fault_record *before = &r->faults[i];
        if (before->spec != f->spec || before->left_out)
            continue;
        f->left_out = f->undone = before->ended_ns > f->planned_ns;
        break;
    }
    if (f->left_out)
        snprintf(f->evidence, sizeof f->evidence, "left out: the one before was still at work");
    return f->left_out;
}

static bool carry_out_plan(struct run *r, struct err *e)
{
    size_t begun = 0;

    for (;;) {
        int64_t begin_ns = begun < r->plan.fault_count ? r->faults[begun].planned_ns : CLOCK_NEVER;
        int64_t end_ns, now = clock_now_ns();
        struct fault_record *to_end = next_end(r, begun, &end_ns);
        if (plan_is_over(r, begun, to_end) || subject_gave_up(r->subject, &r->gave_up))
            break;
        if (end_ns <= now && end_ns <= begin_ns) {
            fault_end(&r->hands, to_end);
            continue;
        }
        if (begin_ns <= now) {
            if (!leave_out(r, begun))
                fault_begin(&r->hands, &r->faults[begun]);
            begun++;
            continue;
        }
        show(r, begun, "load");
        int64_t next_ns = clock_min(begin_ns, end_ns);
        if (!interrupt_sleep_until(clock_min(next_ns, now + tick_ns)))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    // Nothing stays broken, whatever ended the loop.
    int64_t ignored;
    for (struct fault_record *f; (f = next_end(r, begun, &ignored)) != NULL;)
        fault_end(&r->hands, f);
    return true;
}

// --- after the load -------------------------------------------------------------

static bool join_load(struct run *r, struct err *e)
{
    bool none = false;
    int64_t deadline = clock_now_ns() + load_gone_ns;

    pthread_join(r->load_thread, NULL);
    r->load_started = false;
    if (!r->load_ok) {
        *e = r->load_err;
        return false;
    }
    r->ledger.txns = r->load.records;
    r->ledger.faults = r->faults;
    r->ledger.fault_count = r->plan.fault_count;
    // A server that could not be started again has no backends and no answers.
    if (!r->server.running)
        return true;
    // A backend whose client is gone may still commit: only when all have ended
    // does the database know the outcome of what was in flight.
    while (!none) {
        if (!count_is(r, "SELECT count(*) FROM pg_stat_activity WHERE usename = '" MIGRATE_LOAD "'",
                "0", &none, e))
            return false;
        if (!none && clock_now_ns() > deadline)
            return err_set(e, ERR_SYSTEM, "backends of the load were still there after 10 s");
        if (!none && !interrupt_sleep_until(clock_now_ns() + tick_ns / 10))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return ledger_settle_unknown(&r->ledger, r->hands.admin, e);
}

static bool must_be_seen(const struct run *r, uint32_t token)
{
    enum token_kind kind = r->plan.kinds[token];

    return ledger_committed(&r->ledger, token) && !token_kind_ineligible(kind) &&
           !token_kind_unsendable(kind);
}

// Waits until every token that must be delivered was read, or `drain` is over.
static bool wait_for_deliveries(struct run *r, struct err *e)
{
    int64_t deadline = clock_now_ns() + r->scenario->drain_ns;
    uint32_t token = 0; // everything before it was seen, or need not be
    uint64_t tokens = 0;
    int64_t last_change_ns = clock_now_ns();

    for (;;) {
        int64_t now = clock_now_ns();
        while (token < r->plan.token_count &&
               (!must_be_seen(r, token) || subject_seen(r->subject, token)))
            token++;
        if (tokens != subject_tokens(r->subject)) {
            tokens = subject_tokens(r->subject);
            last_change_ns = now;
        }
        bool complete = token == r->plan.token_count;
        if ((complete && now - last_change_ns >= linger_ns) || now >= deadline ||
            subject_gave_up(r->subject, &r->gave_up))
            break;
        show(r, r->plan.fault_count, "drain");
        if (!interrupt_sleep_until(now + tick_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return true;
}

static bool drain(struct run *r, struct err *e)
{
    r->ledger.load_end_ns = clock_now_ns();
    if (r->gave_up.kind != ERR_NONE)
        atomic_store(&r->load_progress.stop, 1);
    if (!join_load(r, e) || !wait_for_deliveries(r, e))
        return false;
    r->ledger.drain_end_ns = clock_now_ns();
    sampler_stop(r->sampler);
    subject_stop(r->subject, collector_end_ns);
    probe_stop(r->probe);
    r->ledger.probes = probe_samples(r->probe, &r->ledger.probe_count);
    if (!r->options->quiet)
        progress_end();
    return true;
}

static bool settle_and_judge(struct run *r, struct err *e)
{
    struct err unreachable;
    bool reachable = fault_admin(&r->hands, &unreachable);

    r->ledger.log = subject_log(r->subject);
    r->input.load = &r->load;
    r->input.reader_stalls = &subject_cost(r->subject)->stalls;
    r->input.reader_ns = subject_cost(r->subject)->serving_ns;
    r->input.cpu_users = usage_text(sampler_usage(r->sampler), r->cpu_users, sizeof r->cpu_users);
    r->input.gave_up = r->gave_up.kind != ERR_NONE ? r->gave_up.text : NULL;
    r->input.reconnects =
        folder_count_sessions(r->server.log_path, MIGRATE_COLLECTOR, r->ledger.log->process_count);
    return ledger_settle_end(&r->ledger, reachable ? r->hands.admin : NULL, e) &&
           check_ledger(&r->result, &r->ledger, &r->input, e);
}

static bool keep_history(struct run *r, struct err *e)
{
    struct history_notes notes = {.reconnects = r->input.reconnects,
        .stopped_early = r->input.stopped_early,
        .reader_stalls = *r->input.reader_stalls,
        .reader_ns = r->input.reader_ns};
    char path[PATH_MAX];

    snprintf(notes.gave_up, sizeof notes.gave_up, "%s", r->input.gave_up ? r->input.gave_up : "");
    snprintf(notes.cpu_users, sizeof notes.cpu_users, "%s", r->input.cpu_users);
    return path_join(path, r->folder.path, HISTORY_NAME, e) &&
           history_write(path, &r->ledger, &r->load, &notes, e);
}

static bool write_reports(struct run *r, struct err *e)
{
    struct report report = {
        .scenario = r->scenario,
        .ledger = &r->ledger,
        .result = &r->result,
        .input = &r->input,
        .proof = &r->proof,
        .server_version = r->server.version,
        .folder = &r->folder,
        .sampler = r->sampler,
    };

    return folder_copy_log(&r->folder, r->server.log_path, e) && keep_history(r, e) &&
           report_write(&report, e) &&
           (!r->options->suites || report_junit_suite(&report, r->options->suites, e)) &&
           (r->options->silent || report_print(&report, stdout, e));
}

static bool keep_server(struct run *r, struct err *e)
{
    struct buf text;

    if (!r->options->keep)
        return true;
    buf_init(&text, 8192);
    PQfinish(r->hands.admin);
    r->hands.admin = NULL;
    bool ok = r->server.provider->keep(&r->server, &text, e);
    if (ok && buf_str(&text))
        printf("%s", text.data);
    buf_fini(&text);
    return ok;
}

// Accepts whatever stage the run has reached.
static void close_down(struct run *r)
{
    atomic_store(&r->load_progress.stop, 1);
    subject_stop(r->subject, 0);
    if (r->load_started)
        pthread_join(r->load_thread, NULL);
    probe_free(r->probe);
    fault_abandon(&r->hands, r->faults, r->plan.fault_count);
    proxy_free(r->hands.proxy);
    PQfinish(r->hands.admin);
    if (r->server.provider)
        r->server.provider->close(&r->server);
    // Behind the server's end: a query to a frozen one would not return.
    sampler_free(r->sampler);
    subject_free(r->subject);
    result_fini(&r->result);
    ledger_fini(&r->ledger);
    load_result_fini(&r->load);
    free(r->faults);
    buf_fini(&r->load_conninfo);
    command_fini(&r->command);
    plan_fini(&r->plan);
    folder_fini(&r->folder);
}
