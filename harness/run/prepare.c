// The steps before the first insert.
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/interrupt.h"
#include "postgres/drive.h"
#include "postgres/migrate.h"
#include "run/queue.h"
#include "run/shared.h"
#include "scenario/leased.h"

static const int64_t lead_ns = 300 * NS_PER_MS;        // for the load's connections to open
static const int64_t backlog_limit_ns = 60 * NS_PER_S; // and a millisecond per transaction
static const int64_t collector_ready_ns = 10 * NS_PER_S;

static bool server_epoch(struct run *r, struct err *e)
{
    char epoch[32];

    if (!sql_value(r->context.admin, "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint",
            epoch, sizeof epoch, e))
        return false;
    r->ledger.server_epoch_s = strtoll(epoch, NULL, 10);
    return true;
}

static bool make_network(struct run *r, struct err *e)
{
    if (!fault_needs(r->scenario, THROUGH_KERNEL))
        return true;
    r->server.net = r->context.net = &r->net;
    return netns_make(&r->net, e);
}

static bool has_verb(const struct scenario *s, enum verb_id id)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb->id == id)
            return true;
    }
    return false;
}

// Opens a server for this run, or takes the one that several runs share.
static bool get_server(struct run *r, struct err *e)
{
    struct server *shared = r->options->server;

    if (shared) {
        if (!shared_clear(shared, e))
            return false;
        r->server = *shared;
        provider_fetch_log(&r->server);
        r->log_from = provider_log_length(&r->server);
        return true;
    }
    r->server.cuts_off = has_verb(r->scenario, VERB_PARTITION_LEADER);
    return make_network(r, e) && r->server.provider->open(&r->server, &r->scenario->postgres, e) &&
           r->server.provider->start(&r->server, e);
}

// Makes the lanes, which belong to the queue; the collector only checks them.
static bool make_lanes(struct run *r, struct err *e)
{
    struct leased leased;
    char sql[120];

    leased_read(&leased, r->scenario);
    if (!leased.on || !leased.lanes)
        return true;
    snprintf(sql, sizeof sql, "SELECT mailroom_lanes('%.60s')", leased.lanes);
    return sql_exec(r->context.admin, sql, e);
}

bool run_prepare_server(struct run *r, struct err *e)
{
    const struct scenario *s = r->scenario;

    r->server.provider = provider_find(&s->postgres);
    r->server.conninfo = r->options->postgres;
    r->server.seed = s->seed;
    int last = scenario_is_queue(s) ? SCHEMA_NONE : s->postgres.schema;
    if (!queue_load(r, e) || !fault_possible(r->server.provider, s, e) || !get_server(r, e) ||
        !migrate_database(&r->server, last, s->collector.layout, s->postgres.announce, e))
        return false;
    r->context.server = &r->server;
    r->context.admin = migrate_admin(&r->server, e);
    return r->context.admin && queue_prepare(r, e) && make_lanes(r, e) &&
           durability_prove(&r->server, r->context.admin, s->postgres.durability,
               &s->postgres.settings, &r->proof, e) &&
           ledger_init(&r->ledger, s, &r->plan, e) && load_prepare(r->context.admin, &r->plan, e) &&
           (!r->server.provider->settle || r->server.provider->settle(&r->server, e));
}

bool run_count_is(struct run *r, const char *sql, const char *want, bool *is, struct err *e)
{
    char count[32];

    if (!fault_admin(&r->context, e) || !sql_value(r->context.admin, sql, count, sizeof count, e))
        return false;
    *is = strcmp(count, want) == 0;
    return true;
}

// Waits for the collector to connect, because the run does not measure its start. After 10 s the
// load starts without it, and the checks count the delay.
static bool wait_for_collector(struct run *r, struct err *e)
{
    int64_t deadline = clock_now_ns() + collector_ready_ns;
    bool none = true;

    while (none && clock_now_ns() < deadline && !subject_gave_up(r->subject, NULL)) {
        if (!interrupt_sleep_until(clock_now_ns() + RUN_TICK_NS))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        if (subject_failed(r->subject, e))
            return false;
        if (!run_count_is(r,
                "SELECT count(*) FROM pg_stat_activity WHERE usename = '" MIGRATE_COLLECTOR "'"
                " AND state IS NOT NULL",
                "0", &none, e))
            return false;
    }
    return true;
}

