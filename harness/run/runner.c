// One scenario from its first to its last step: run_scenario, and the steps after the drain.
//
// Each step fills in its part of struct run and says whether it worked. There is one way out:
// run_end ends and frees whatever there is, at whatever stage. So no step has to clean up after
// another one.
//
// Until the load begins, the first signal ends a run without a verdict. From then on there is
// something to judge: with options.partial the first signal only ends the load, and the run is
// judged by what was sent.
#include "run/runner.h"

#include <math.h>

#include "ledger/history.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "postgres/migrate.h"
#include "report/files/live.h"
#include "report/report.h"
#include "run/run.h"
#include "subject/command.h"

static bool settle_and_judge(struct run *r, struct err *e);
static bool write_reports(struct run *r, struct err *e);
static bool keep_server(struct run *r, struct err *e);

// Returns the number of repeated deliveries, excused or not.
static double count_repeats(const struct ledger *l)
{
    double repeats = 0;

    for (uint32_t t = 0; t < l->plan->token_count; t++)
        repeats += l->tokens[t].deliveries > 1 ? l->tokens[t].deliveries - 1 : 0;
    return repeats;
}

// With options.partial, lets the first signal only end the load from here on, because from here on
// there is something to judge. Always returns true, so that it can be a step of run_scenario.
static bool defer_signal(const struct run *r)
{
    interrupt_defer(r->options.partial);
    return true;
}

// Returns the run that the segment before has left, or a new one.
static struct run *take_or_make_run(const struct scenario *s, const struct run_options *o)
{
    struct run **handover = o->segment.handover, *r = handover ? *handover : NULL;

    if (handover)
        *handover = NULL;
    if (!r) {
        r = memory_zeroed(1, sizeof *r);
        r->net = (struct netns)NETNS_INIT;
    }
    r->scenario = s;
    r->options = *o;
    return r;
}

static bool begin_run(struct run *r, struct err *e)
{
    if (r->next_segment.ready)
        return run_begin_next(r, e); // server and collector go on
    bool ok = plan_make(&r->plan, r->scenario, e) &&
              folder_make(&r->folder, r->scenario, r->options.out, e);
    r->plan.segment = r->options.segment.number;
    return ok && run_prepare_server(r, e) && // start, migrate, prove durable
           run_make_backlog(r, e) &&         // what waits when the collector starts
           run_start_collector(r, e);
}

static void fill_outcome(const struct run *r, struct run_outcome *outcome)
{
    const double *values = r->end.result.values;

    *outcome = (struct run_outcome){.verdict = r->end.result.verdict,
        .trips = r->trips,
        .lost = values[METRIC_LOST],
        .duplicated = values[METRIC_DUPLICATED],
        .p50_ms = values[METRIC_LATENCY_P50],
        .p99_ms = values[METRIC_LATENCY_P99],
        .again = count_repeats(&r->ledger),
        .left = r->end.left,
        .taken = r->end.taken,
        .failed = r->end.failed,
        .handlers = r->end.handlers};
    memcpy(outcome->doubted, r->end.result.doubted, sizeof outcome->doubted);
    snprintf(outcome->folder, sizeof outcome->folder, "%s", r->folder.path);
}

bool run_scenario(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e)
{
    struct run *r = take_or_make_run(s, o);
    bool ok = begin_run(r, e) &&          // server and collector
              defer_signal(r) &&          //
              run_start_load(r, e) &&     //
              run_carry_out_plan(r, e) && // faults, until load and faults are over
              run_drain(r, e) &&          // until nothing expected is missing
              settle_and_judge(r, e) &&   //
              write_reports(r, e) &&      //
              keep_server(r, e);
    if (ok)
        fill_outcome(r, outcome);
    else if (!o->quiet)
        progress_end(&r->progress.line);
    interrupt_defer(false);
    if (ok && run_continues(r))
        *o->segment.handover = r;
    else
        run_end(r);
    return ok;
}

// Reads from the server's log when the collector's sessions opened, and computes the number of
// reconnects: the sessions beyond the first of each process; UINT64_MAX: not known.
static void find_sessions(struct run *r, struct end_facts *end)
{
    // If a fault steps the server's clock, the times in the log are wrong, and the log is not read.
    bool steps = scenario_steps_clock(r->scenario, TARGET_SERVER);
    // A process that began in an earlier segment of a soak has opened its first session there.
    size_t processes = r->ledger.log->process_count - r->carried_processes;

    // The log has wall-clock times; the offset turns them into times of the run's clock.
    int64_t wall_offset_ns = clock_wall_ns() - clock_now_ns();
    sessions_read(&end->sessions, steps ? NULL : r->server.log_path, r->log_from, MIGRATE_COLLECTOR,
        wall_offset_ns);
    r->ledger.sessions = end->sessions.opened_ns;
    r->ledger.session_count = end->sessions.count;
    end->input.reconnects = !end->sessions.opened_ns          ? UINT64_MAX
                            : end->sessions.count > processes ? end->sessions.count - processes
                                                              : 0;
}

