#include "run/cuts/everyflush.h"

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
#include "report/forecast.h"
#include "run/cuts/everyflush_inside.h"
#include "run/make_lanes.h"
#include "scenario/leased.h"

#define STATES_MAX 10000
#define AGAIN_ONE_IN 4 // every fourth state gets a second cut while the server recovers
// Number of tokens between two checkpoints, which make the server write pages and not only the log.
#define CHECKPOINT_EVERY 13

static const int64_t pace_ns = 4 * NS_PER_MS; // pause between commits, which gives batches of
                                              // several sizes
static const int64_t flush_ns = 20 * NS_PER_MS;
static const int64_t poll_ns = 2 * NS_PER_MS;
static const int64_t collector_end_ns = 5 * NS_PER_S;

static bool prepare_flushes(struct flushes *f, const struct scenario *s, struct err *e);
static bool record_flushes(struct flushes *f, struct err *e);
static bool try_all_flushes(struct flushes *f, struct err *e);
static void close_flushes(struct flushes *f);

bool everyflush_run(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e)
{
    struct flushes f = {.options = o};

    bool ok = folder_make(&f.folder, s, o->out, e) && //
              prepare_flushes(&f, s, e) &&            // a server on a disk that can crash
              record_flushes(&f, e) &&                // the workload, once
              try_all_flushes(&f, e) &&               // each state that a cut leaves of it
              everyflush_report(&f, outcome, e);
    close_flushes(&f);
    return ok;
}

// Adds the extension amcheck. Without it, the run finds only damage that the workload itself meets.
static bool add_amcheck(struct flushes *f, PGconn *admin)
{
    struct err missing;

    return f->server.version >= 140000 && sql_exec(admin, "CREATE EXTENSION amcheck", &missing);
}

// Lets tokens expire after a week instead of 15 minutes, because the last state may be tried later
// than that.
static bool delay_expiry(PGconn *admin, struct err *e)
{
    return sql_exec(admin,
        "ALTER TABLE tokens ALTER expires_at SET DEFAULT extract(epoch FROM now() + interval '7 "
        "days')",
        e);
}

