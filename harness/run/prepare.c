// The steps before the first insert.
//
// The order matters. Durability is proved before a token is inserted, because on a server that may
// lose commits a verdict about a collector says nothing. A backlog is committed before the
// collector starts. The collector is connected before the clock of the load starts, because a run
// measures its work and not its start; but it has 10 s for that, and then the load starts without
// it.
//
// There may be layers between collector and server: a proxy, or a network of namespaces. Each one
// takes the conninfo that leads to the server and makes one that leads to the layer itself.
#include "run/run.h"

#include "os/interrupt.h"
#include "os/own_clock.h"
#include "postgres/migrate.h"
#include "run/make_lanes.h"
#include "run/subject_queue.h"
#include "run/shared_server.h"
#include "scenario/leased.h"

static const int64_t connect_lead_ns = 300 * NS_PER_MS; // for the load's connections to open
static const int64_t collector_ready_ns = 10 * NS_PER_S;

bool run_read_epoch(struct ledger *l, PGconn *conn, struct err *e)
{
    char epoch[32];

    if (!sql_value(conn, "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint", epoch,
            sizeof epoch, e))
        return false;
    l->server_epoch_s = strtoll(epoch, NULL, 10);
    return true;
}

// Makes the network namespaces for a scenario that breaks the network in the kernel.
static bool make_network(struct run *r, struct err *e)
{
    if (!fault_needs(r->scenario, THROUGH_KERNEL))
        return true;
    r->server.net = r->context.net = &r->net;
    return netns_make(&r->net, e);
}

// True when a fault of the scenario cuts a member of the cluster off from the others.
static bool cuts_off(const struct scenario *s)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb->cuts_off)
            return true;
    }
    return false;
}

// Opens a server for this run, or takes the one that several runs share.
static bool get_server(struct run *r, struct err *e)
{
    struct server *shared = r->options.server;

    if (shared) {
        if (!shared_clear(shared, e))
            return false;
        r->server = *shared;
        // The log of a shared server goes on from run to run. This run keeps only what is written
        // from here on.
        provider_fetch_log(&r->server);
        r->log_from = provider_log_length(&r->server);
        return true;
    }
    // Both fields must be set before the server starts: with cuts_members_off the server's members
    // get network namespaces of their own, with steps_clock its processes load a library that
    // shifts their clocks.
    r->server.cuts_members_off = cuts_off(r->scenario);
    r->server.steps_clock = scenario_steps_clock(r->scenario, TARGET_SERVER) ||
                            scenario_steps_clock(r->scenario, TARGET_COLLECTOR);
    return make_network(r, e) && r->server.provider->open(&r->server, &r->scenario->postgres, e) &&
           r->server.provider->start(&r->server, e);
}

bool run_prepare_load(struct run *r, struct err *e)
{
    return ledger_init(&r->ledger, r->scenario, &r->plan, e) &&
           load_prepare(r->context.admin, &r->plan, e);
}