static bool too_long(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "the conninfo is too long");
}

// Puts a proxy in the way, only when the scenario breaks the network or counts round trips, or when
// the primary moves and the client cannot follow.
static bool through_proxy(struct run *r, struct buf *conninfo, struct err *e)
{
    if (!fault_needs(r->scenario, THROUGH_PROXY) && !r->options->count_trips &&
        !queue_needs_one_address(r->scenario))
        return true;
    r->context.proxy = proxy_start(&r->server, e);
    return r->context.proxy &&
           ((proxy_conninfo(r->context.proxy, conninfo) && buf_str(conninfo)) || too_long(e));
}

// Connects the collector over the virtual network and not over the server's socket.
static bool through_kernel(struct run *r, struct buf *conninfo, struct err *e)
{
    // A standby listens beside its primary, so the conninfo has both ports.
    const bool two = r->scenario->postgres.standby != STANDBY_NONE;

    if (!fault_needs(r->scenario, THROUGH_KERNEL))
        return true;
    return (buf_printf(conninfo, " host=%s%s sslmode=disable gssencmode=disable",
                NETNS_SERVER_ADDRESS, two ? "," NETNS_SERVER_ADDRESS : "") &&
               buf_str(conninfo)) ||
           too_long(e);
}

bool run_start_collector(struct run *r, struct err *e)
{
    struct buf conninfo;

    buf_init(&conninfo, 4096);
    bool ok = migrate_conninfo(&r->server, MIGRATE_COLLECTOR, &conninfo, e) &&
              through_proxy(r, &conninfo, e) && through_kernel(r, &conninfo, e) &&
              (scenario_is_queue(r->scenario) ? command_make_of_subject(&r->command, r->scenario,
                                                    r->manifest.consumer, conninfo.data, e)
                                              : command_make(&r->command, r->scenario,
                                                    r->options->collector, conninfo.data, e));
    buf_fini(&conninfo);
    if (!ok)
        return false;
    struct leased leased;
    leased_read(&leased, r->scenario);
    struct subject_config config = {
        .command = r->command.argv,
        .env = (const char *const *)r->command.env,
        .key = r->command.key,
        .instances = r->scenario->collector.instances,
        .restart = r->scenario->collector.restart,
        .token_count = r->plan.token_count,
        .sender = leased.on || r->manifest.answers ? &r->scenario->collector.sender : NULL,
        .seed = r->scenario->seed,
        .net = r->context.net ? r->context.net : r->server.clients,
        .jobs = scenario_is_queue(r->scenario),
        .dir = r->manifest.dir[0] ? r->manifest.dir : NULL,
        .log_dir = r->folder.logs,
    };
    r->subject = subject_start(&config, e);
    r->context.subject = r->subject;
    return r->subject && wait_for_collector(r, e);
}

static void *load_thread(void *arg)
{
    struct run *r = arg;

    r->load_ok = r->workers ? remote_run(r->workers, &r->load_config, &r->load_progress, &r->load,
                                  &r->load_err)
                            : load_run(&r->load_config, &r->load_progress, &r->load, &r->load_err);
    atomic_store(&r->load_done, true);
    return NULL;
}

static bool start_probe(struct run *r, struct err *e)
{
    struct buf conninfo;

    buf_init(&conninfo, 4096);
    bool ok = migrate_conninfo(&r->server, r->server.superuser, &conninfo, e);
    r->probe = ok ? probe_start(conninfo.data, PROBE_ANSWER, e) : NULL;
    r->flush_probe = r->probe ? probe_start(conninfo.data, PROBE_FLUSH, e) : NULL;
    buf_fini(&conninfo);
    return r->flush_probe;
}

static size_t collector_pids(void *arg, pid_t *pids, size_t max)
{
    struct run *r = arg;

    (void)max; // there are at most as many as instances, whose number the scenario limits
    return subject_signal(r->subject, -1, 0, pids);
}

static bool start_sampler(struct run *r, struct err *e)
{
    struct buf conninfo;

    buf_init(&conninfo, 4096);
    bool ok = migrate_conninfo(&r->server, r->server.superuser, &conninfo, e);
    if (ok) {
        atomic_store(&r->outer_pid, r->server.outer_pid);
        r->sampler = sampler_start(&(struct sampler_config){.conninfo = conninfo.data,
                                       .outer_pid = r->server.shares_pids ? NULL : &r->outer_pid,
                                       .collector_role = MIGRATE_COLLECTOR,
                                       .load_role = MIGRATE_LOAD,
                                       .collectors = collector_pids,
                                       .arg = r},
            e);
    }
    buf_fini(&conninfo);
    return ok && r->sampler;
}

