#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ledger/history.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "postgres/migrate.h"
#include "report/live.h"
#include "report/report.h"
#include "run/queue.h"
#include "subject/identity.h"

static bool settle_and_judge(struct run *r, struct err *e);
static bool write_reports(struct run *r, struct err *e);
static bool keep_server(struct run *r, struct err *e);
static void close_down(struct run *r);

static double count_repeats(const struct ledger *l)
{
    double repeats = 0;

    for (uint32_t t = 0; t < l->plan->token_count; t++)
        repeats += l->tokens[t].deliveries > 1 ? l->tokens[t].deliveries - 1 : 0;
    return repeats;
}

// From here on there is something to judge, so the first signal only ends the load.
static bool defer_signal(const struct run *r)
{
    interrupt_defer(r->options->partial);
    return true;
}

bool run_scenario(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e)
{
    struct run *r = calloc(1, sizeof *r);

    if (!r)
        return err_memory(e);
    r->net = (struct netns)NETNS_INIT;
    r->scenario = s;
    r->options = o;
    bool ok = plan_make(&r->plan, s, e) &&             //
              folder_make(&r->folder, s, o->out, e) && //
              run_prepare_server(r, e) &&              // start, migrate, prove durable
              run_make_backlog(r, e) &&                // what waits when the collector starts
              run_start_collector(r, e) &&             //
              defer_signal(r) &&                       //
              run_start_load(r, e) &&                  //
              run_carry_out_plan(r, e) &&              // faults, until load and faults are over
              run_drain(r, e) &&                       // until nothing expected is missing
              settle_and_judge(r, e) &&                //
              write_reports(r, e) &&                   //
              keep_server(r, e);
    if (ok) {
        outcome->verdict = r->result.verdict;
        outcome->trips = r->trips;
        outcome->lost = r->result.values[METRIC_LOST];
        outcome->duplicated = r->result.values[METRIC_DUPLICATED];
        outcome->p50_ms = r->result.values[METRIC_LATENCY_P50];
        outcome->p99_ms = r->result.values[METRIC_LATENCY_P99];
        outcome->again = count_repeats(&r->ledger);
        outcome->left = r->left;
        snprintf(outcome->folder, sizeof outcome->folder, "%s", r->folder.path);
    }
    interrupt_defer(false);
    close_down(r);
    free(r);
    return ok;
}

// The server's log tells when the collector's sessions opened, by the wall clock.
static void find_sessions(struct run *r)
{
    struct timespec wall;
    size_t processes = r->ledger.log->process_count;

    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t wall_ns = (int64_t)wall.tv_sec * NS_PER_S + wall.tv_nsec - clock_now_ns();
    sessions_read(&r->sessions, r->server.log_path, r->log_from, MIGRATE_COLLECTOR, wall_ns);
    r->ledger.sessions = r->sessions.opened_ns;
    r->ledger.session_count = r->sessions.count;
    r->input.reconnects = !r->sessions.opened_ns          ? UINT64_MAX
                          : r->sessions.count > processes ? r->sessions.count - processes
                                                          : 0;
}

static bool settle_and_judge(struct run *r, struct err *e)
{
    struct err unreachable;
    bool reachable = fault_admin(&r->context, &unreachable);

    r->ledger.log = subject_log(r->subject);
    r->input.load = &r->load;
    r->input.reader_stalls = &subject_cost(r->subject)->stalls;
    r->input.reader_ns = subject_cost(r->subject)->serving_ns;
    r->input.cpu_users = usage_text(sampler_usage(r->sampler), r->cpu_users, sizeof r->cpu_users);
    r->input.others_share = usage_others(sampler_usage(r->sampler));
    r->input.interrupted = r->interrupted;
    r->input.gave_up = r->gave_up.kind != ERR_NONE ? r->gave_up.text : NULL;
    provider_fetch_log(&r->server);
    r->left = reachable ? queue_left(r) : NAN;
    find_sessions(r);
    return ledger_settle_end(&r->ledger, reachable ? r->context.admin : NULL, e) &&
           check_ledger(&r->result, &r->ledger, &r->input, e);
}