// Everything that the database needs before the first token. `settle` comes last, because it brings
// all of that to the disk and to every standby.
bool run_prepare_server(struct run *r, struct err *e)
{
    const struct scenario *s = r->scenario;

    r->server.provider = provider_find(&s->postgres);
    r->server.conninfo = r->options.postgres;
    r->server.seed = s->seed;
    // Another queue brings its own tables, so it gets none of the mail schema.
    int last = scenario_is_queue(s) ? SCHEMA_NONE : s->postgres.schema;
    if (!queue_load(&r->queue.manifest, s, e) || !fault_possible(r->server.provider, s, e) ||
        !get_server(r, e) ||
        !migrate_database(&r->server, last, s->collector.layout, s->postgres.announce, e))
        return false;
    r->context.server = &r->server;
    r->context.admin = migrate_admin(&r->server, e);
    return r->context.admin && queue_prepare(r, e) && lanes_make(r->context.admin, s, e) &&
           durability_prove(&r->server, r->context.admin, s->postgres.durability,
               &s->postgres.settings, &r->proof, e) &&
           // Only the first phase can have this key: the ids of the others follow on.
           load_ids_from(r->context.admin, s->load[0].ids_from, e) && run_prepare_load(r, e) &&
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

// Waits for the collector to connect, because the run does not measure its start. If it has not
// connected after 10 s, the load starts anyway, and the checks count the delay. If the harness has
// given the collector up, the load starts as well, and run_carry_out_plan returns at once. Returns
// false only on failure or interrupt.
static bool wait_for_collector(struct run *r, struct err *e)
{
    int64_t deadline = clock_now_ns() + collector_ready_ns;
    bool none = true;

    while (none && clock_now_ns() < deadline && !subject_gave_up(r->subject, NULL)) {
        if (!interrupt_sleep(RUN_TICK_NS, e) || subject_failed(r->subject, e))
            return false;
        if (!run_count_is(r,
                // A backend without a state still authenticates its client, so it does not count.
                "SELECT count(*) FROM pg_stat_activity WHERE usename = '" MIGRATE_COLLECTOR "'"
                " AND state IS NOT NULL",
                "0", &none, e))
            return false;
    }
    return true;
}

// Puts a proxy between collector and server in three cases: the scenario breaks the network, round
// trips are counted, or a standby may take over from the primary and the clients cannot follow it.
static bool route_through_proxy(struct run *r, struct buf *conninfo, struct err *e)
{
    if (!fault_needs(r->scenario, THROUGH_PROXY) && !r->options.count_trips &&
        !queue_needs_one_address(r->scenario))
        return true;
    r->context.proxy = proxy_start(&r->server, e);
    return r->context.proxy && proxy_conninfo(r->context.proxy, conninfo, e);
}

// If the scenario breaks the network in the kernel, connects the collector over the virtual network
// instead of the server's socket. That network is on this machine, so nothing is encrypted.
static bool route_through_kernel(struct run *r, struct buf *conninfo, struct err *e)
{
    // A standby listens beside its primary, so the conninfo has both ports and needs two hosts.
    const bool two = r->scenario->postgres.standby != STANDBY_NONE;

    if (!fault_needs(r->scenario, THROUGH_KERNEL))
        return true;
    buf_printf(conninfo, " host=%s%s sslmode=disable gssencmode=disable", NETNS_SERVER_ADDRESS,
        two ? "," NETNS_SERVER_ADDRESS : "");
    return buf_str(conninfo) || err_set(e, ERR_INTERNAL, "the conninfo is too long");
}

bool run_start_collector(struct run *r, struct err *e)
{
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);

    bool ok = migrate_conninfo(&r->server, MIGRATE_COLLECTOR, &conninfo, e) &&
              route_through_proxy(r, &conninfo, e) && route_through_kernel(r, &conninfo, e) &&
              (scenario_is_queue(r->scenario) ? command_make_of_subject(&r->command, r->scenario,
                                                    r->queue.manifest.consumer, conninfo.data, e)
                                              : command_make(&r->command, r->scenario,
                                                    r->options.collector, conninfo.data, e));
    if (ok && scenario_steps_clock(r->scenario, TARGET_COLLECTOR))
        own_clock_add_env(r->server.provider->clock(&r->server, TARGET_COLLECTOR), &r->command.env);
    // This variable tells the queue's consumer that each handler waits for an answer.
    if (ok && queue_is_answered(r))
        child_env_set(&r->command.env, "MAILPROOF_ANSWERS", "1");
    if (!ok)
        return false;
    struct leased leased;
    leased_read(&leased, r->scenario);
    struct subject_config config = {
        .command = r->command.argv,
        .env = (const char *const *)r->command.env.items,
        .key = r->command.key,
        .instances = r->scenario->collector.instances,
        .restart = r->scenario->collector.restart,
        .token_count = r->plan.token_count,
        .plan = &r->plan,
        // With a sender the harness answers each line. A collector that waits for answers would
        // hang without it, and one that expects none must not be written to.
        .sender = leased.on || queue_is_answered(r) ? &r->scenario->collector.sender : NULL,
        .seed = r->scenario->seed,
        // The virtual network of `through: kernel`, or the network of a cluster's clients.
        .net = r->context.net ? r->context.net : r->server.clients,
        .jobs = scenario_is_queue(r->scenario),
        .dir = r->queue.manifest.dir[0] ? r->queue.manifest.dir : NULL,
        .log_dir = r->folder.logs,
    };
    r->subject = subject_start(&config, e);
    r->context.subject = r->subject;
    return r->subject && wait_for_collector(r, e);
}

bool run_make_backlog(struct run *r, struct err *e)
{
    buf_init(&r->generator.conninfo, 4096);
    return migrate_conninfo(&r->server, MIGRATE_LOAD, &r->generator.conninfo, e) &&
           generator_backlog(&r->generator, r->scenario, &r->plan, r->queue.manifest.enqueue, e);
}

// Makes a record for each planned fault. start_ns: the time 0 of the plan, on the run's clock.
static void make_fault_records(struct run *r, int64_t start_ns)
{
    r->faults = memory_zeroed(r->plan.fault_count, sizeof *r->faults);
    for (size_t i = 0; i < r->plan.fault_count; i++) {
        r->faults[i].spec = &r->scenario->faults[r->plan.faults[i].spec];
        r->faults[i].planned_ns = start_ns + r->plan.faults[i].at_ns;
    }
}

// Starts the load and the observers. The clock of the plan starts a little later, when the load's
// connections are open.
bool run_start_load(struct run *r, struct err *e)
{
    if (!generator_open_workers(&r->generator, r->options.workers, r->scenario, &r->plan, e) ||
        !observers_start(&r->observers, &r->server, r->subject, e) ||
        !run_read_epoch(&r->ledger, r->context.admin, e) || !queue_prepare_producer(r, e))
        return false;
    int64_t start_ns = clock_now_ns() + connect_lead_ns;
    struct load_config config = {
        .conninfo = r->generator.conninfo.data,
        .plan = &r->plan,
        .scenario = r->scenario,
        .producer = manifest_is_client(&r->queue.manifest) ? &r->queue.producer : NULL,
        .enqueue = r->queue.manifest.enqueue,
        .start_ns = start_ns,
        // On a slow server the load may end late, by the time of the drain at most.
        .deadline_ns = start_ns + r->plan.end_ns + r->scenario->drain_ns,
        .first = plan_backlog_txns(&r->plan),
        .end = r->plan.txn_count,
    };
    r->ledger.start_ns = start_ns;
    make_fault_records(r, start_ns);
    // Drops the count of the round trips so far: they belong to the collector's start.
    run_count_trips(r);
    r->trips = 0;
    return generator_start(&r->generator, &config, e);
}