// Looks for secrets in the collectors' logs. A run that is judged again from its history cannot do
// that, because the history keeps neither the logs nor the secrets.
static bool read_logs(struct run *r, struct err *e)
{
    struct secret_scan *scan = &r->end.secrets;

    for (int i = 0; i < r->scenario->collector.instances; i++) {
        char name[64], path[PATH_MAX];
        snprintf(name, sizeof name, "collector-%d.log", i);
        if (!path_join(path, r->folder.logs, name, e) || !secret_scan_read(scan, path, e))
            return false;
    }
    r->ledger.log_secrets = scan;
    r->ledger.logs = secret_scan_secret(scan, r->command.key) ? LOGS_HOLD_KEY : LOGS_READ;
    return true;
}

// Gathers the facts that are judged beside the ledger.
static void gather_input(struct run *r, struct end_facts *end)
{
    const struct subject_cost *cost = run_cost(r);
    const struct usage *usage = sampler_usage(r->observers.sampler);
    struct check_input *in = &end->input;

    in->load = &r->generator.result;
    in->reader_stalls = &cost->stalls;
    in->reader_ns = cost->serving_ns;
    in->cpu_users = usage_text(usage, end->cpu_users, sizeof end->cpu_users);
    in->others_share = usage_others(usage);
    in->gave_up = end->gave_up.kind != ERR_NONE ? end->gave_up.text : NULL;
}

// Completes the ledger with the last answers of the database, the server's log and the collectors'
// logs, and has it judged. A database that cannot be reached is no error here.
static bool settle_and_judge(struct run *r, struct err *e)
{
    struct err unreachable;
    bool reachable = fault_admin(&r->context, &unreachable);

    r->ledger.log = run_log(r);
    gather_input(r, &r->end);
    provider_fetch_log(&r->server);
    r->end.left = reachable ? queue_count(r, r->queue.manifest.end_state) : NAN;
    r->end.taken = reachable ? queue_count(r, r->queue.manifest.taken) : NAN;
    r->end.failed = reachable ? queue_count(r, r->queue.manifest.failed) : NAN;
    find_sessions(r, &r->end);
    PGconn *conn = reachable ? r->context.admin : NULL;
    if (!ledger_settle_losses(&r->ledger, r->faults, conn, e) || !read_logs(r, e) ||
        !ledger_settle_end(&r->ledger, conn, e))
        return false;
    if (queue_is_answered(r))
        handlers_read(&r->end.handlers, &r->ledger);
    check_ledger(&r->end.result, &r->ledger, &r->end.input);
    return true;
}

// Writes the file from which the run can be judged again without PostgreSQL.
static bool keep_history(struct run *r, struct err *e)
{
    const struct check_input *in = &r->end.input;
    struct history_notes notes = {.reconnects = in->reconnects,
        .interrupted = in->interrupted,
        .reader_stalls = *in->reader_stalls,
        .reader_ns = in->reader_ns,
        .others_share = in->others_share};
    char path[PATH_MAX];

    snprintf(notes.gave_up, sizeof notes.gave_up, "%s", in->gave_up ? in->gave_up : "");
    snprintf(notes.cpu_users, sizeof notes.cpu_users, "%s", in->cpu_users);
    return path_join(path, r->folder.path, HISTORY_NAME, e) &&
           history_write(path, &r->ledger, &r->generator.result, &notes, e);
}

