#include "run/everyflush.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/interrupt.h"
#include "os/mutant.h"
#include "plan/rng.h"
#include "postgres/durability.h"
#include "postgres/migrate.h"
#include "report/junit.h"
#include "report/report.h"
#include "run/afterlife.h"
#include "scenario/leased.h"
#include "subject/command.h"

#define STATES_MAX 10000
#define WORST_SHOWN 10
#define AGAIN_ONE_IN 4      // states, with a second cut while the server recovers
#define CHECKPOINT_EVERY 13 // tokens: so that pages are written, too, not only the log

static const int64_t pace_ns = 4 * NS_PER_MS; // between commits: batches of several sizes
static const int64_t flush_ns = 20 * NS_PER_MS;
static const int64_t poll_ns = 2 * NS_PER_MS;
static const int64_t collector_end_ns = 5 * NS_PER_S;

struct flushes {
    struct afterlife_setting setting;
    const struct run_options *options;
    struct server server;
    struct folder folder;
    struct durability_proof proof;
    struct before before;
    struct subject *subject; // of the workload
    struct command command;
    struct state *states;
    struct afterlife_result *results;
    uint64_t count;
    int64_t took_ns;
};

static bool prepare(struct flushes *f, const struct scenario *s, struct err *e);
static bool record(struct flushes *f, struct err *e);
static bool try_all(struct flushes *f, struct err *e);
static bool report(struct flushes *f, struct run_outcome *outcome, struct err *e);
static void close_down(struct flushes *f);

bool everyflush_run(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e)
{
    struct flushes f = {.options = o};

    bool ok = folder_make(&f.folder, s, o->out, e) && //
              prepare(&f, s, e) &&                    // a server on a disk that can crash
              record(&f, e) &&                        // the workload, once
              try_all(&f, e) &&                       // each state that a cut leaves of it
              report(&f, outcome, e);
    close_down(&f);
    return ok;
}

// Adds the extension amcheck. Without it, the run finds only damage that the workload itself meets.
static bool add_amcheck(struct flushes *f, PGconn *admin)
{
    struct err missing;

    return f->server.version >= 140000 && sql_exec(admin, "CREATE EXTENSION amcheck", &missing);
}

// A token expires after a quarter of an hour by itself. The last state may be tried after that.
static bool let_tokens_last(PGconn *admin, struct err *e)
{
    return sql_exec(admin,
        "ALTER TABLE tokens ALTER expires_at SET DEFAULT extract(epoch FROM now() + interval '7 "
        "days')",
        e);
}

static bool prepare(struct flushes *f, const struct scenario *s, struct err *e)
{
    struct leased leased;

    leased_read(&leased, s);
    f->server.provider = provider_find(&s->postgres);
    f->server.conninfo = f->options->postgres;
    f->server.seed = s->seed;
    f->setting = (struct afterlife_setting){.scenario = s,
        .collector = f->options->collector,
        .server = &f->server,
        .leased = leased.on,
        .log_dir = f->folder.logs};
    if (!provider_suits(f->server.provider, &s->postgres, e) ||
        !f->server.provider->open(&f->server, &s->postgres, e) ||
        !f->server.provider->start(&f->server, e) ||
        !migrate_database(
            &f->server, s->postgres.schema, s->collector.layout, s->postgres.announce, e))
        return false;
    PGconn *admin = migrate_admin(&f->server, e);
    bool ok = admin && let_tokens_last(admin, e) &&
              durability_prove(
                  &f->server, admin, s->postgres.durability, &s->postgres.settings, &f->proof, e);
    f->before.amcheck = ok && add_amcheck(f, admin);
    PQfinish(admin);
    return ok && f->server.provider->settle(&f->server, e);
}

// --- the workload -----------------------------------------------------------------

// In leased mode: notes the ends that are in the database by now. What one session sees of another
// is committed, and a cut must leave it.
static bool note_ends(struct flushes *f, PGconn *conn, struct err *e)
{
    bool ended[AFTERLIFE_ALL] = {false};

    if (!f->setting.leased)
        return true;
    if (!afterlife_find_ended(conn, ended, e))
        return false;
    for (uint32_t t = 0; t < AFTERLIFE_TOKENS; t++) {
        if (ended[t] && !f->before.recorded_ns[t])
            f->before.recorded_ns[t] = clock_now_ns();
    }
    return true;
}

