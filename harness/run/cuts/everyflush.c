#include "run/cuts/cuts.h"

#include "os/interrupt.h"
#include "os/mutant.h"
#include "plan/rng.h"
#include "postgres/durability.h"
#include "postgres/migrate.h"
#include "report/forecast.h"
#include "run/cuts/everyflush_inside.h"
#include "run/make_lanes.h"
#include "run/shared_server.h"
#include "scenario/leased.h"

#define STATES_MAX 10000
// Of the states in which a cut leaves the disk, one in four gets a second cut while the server
// recovers; the seed draws which.
#define SECOND_CUT_ONE_IN 4
// Number of tokens between two checkpoints, which make the server write pages and not only the log.
#define CHECKPOINT_EVERY 13

static const int64_t pace_ns = 4 * NS_PER_MS;   // pause between commits, which gives batches of
                                                // several sizes
static const int64_t flush_ns = 20 * NS_PER_MS; // the disk takes this time for each flush, so a
                                                // line is read before its confirmation is flushed
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
              try_all_flushes(&f, e) &&               // each state in which a cut leaves the disk
              everyflush_report(&f, outcome, e);
    close_flushes(&f);
    return ok;
}

// Adds the extension amcheck. False if it is missing, or older than PostgreSQL 14, where it cannot
// check tables (verify_heapam). The run then finds only the damage that makes its own queries fail.
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

// Starts a server whose disk can crash, migrates it and proves that it is durable.
static bool prepare_flushes(struct flushes *f, const struct scenario *s, struct err *e)
{
    struct leased leased;

    leased_read(&leased, s);
    f->setting = (struct flush_trial_setting){.scenario = s,
        .collector = f->options->collector,
        .server = &f->server,
        .leased = leased.on,
        .log_dir = f->folder.logs};
    if (!shared_open(&f->server, s, f->options->postgres, e) ||
        !migrate_database(
            &f->server, s->postgres.schema, s->collector.layout, s->postgres.announce, e))
        return false;
    PGconn *admin = migrate_admin(&f->server, e);
    bool ok = admin && delay_expiry(admin, e) && lanes_make(admin, s, e) &&
              durability_prove(
                  &f->server, admin, s->postgres.durability, &s->postgres.settings, &f->proof, e);
    f->workload.amcheck = ok && add_amcheck(f, admin);
    PQfinish(admin);
    return ok && f->server.provider->settle(&f->server, e);
}

// --- the workload -----------------------------------------------------------------

// In leased mode, notes the tokens that have an end in the database by now. Another session sees
// only what is committed, so such an end must survive a cut.
static bool note_ends(struct flushes *f, PGconn *conn, struct err *e)
{
    bool ended[FLUSH_TRIAL_ALL] = {false};

    if (!f->setting.leased)
        return true;
    if (!flush_trial_find_ended(conn, ended, e))
        return false;
    for (uint32_t t = 0; t < FLUSH_TRIAL_TOKENS; t++) {
        if (ended[t] && !f->workload.recorded_ns[t])
            f->workload.recorded_ns[t] = clock_now_ns();
    }
    return true;
}

// Commits the tokens of the workload one by one, and notes when each was sent and acknowledged.
static bool insert_all(struct flushes *f, PGconn *conn, struct err *e)
{
    for (uint32_t t = 0; t < FLUSH_TRIAL_TOKENS; t++) {
        f->workload.sent_ns[t] = clock_now_ns();
        if (!flush_trial_insert(conn, t, e))
            return false;
        f->workload.acked_ns[t] = clock_now_ns();
        if (!note_ends(f, conn, e))
            return false;
        // Without checkpoints the server would write only its log, and a cut could tear nothing
        // else.
        if (t % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1 && !sql_exec(conn, "CHECKPOINT", e))
            return false;
        if (!interrupt_sleep(pace_ns, e))
            return false;
    }
    return true;
}

// True when each token was read and, in leased mode, its end was seen in the database.
static bool is_flush_done(const struct flushes *f)
{
    for (uint32_t t = 0; t < FLUSH_TRIAL_TOKENS; t++) {
        if (!subject_seen_ns(f->subject, t) || (f->setting.leased && !f->workload.recorded_ns[t]))
            return false;
    }
    return true;
}