static bool start_watch(struct run *r, struct err *e)
{
    r->starved = starved_start(&(struct starved_config){.collectors = collector_pids,
                                   .arg = r,
                                   .collector_role = MIGRATE_COLLECTOR,
                                   .load_role = MIGRATE_LOAD,
                                   .disk = DRIVE_PROGRAM,
                                   .server = r->server.shares_pids ? NULL : &r->outer_pid},
        e);
    return r->starved;
}

static bool all_committed(const struct run *r, size_t txns, struct err *e)
{
    for (size_t i = 0; i < txns; i++) {
        if (r->load.records[i].outcome != TXN_COMMITTED)
            return err_set(e, ERR_SYSTEM, "the backlog was not committed: %s",
                r->load.refused ? r->load.refusal : "the server was too slow, or went away");
    }
    return true;
}

// Runs before the collector starts.
bool run_make_backlog(struct run *r, struct err *e)
{
    const size_t txns = plan_backlog_txns(&r->plan);

    buf_init(&r->load_conninfo, 4096);
    if (!migrate_conninfo(&r->server, MIGRATE_LOAD, &r->load_conninfo, e))
        return false;
    if (txns == 0)
        return true;
    const struct load_config config = {
        .conninfo = r->load_conninfo.data,
        .plan = &r->plan,
        .scenario = r->scenario,
        .start_ns = clock_now_ns(),
        .deadline_ns = clock_now_ns() + backlog_limit_ns + (int64_t)txns * NS_PER_MS,
        .end = txns,
    };
    return load_run(&config, &r->load_progress, &r->load, e) && all_committed(r, txns, e);
}

// Hires the workers that --workers names, separated by commas.
static bool hire_workers(struct run *r, struct err *e)
{
    const char *addresses[REMOTE_MAX];
    char list[4096];
    unsigned count = 0;

    if (!r->options->workers)
        return true;
    snprintf(list, sizeof list, "%s", r->options->workers);
    char *rest = list;
    for (char *one; (one = strsep(&rest, ",")) != NULL;) {
        if (!*one || count == REMOTE_MAX)
            return err_set(e, ERR_USAGE,
                "--workers takes up to %d of HOST:PORT or ssh://HOST, commas between them",
                REMOTE_MAX);
        addresses[count++] = one;
    }
    r->workers = remote_open(addresses, count, r->scenario, &r->plan, e);
    return r->workers;
}

bool run_start_load(struct run *r, struct err *e)
{
    if (!hire_workers(r, e) || !start_sampler(r, e) || !start_watch(r, e))
        return false;
    if (!start_probe(r, e) || !server_epoch(r, e) || !queue_producer(r, e))
        return false;
    int64_t start_ns = clock_now_ns() + lead_ns;
    r->ledger.start_ns = start_ns;
    r->load_config = (struct load_config){
        .conninfo = r->load_conninfo.data,
        .plan = &r->plan,
        .scenario = r->scenario,
        .producer = manifest_is_client(&r->manifest) ? &r->producer : NULL,
        .enqueue = r->manifest.enqueue,
        .start_ns = start_ns,
        .deadline_ns = start_ns + r->plan.end_ns + r->scenario->drain_ns,
        .first = plan_backlog_txns(&r->plan),
        .end = r->plan.txn_count,
    };
    r->faults = calloc(r->plan.fault_count + 1, sizeof *r->faults);
    if (!r->faults)
        return err_memory(e);
    for (size_t i = 0; i < r->plan.fault_count; i++) {
        r->faults[i].spec = &r->scenario->faults[r->plan.faults[i].spec];
        r->faults[i].planned_ns = start_ns + r->plan.faults[i].at_ns;
    }
    // The collector's queries during its start do not count as the load's.
    run_count_trips(r);
    r->trips = 0;
    r->load_started = pthread_create(&r->load_thread, NULL, load_thread, r) == 0;
    return r->load_started || err_set(e, ERR_SYSTEM, "cannot start a thread");
}