static bool keep_history(struct run *r, struct err *e)
{
    struct history_notes notes = {.reconnects = r->input.reconnects,
        .interrupted = r->input.interrupted,
        .reader_stalls = *r->input.reader_stalls,
        .reader_ns = r->input.reader_ns,
        .others_share = r->input.others_share};
    char path[PATH_MAX];

    snprintf(notes.gave_up, sizeof notes.gave_up, "%s", r->input.gave_up ? r->input.gave_up : "");
    snprintf(notes.cpu_users, sizeof notes.cpu_users, "%s", r->input.cpu_users);
    return path_join(path, r->folder.path, HISTORY_NAME, e) &&
           history_write(path, &r->ledger, &r->load, &notes, e);
}

static bool keeps_silent(const struct run *r)
{
    return r->options->silent || (r->options->brief && r->result.verdict == VERDICT_PASS);
}

static bool keep_files(struct run *r, const struct report *report, struct err *e)
{
    return folder_copy_log(&r->folder, r->server.log_path, r->log_from, e) && keep_history(r, e) &&
           report_write(report, e) && folder_link_latest(&r->folder, e);
}

static bool tell(const struct run *r, const struct report *report, struct err *e)
{
    return (!r->options->suites || report_junit_suite(report, r->options->suites, e)) &&
           (keeps_silent(r) || report_print(report, stdout, e));
}

static char *program_of(const struct run *r)
{
    const struct manifest *m = &r->manifest;
    char queue[200] = "";

    if (m->name)
        snprintf(queue, sizeof queue, "%s %s%s", m->name, m->version,
            manifest_is_client(m) ? ", put by its own client" : "");
    return identity_of(r->command.argv, m->dir[0] ? m->dir : NULL, queue);
}

// Prints the verdict even when the files cannot be written, for example to a full disk.
static bool write_reports(struct run *r, struct err *e)
{
    struct environment environment;
    struct err untold;
    struct observed observed = {0};
    struct report report = {
        .scenario = r->scenario,
        .ledger = &r->ledger,
        .result = &r->result,
        .input = &r->input,
        .environment = &environment,
        .observed = &observed,
        .folder = &r->folder,
    };

    environment_take(&environment, &r->proof, r->server.version);
    bool ok = observed_take(&observed, r->sampler, r->ledger.start_ns, r->scenario,
        r->options->collector, program_of(r), e);
    if (ok) {
        ok = keep_files(r, &report, e);
        ok = tell(r, &report, ok ? e : &untold) && ok;
    }
    observed_fini(&observed);
    if (ok)
        live_judged(r->options->live, r->scenario, &r->result);
    return ok;
}

static bool keep_server(struct run *r, struct err *e)
{
    struct buf text;

    if (!r->options->keep)
        return true;
    buf_init(&text, 8192);
    PQfinish(r->context.admin);
    r->context.admin = NULL;
    bool ok = r->server.provider->keep(&r->server, &text, e);
    if (ok && buf_str(&text))
        printf("%s", text.data);
    buf_fini(&text);
    return ok;
}

// Lets a paused server go on, because a thread that has sent it a query would wait for ever.
static void thaw_server(struct run *r)
{
    struct err ignored;

    if (r->server.paused && !r->server.provider->pause(&r->server, false, &ignored)) {
        // The server is gone, and its connections are closed.
    }
}

// Accepts a run at any stage.
static void close_down(struct run *r)
{
    thaw_server(r);
    atomic_store(&r->load_progress.stop, 1);
    starved_stop(r->starved);
    subject_stop(r->subject, 0);
    if (r->load_started)
        pthread_join(r->load_thread, NULL);
    probe_free(r->probe);
    probe_free(r->flush_probe);
    fault_abandon(&r->context, r->faults, r->plan.fault_count);
    proxy_free(r->context.proxy);
    PQfinish(r->context.admin);
    if (r->options->server && r->server.state)
        *r->options->server = r->server;
    else if (r->server.provider)
        r->server.provider->close(&r->server);
    // Comes after the server's end: a query to a frozen server would not return.
    sampler_free(r->sampler);
    queue_close(r);
    starved_free(r->starved);
    subject_free(r->subject);
    netns_fini(&r->net);
    result_fini(&r->result);
    ledger_fini(&r->ledger);
    remote_free(r->workers);
    load_result_fini(&r->load);
    sessions_fini(&r->sessions);
    free(r->faults);
    buf_fini(&r->load_conninfo);
    command_fini(&r->command);
    manifest_fini(&r->manifest);
    plan_fini(&r->plan);
    folder_fini(&r->folder);
}