static bool keep_files(struct run *r, const struct report *report, struct err *e)
{
    return folder_copy_log(&r->folder, r->server.log_path, r->log_from, e) && keep_history(r, e) &&
           report_write(report, e) && folder_link_latest(&r->folder, e);
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

// Prints the results of the handlers that the harness ended with an answer: jobs that came again,
// ran twice at once or always failed.
static void print_handlers(const struct handlers *h, FILE *out)
{
    if (h->in_hand > 0)
        fprintf(out, "  in hand     %u of %u jobs of a dead consumer came again", h->came_again,
            h->in_hand);
    if (h->came_again > 0)
        fprintf(out, ", after %.1f s at most", seconds(h->again_ns));
    fputs(h->in_hand > 0 ? "\n" : "", out);
    if (h->at_once > 0)
        fprintf(out, "  at once     %u %s while another one of %s job still ran\n", h->at_once,
            NOUN(h->at_once, "handler began", "handlers began"), NOUN(h->at_once, "its", "their"));
    if (h->failing > 0)
        fprintf(out, "  failing     %u %s, %u %s at most", h->failing,
            NOUN(h->failing, "job that always fails", "jobs that always fail"), h->attempts,
            NOUN(h->attempts, "attempt", "attempts"));
    // CLOCK_NEVER: no attempt followed a failed one; each followed a death, or one that still ran.
    if (h->attempts > 1 && h->gap_min_ns != CLOCK_NEVER)
        fprintf(out, ", %.1f to %.1f s apart", seconds(h->gap_min_ns), seconds(h->gap_max_ns));
    fputs(h->failing > 0 ? "\n" : "", out);
}

// Prints the figures that only a queue has: the number of jobs that are not done and of those that
// failed, the results of the handlers, and the promises of its documentation that the run broke.
static void print_queue(const struct run *r, const struct report *report, FILE *out)
{
    const struct quoted *q;
    size_t at = 0;

    if (r->end.left > 0)
        fprintf(out, "  left        %.0f %s by its end_state\n", r->end.left,
            NOUN(r->end.left, "job", "jobs"));
    if (r->end.failed > 0)
        fprintf(out, "  failed      %.0f %s kept as failed\n", r->end.failed,
            NOUN(r->end.failed, "job is", "jobs are"));
    print_handlers(&r->end.handlers, out);
    while ((q = report_broken_promise(report, &at)) != NULL)
        fprintf(out, "  promised    \"%s\" (%s)\n", q->quote, q->url);
}

static bool print_report(const struct run *r, const struct report *report, struct err *e)
{
    if (r->options.suites && !report_junit_suite(report, r->options.suites, e))
        return false;
    if (r->options.silent || (r->options.brief && r->end.result.verdict == VERDICT_PASS))
        return true;
    bool ok = report_print(report, stdout, e);
    print_queue(r, report, stdout);
    return ok;
}

// Returns a text that identifies the tested program for reports; the caller owns it.
static char *identify_program(const struct run *r)
{
    const struct manifest *m = &r->queue.manifest;
    char queue[200] = "";

    if (m->name)
        snprintf(queue, sizeof queue, "%s %s%s", m->name, m->version,
            manifest_is_client(m) ? ", put by its own client" : "");
    return identity_of(r->command.argv, m->dir[0] ? m->dir : NULL, queue);
}

// Writes the files and prints the verdict. The verdict is printed even when the files cannot be
// written, for example to a full disk; the result is false then.
static bool write_reports(struct run *r, struct err *e)
{
    struct environment environment;
    struct err untold;
    struct observed observed FREED_BY(observed_fini) = {0};
    struct silence silence;
    struct report report = {
        .scenario = r->scenario,
        .ledger = &r->ledger,
        .result = &r->end.result,
        .input = &r->end.input,
        .environment = &environment,
        .observed = &observed,
        .silence = &silence,
        .folder = &r->folder,
        .promises = &r->queue.manifest.promises,
    };

    environment_take(&environment, &r->proof, r->server.version);
    silence_find(&silence, &r->ledger, &r->end.result, r->folder.logs);
    observed_take(&observed, r->observers.sampler, r->ledger.start_ns, r->scenario,
        r->options.collector, identify_program(r));
    bool ok = keep_files(r, &report, e);
    // If both fail, only the first error is told.
    ok = print_report(r, &report, ok ? e : &untold) && ok;
    if (ok)
        live_judged(r->options.live, r->scenario, &r->end.result);
    return ok;
}

// With --keep, leaves the server running, and prints how to reach and how to remove it.
static bool keep_server(struct run *r, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(8192);

    if (!r->options.keep)
        return true;
    sql_finish(&r->context.admin);
    bool ok = r->server.provider->keep(&r->server, &text, e);
    if (ok && buf_str(&text))
        printf("%s", text.data);
    return ok;
}

// Lets a paused server go on. Otherwise run_end would wait for ever for a thread that waits for the
// server's answer.
static void unpause_server(struct run *r)
{
    struct err ignored;

    if (r->server.paused && !r->server.provider->pause(&r->server, false, &ignored)) {
        // Nothing to do: the server is gone, and the connections to it are closed.
    }
}

void run_end(struct run *r)
{
    if (!r)
        return;
    unpause_server(r);
    observers_stop(&r->observers);
    subject_stop(r->subject, 0);
    generator_stop(&r->generator);
    fault_abandon(&r->context, r->faults, r->plan.fault_count);
    proxy_free(r->context.proxy);
    PQfinish(r->context.admin);
    // A shared server stays, and its owner learns, for example, whether it still runs. Without
    // `state` the run has ended before it took the server over.
    if (r->options.server && r->server.state)
        *r->options.server = r->server;
    else if (r->server.provider)
        r->server.provider->close(&r->server);
    run_free_segment(r);
    subject_free(r->subject);
    queue_fini(&r->queue);
    netns_fini(&r->net);
    command_fini(&r->command);
    plan_fini(&r->next_segment.plan);
    folder_fini(&r->next_segment.folder);
    free(r);
}