static bool insert_all(struct flushes *f, PGconn *conn, struct err *e)
{
    for (uint32_t t = 0; t < AFTERLIFE_TOKENS; t++) {
        f->before.sent_ns[t] = clock_now_ns();
        if (!afterlife_insert(conn, t, e))
            return false;
        f->before.acked_ns[t] = clock_now_ns();
        if (!note_ends(f, conn, e))
            return false;
        if (t % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1 && !sql_exec(conn, "CHECKPOINT", e))
            return false;
        if (!interrupt_sleep_until(clock_now_ns() + pace_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return true;
}

static bool is_done(const struct flushes *f)
{
    for (uint32_t t = 0; t < AFTERLIFE_TOKENS; t++) {
        if (!subject_seen(f->subject, t) || (f->setting.leased && !f->before.recorded_ns[t]))
            return false;
    }
    return true;
}

// A collector that does not write all tokens without a cut is judged by that: the tokens will be
// lost in the last state, too.
static bool await_all(struct flushes *f, PGconn *conn, struct err *e)
{
    const struct scenario *s = f->setting.scenario;
    int64_t deadline = clock_now_ns() + s->recovery_limit_ns + s->collector.batch_timeout_ns;

    while (!is_done(f) && clock_now_ns() < deadline && !subject_gave_up(f->subject, NULL)) {
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        if (subject_failed(f->subject, e) || !note_ends(f, conn, e))
            return false;
    }
    return true;
}

static bool record(struct flushes *f, struct err *e)
{
    PGconn *conn = migrate_admin(&f->server, e);
    bool ok = conn && states_record(&f->server, flush_ns, e) &&
              (f->subject = afterlife_start_collectors(
                   &f->setting, f->setting.scenario->collector.instances, &f->command, e)) &&
              insert_all(f, conn, e) && await_all(f, conn, e) &&
              states_begin(&f->server, &f->count, e);

    PQfinish(conn);
    if (!ok)
        return false;
    subject_stop(f->subject, collector_end_ns);
    f->before.log = subject_log(f->subject);
    return !subject_failed(f->subject, e);
}

// --- the states ---------------------------------------------------------------------

static void show(const struct flushes *f, uint64_t done)
{
    if (!f->options->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " states%s", done, f->count,
            done == f->count ? "\n" : "");
}

// By turns: all collectors start again, and only one. A second cut comes where the seed draws it.
static struct afterlife_trial trial_of(const struct flushes *f, uint64_t i, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, 1);
    return (struct afterlife_trial){
        .instances = i % 2 == 0 ? f->setting.scenario->collector.instances : 1,
        .again = rng_below(&rng, AGAIN_ONE_IN) == 0,
        .again_seed = rng_next(&rng),
    };
}

static bool try_all(struct flushes *f, struct err *e)
{
    int64_t began_ns = clock_now_ns();
    bool ok = f->count <= STATES_MAX;

    if (!ok)
        return err_set(e, ERR_SYSTEM, "the workload flushed %" PRIu64 " times", f->count);
    f->states = calloc(f->count, sizeof *f->states);
    f->results = calloc(f->count, sizeof *f->results);
    if (!f->states || !f->results)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (uint64_t i = 0; ok && i < f->count; i++) {
        uint64_t seed = f->setting.scenario->seed * STATES_MAX + i;
        // Mutated: what is tried is the state after the last flush, which lacks nothing.
        uint64_t flush = mutant_is("run", "every-flush") ? f->count : i + 1;
        show(f, i);
        struct afterlife_trial trial = trial_of(f, i, seed);
        ok = states_put(&f->server, flush, seed, &f->states[i], e) &&
             afterlife_try(&f->setting, &f->before, &f->states[i], &trial, &f->results[i], e);
        if (ok && interrupt_signal())
            ok = err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    show(f, f->count);
    f->took_ns = clock_now_ns() - began_ns;
    return ok;
}

// --- what came of it ------------------------------------------------------------------

static bool is_bad(const struct afterlife_result *r)
{
    return !r->starts || r->vanished || r->lost || r->duplicated || r->damaged || r->exits;
}

// One kind of failure, and the function that counts it in a state.
static unsigned count_starts(const struct afterlife_result *r)
{
    return !r->starts;
}

static unsigned count_vanished(const struct afterlife_result *r)
{
    return r->vanished;
}

static unsigned count_lost(const struct afterlife_result *r)
{
    return r->lost;
}

static unsigned count_duplicated(const struct afterlife_result *r)
{
    return r->duplicated;
}

static unsigned count_damaged(const struct afterlife_result *r)
{
    return r->damaged;
}

static unsigned count_exits(const struct afterlife_result *r)
{
    return r->exits;
}

static const struct failure {
    const char *name, *help;
    unsigned (*count)(const struct afterlife_result *r);
} failures[] = {
    {"unstartable", "the server does not start", count_starts},
    {"vanished", "acknowledged, and not there", count_vanished},
    {"lost", "there, and never written (leased: or without an end)", count_lost},
    {"duplicated", "written again, not from a line in doubt", count_duplicated},
    {"damaged", "pages, indexes or queries broken", count_damaged},
    {"exits", "the collector ended", count_exits},
};

#define FAILURES (sizeof failures / sizeof *failures)

// Returns how many states have the failure; *sum counts its cases.
static uint64_t count_states(const struct flushes *f, const struct failure *kind, uint64_t *sum)
{
    uint64_t states = 0;

    *sum = 0;
    for (uint64_t i = 0; i < f->count; i++) {
        unsigned count = kind->count(&f->results[i]);
        states += count > 0;
        *sum += count;
    }
    return states;
}

static bool write_states(struct flushes *f, struct err *e)
{
    struct buf csv;

    buf_init(&csv, 16 << 20);
    buf_append_str(&csv, "flush,at_ms,writes,sectors,kept,again,again_sectors,again_kept");
    for (size_t k = 0; k < FAILURES; k++)
        buf_printf(&csv, ",%s", failures[k].name);
    buf_append_str(&csv, ",ms\n");
    for (uint64_t i = 0; i < f->count; i++) {
        const struct state *s = &f->states[i];
        const struct afterlife_result *r = &f->results[i];
        buf_printf(&csv, "%" PRIu64 ",%.1f,%" PRId64 ",%" PRId64 ",%" PRId64, i + 1,
            (double)(s->at_ns - f->before.sent_ns[0]) / 1e6, s->writes, s->sectors, s->kept);
        buf_printf(
            &csv, ",%" PRIu64 ",%" PRId64 ",%" PRId64, r->again, r->second.sectors, r->second.kept);
        for (size_t k = 0; k < FAILURES; k++)
            buf_printf(&csv, ",%u", failures[k].count(r));
        buf_printf(&csv, ",%lld\n", (long long)(r->took_ns / NS_PER_MS));
    }
    bool ok = folder_write(&f->folder, "flushes.csv", &csv, e);
    buf_fini(&csv);
    return ok;
}

static void append_repeat(const struct flushes *f, struct buf *out)
{
    report_repeat_of(f->folder.path, f->setting.scenario, f->setting.collector, out);
    buf_append_str(out, " --every-flush");
}

static void print_repeat(const struct flushes *f)
{
    struct buf command;

    buf_init(&command, 1 << 16);
    append_repeat(f, &command);
    if (buf_str(&command))
        printf("  repeat      %s\n", command.data);
    buf_fini(&command);
}

static void print_worst(const struct flushes *f)
{
    for (uint64_t i = 0, shown = 0; i < f->count && shown < WORST_SHOWN; i++) {
        const struct afterlife_result *r = &f->results[i];
        if (!is_bad(r))
            continue;
        printf("  flush %" PRIu64 "%s:", i + 1, r->again ? " and one of the recovery" : "");
        for (size_t k = 0; k < FAILURES; k++) {
            if (failures[k].count(r))
                printf(" %u %s", failures[k].count(r), failures[k].name);
        }
        printf("%s%s\n", *r->why ? ": " : "", r->why);
        shown++;
    }
}

// Prints the window of loss that PostgreSQL documents for synchronous_commit = off.
static void print_window(const struct flushes *f)
{
    int64_t oldest_ns = 0;

    for (uint64_t i = 0; i < f->count; i++)
        oldest_ns = f->results[i].oldest_ns > oldest_ns ? f->results[i].oldest_ns : oldest_ns;
    if (oldest_ns)
        printf("  what vanished was acknowledged up to %.0f ms before its cut\n",
            (double)oldest_ns / 1e6);
}

static bool is_torn(const struct state *s)
{
    return s->kept > 0 && s->kept < s->sectors;
}

static void print_states(const struct flushes *f)
{
    uint64_t sectors = 0, kept = 0, torn = 0, again = 0, again_torn = 0, repaired = 0;

    for (uint64_t i = 0; i < f->count; i++) {
        sectors += (uint64_t)f->states[i].sectors;
        kept += (uint64_t)f->states[i].kept;
        torn += is_torn(&f->states[i]);
        again += f->results[i].again > 0;
        again_torn += is_torn(&f->results[i].second);
        repaired += f->results[i].repaired;
    }
    printf("  %" PRIu64 " states in %.0f s, of a workload of %d commits; %" PRIu64 " of %" PRIu64
           " unflushed sectors kept, in %" PRIu64 " states a part\n",
        f->count, (double)f->took_ns / 1e9, AFTERLIFE_TOKENS, kept, sectors, torn);
    printf("  %" PRIu64 " of them cut again while the server recovered, of which %" PRIu64
           " kept a part; %" PRIu64 " file systems repaired\n",
        again, again_torn, repaired);
}

static void print(const struct flushes *f, enum verdict verdict)
{
    printf("%s, every flush: %s\n", f->setting.scenario->name, verdict_name(verdict));
    print_states(f);
    if (!f->before.amcheck)
        printf("  pages and indexes were not looked through: there is no amcheck\n");
    printf("  %-12s %7s %7s\n", "", "states", "sum");
    for (size_t k = 0; k < FAILURES; k++) {
        uint64_t sum, states = count_states(f, &failures[k], &sum);
        printf("  %-12s %7" PRIu64 " %7" PRIu64 "  %s\n", failures[k].name, states, sum,
            failures[k].help);
    }
    print_window(f);
    print_worst(f);
    printf("  result      %s\n", f->folder.path);
    if (verdict != VERDICT_PASS)
        print_repeat(f);
}

static bool add_suite(const struct flushes *f, struct err *e)
{
    const char *name = f->setting.scenario->name;
    struct buf *out = f->options->suites, command;
    struct junit_counts counts = {.tests = (int)FAILURES};
    uint64_t states[FAILURES], sum;

    for (size_t k = 0; k < FAILURES; k++) {
        states[k] = count_states(f, &failures[k], &sum);
        counts.failures += states[k] > 0;
    }
    buf_init(&command, 1 << 16);
    buf_append_str(&command, "repeat: ");
    append_repeat(f, &command);
    junit_open(name, &counts, (double)f->took_ns / 1e9, out);
    for (size_t k = 0; k < FAILURES; k++) {
        char message[120];
        snprintf(message, sizeof message, "in %" PRIu64 " of %" PRIu64 " states: %s", states[k],
            f->count, failures[k].help);
        junit_case(name,
            &(struct junit_case){"flush", failures[k].name, states[k] ? "failure" : NULL, message,
                buf_str(&command)},
            out);
    }
    buf_fini(&command);
    return junit_close(out) || err_set(e, ERR_INTERNAL, "junit.xml would be too long");
}

static bool report(struct flushes *f, struct run_outcome *outcome, struct err *e)
{
    outcome->verdict = VERDICT_PASS;
    for (uint64_t i = 0; i < f->count; i++) {
        if (is_bad(&f->results[i]))
            outcome->verdict = VERDICT_VIOLATED;
    }
    snprintf(outcome->folder, sizeof outcome->folder, "%s", f->folder.path);
    if (!write_states(f, e) || !folder_copy_log(&f->folder, f->server.log_path, 0, e) ||
        !folder_link_latest(&f->folder, e))
        return false;
    print(f, outcome->verdict);
    return !f->options->suites || add_suite(f, e);
}

static void close_down(struct flushes *f)
{
    subject_free(f->subject);
    command_fini(&f->command);
    if (f->server.provider)
        f->server.provider->close(&f->server);
    free(f->states);
    free(f->results);
    folder_fini(&f->folder);
}