// Waits until all tokens are read and, in leased mode, their ends recorded, for as long as a
// recovery may take. Returns true as well if some are missing by then: they count as lost in the
// last state, so that a collector that fails without a cut is convicted, too.
static bool await_all(struct flushes *f, PGconn *conn, struct err *e)
{
    const struct scenario *s = f->setting.scenario;
    int64_t deadline = clock_now_ns() + s->recovery_limit_ns + s->collector.batch_timeout_ns;

    while (!is_flush_done(f) && clock_now_ns() < deadline && !subject_gave_up(f->subject, NULL)) {
        if (!interrupt_sleep(poll_ns, e) || subject_failed(f->subject, e) || !note_ends(f, conn, e))
            return false;
    }
    return true;
}

// Runs the workload once, while each flush of the server's disk is recorded. states_begin kills the
// server and sets f->count to the number of states that the recording gives.
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
    f->workload.log = subject_log(f->subject);
    return !subject_failed(f->subject, e);
}

// --- the states ---------------------------------------------------------------------

static void show_flush_progress(const struct flushes *f, uint64_t done, const char *end)
{
    if (!f->options->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " states%s", done, f->count, end);
}

// Tells the user how long all states will take, from the time of the first one. A run that is
// stopped later is lost: it cannot be resumed, because the next run records other states.
static void print_flushes_forecast(const struct flushes *f, int64_t first_ns)
{
    struct forecast forecast = {0};

    forecast_add_trials(&forecast, f->count, first_ns, 1, 1); // one at a time, on one server
    if (!f->options->quiet)
        forecast_tell(&forecast, "state", "states");
}

// Returns the settings for the trial of state i. Every second state starts all collectors, which
// return to what they had taken. The others start only one, which must take over from the rest. The
// state's own seed decides whether it gets a second cut, and where that comes.
static struct flush_trial make_flush_trial(const struct flushes *f, uint64_t i, uint64_t state_seed)
{
    struct rng rng;

    rng_init(&rng, state_seed, 1); // 1, because the disk draws from stream 0 of this seed
    return (struct flush_trial){
        .instances = i % 2 == 0 ? f->setting.scenario->collector.instances : 1,
        .second_cut = rng_below(&rng, SECOND_CUT_ONE_IN) == 0,
        .second_cut_seed = rng_next(&rng),
    };
}

// Puts the disk into each state, and judges what server and collectors do on it.
static bool try_all_flushes(struct flushes *f, struct err *e)
{
    int64_t began_ns = clock_now_ns();
    uint64_t done = 0;
    bool ok = true;

    // Each state takes a second or more, so more states would take hours.
    if (f->count > STATES_MAX)
        return err_set(e, ERR_SYSTEM,
            "%" PRIu64 " states are more than %d, the most that are tried", f->count, STATES_MAX);
    f->states = memory_zeroed(f->count, sizeof *f->states);
    f->results = memory_zeroed(f->count, sizeof *f->results);
    for (uint64_t i = 0; ok && i < f->count; i++) {
        // The seed of a state follows from the scenario's seed and the state's number alone.
        uint64_t seed = f->setting.scenario->seed * STATES_MAX + i;
        // With this mutant only the last state is tried, that at the end of the recording. The
        // others count as passed, and a test must notice.
        if (mutant_is("run", "every-flush") && i + 1 < f->count)
            continue;
        show_flush_progress(f, i, "");
        struct flush_trial trial = make_flush_trial(f, i, seed);
        ok = states_put(&f->server, i + 1, seed, &f->states[i], e) &&
             flush_trial_run(&f->setting, &f->workload, &f->states[i], &trial, &f->results[i], e);
        if (ok && i == 0)
            print_flushes_forecast(f, clock_now_ns() - began_ns);
        if (ok && interrupt_signal())
            ok = err_set(e, ERR_INTERRUPTED, "interrupted");
        done = ok ? i + 1 : done;
    }
    show_flush_progress(f, done, "\n");
    f->took_ns = clock_now_ns() - began_ns;
    return ok;
}

static void close_flushes(struct flushes *f)
{
    subject_free(f->subject);
    command_fini(&f->command);
    shared_close(&f->server);
    free(f->states);
    free(f->results);
    folder_fini(&f->folder);
}