static bool prepare_flushes(struct flushes *f, const struct scenario *s, struct err *e)
{
    struct leased leased;

    leased_read(&leased, s);
    f->server.provider = provider_find(&s->postgres);
    f->server.conninfo = f->options->postgres;
    f->server.seed = s->seed;
    f->setting = (struct flush_trial_setting){.scenario = s,
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
    // Trials come hours after the recording. By then its tokens would have expired.
    bool ok = admin && delay_expiry(admin, e) && lanes_make(admin, s, e) &&
              durability_prove(
                  &f->server, admin, s->postgres.durability, &s->postgres.settings, &f->proof, e);
    f->before.amcheck = ok && add_amcheck(f, admin);
    PQfinish(admin);
    return ok && f->server.provider->settle(&f->server, e);
}

// --- the workload -----------------------------------------------------------------

// Notes, in leased mode, the ends that the database has by now. They are committed, because one
// session sees them of another, so a cut must leave them.
static bool note_ends(struct flushes *f, PGconn *conn, struct err *e)
{
    bool ended[FLUSH_TRIAL_ALL] = {false};

    if (!f->setting.leased)
        return true;
    if (!flush_trial_find_ended(conn, ended, e))
        return false;
    for (uint32_t t = 0; t < FLUSH_TRIAL_TOKENS; t++) {
        if (ended[t] && !f->before.recorded_ns[t])
            f->before.recorded_ns[t] = clock_now_ns();
    }
    return true;
}

static bool insert_all(struct flushes *f, PGconn *conn, struct err *e)
{
    for (uint32_t t = 0; t < FLUSH_TRIAL_TOKENS; t++) {
        f->before.sent_ns[t] = clock_now_ns();
        if (!flush_trial_insert(conn, t, e))
            return false;
        f->before.acked_ns[t] = clock_now_ns();
        if (!note_ends(f, conn, e))
            return false;
        // Without these, all that a cut could tear would be the log.
        if (t % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1 && !sql_exec(conn, "CHECKPOINT", e))
            return false;
        if (!interrupt_sleep_until(clock_now_ns() + pace_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return true;
}

static bool is_flush_done(const struct flushes *f)
{
    for (uint32_t t = 0; t < FLUSH_TRIAL_TOKENS; t++) {
        if (!subject_seen_ns(f->subject, t) || (f->setting.leased && !f->before.recorded_ns[t]))
            return false;
    }
    return true;
}

// Waits until all tokens are written. A collector that fails to write them without a cut is judged
// for that, because these tokens are lost in the last state, too.
static bool await_all(struct flushes *f, PGconn *conn, struct err *e)
{
    const struct scenario *s = f->setting.scenario;
    int64_t deadline = clock_now_ns() + s->recovery_limit_ns + s->collector.batch_timeout_ns;

    while (!is_flush_done(f) && clock_now_ns() < deadline && !subject_gave_up(f->subject, NULL)) {
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        if (subject_failed(f->subject, e) || !note_ends(f, conn, e))
            return false;
    }
    return true;
}

static bool record_flushes(struct flushes *f, struct err *e)
{
    PGconn *conn = migrate_admin(&f->server, e);
    bool ok = conn && states_record(&f->server, flush_ns, e) &&
              (f->subject = flush_trial_start_collectors(
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

static void show_flush_progress(const struct flushes *f, uint64_t done)
{
    if (!f->options->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " states%s", done, f->count,
            done == f->count ? "\n" : "");
}

// The first state has shown how long one takes. Which states there are, only this recording knows:
// a run that is stopped here begins anew.
static void tell_flushes_start(const struct flushes *f, int64_t first_ns)
{
    struct forecast forecast = {0};

    forecast_add_trials(&forecast, f->count, first_ns, 1);
    if (!f->options->quiet)
        forecast_tell(&forecast, "state", "states");
}

// Returns the trial of a state. Every second state starts all collectors, the others start only
// one. The seed decides which states get a second cut, and where it comes.
static struct flush_trial trial_of(const struct flushes *f, uint64_t i, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, 1);
    return (struct flush_trial){
        .instances = i % 2 == 0 ? f->setting.scenario->collector.instances : 1,
        .again = rng_below(&rng, AGAIN_ONE_IN) == 0,
        .again_seed = rng_next(&rng),
    };
}

static bool try_all_flushes(struct flushes *f, struct err *e)
{
    int64_t began_ns = clock_now_ns();
    bool ok = f->count <= STATES_MAX;

    // Each state takes a second or more, so many are a mistake in the scenario.
    if (!ok)
        return err_set(e, ERR_SYSTEM, "the workload flushed %" PRIu64 " times", f->count);
    f->states = calloc(f->count, sizeof *f->states);
    f->results = calloc(f->count, sizeof *f->results);
    if (!f->states || !f->results)
        return err_memory(e);
    for (uint64_t i = 0; ok && i < f->count; i++) {
        // Each state keeps its seed, whatever the number of states before it.
        uint64_t seed = f->setting.scenario->seed * STATES_MAX + i;
        // With this mutant only the last state is tried, in which nothing is lost.
        if (mutant_is("run", "every-flush") && i + 1 < f->count) {
            f->results[i].starts = true;
            continue;
        }
        show_flush_progress(f, i);
        struct flush_trial trial = trial_of(f, i, seed);
        ok = states_put(&f->server, i + 1, seed, &f->states[i], e) &&
             flush_trial_run(&f->setting, &f->before, &f->states[i], &trial, &f->results[i], e);
        if (ok && i == 0)
            tell_flushes_start(f, clock_now_ns() - began_ns);
        if (ok && interrupt_signal())
            ok = err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    show_flush_progress(f, f->count);
    f->took_ns = clock_now_ns() - began_ns;
    return ok;
}

static void close_flushes(struct flushes *f)
{
    subject_free(f->subject);
    command_fini(&f->command);
    if (f->server.provider)
        f->server.provider->close(&f->server);
    free(f->states);
    free(f->results);
    folder_fini(&f->folder);
}
