// --every-cut and --every-kill: the worst moment for a failure is often one message, so all of
// them are tried.
//
// A small workload (steps.c) runs without a cut first, to learn which messages collector and server
// exchange. It is then repeated with a cut before and one after each message, and for pairs of
// messages that the seed draws (points.c). Each repetition is a trial (trial.c) on the same server,
// in a database of its worker (freshdb.c), and is judged by all invariants. Each trial goes into
// the command's record as soon as its tries are over (cutrecord.c). So an interrupted command can
// go on with the rest later, and several machines can share the trials.
#include "run/cuts/cuts.h"

#include <pthread.h>
#include <stdatomic.h>

#include "os/interrupt.h"
#include "postgres/migrate.h"
#include "report/forecast.h"
#include "run/cuts/cutrecord.h"
#include "run/cuts/cutreport.h"
#include "run/make_lanes.h"
#include "run/shared_server.h"

// The number of trials that may run at once. Trials mostly wait for batch timeouts and reconnects.
#define WORKERS 4
// With fewer cuts for each worker, the gain is not worth another database.
#define CUTS_PER_WORKER 10
#define TRIES 3 // a trial is made up to this often, until it decides something

// The number of runs without a cut that show which messages there are. A collector that also sends
// at fixed times exchanges more messages in one run than in another. So only messages that occur in
// all of these runs are cut at.
#define LEARNING_RUNS 2

struct cuts {
    struct trial_setting setting;
    const struct run_options *options;
    const struct everycut_options *how;
    struct server server;
    struct durability_proof proof;
    struct folder folder;
    struct trial_fixture first;   // used for learning, and then by the first worker
    struct trial_result uncut;    // result of the last trial without any cut
    struct transcript transcript; // messages of the first learning run
    struct points points;
    struct trial_result *results; // owned; one for each of the points
    atomic_size_t next;           // index of the first point that no worker has taken
    atomic_size_t done;           // number of points whose trial is over
    atomic_bool failed;
    pthread_mutex_t lock; // guards `why` and the record
    struct err why;
    int64_t start_ns, end_ns;
};

struct worker {
    struct cuts *cuts;
    struct trial_fixture *fixture; // for the first worker cuts->first, else &own
    struct trial_fixture own;
    pthread_t thread;
    bool started;
};

static bool read_merged_cuts(struct cuts *c, const struct scenario *s, struct err *e);
static bool prepare_cuts(struct cuts *c, const struct scenario *s, struct err *e);
static bool learn_messages(struct cuts *c, struct err *e);
static bool try_all_cuts(struct cuts *c, struct err *e);
static bool report_trials(struct cuts *c, struct run_outcome *outcome, struct err *e);
static void close_cuts(struct cuts *c);

// If the collector does not pass without any cut, that decides the verdict. Then no trial with a
// cut is made, because it would prove nothing.
bool everycut_run(const struct scenario *s, const struct run_options *o,
    const struct everycut_options *how, struct run_outcome *outcome, struct err *e)
{
    struct cuts c = {.options = o, .how = how};

    pthread_mutex_init(&c.lock, NULL);
    bool ok = folder_make(&c.folder, s, o->out, e);
    if (how->record->merged)
        ok = ok && read_merged_cuts(&c, s, e);
    else
        ok = ok && prepare_cuts(&c, s, e) &&               // server and template database
             learn_messages(&c, e) &&                      // which messages there are
             (c.points.count == 0 || try_all_cuts(&c, e)); // two for each message, and pairs
    ok = ok && report_trials(&c, outcome, e);
    close_cuts(&c);
    return ok;
}

// Takes the trials from the record in which those of all shards were merged.
static bool read_merged_cuts(struct cuts *c, const struct scenario *s, struct err *e)
{
    struct cutrecord r = {0};

    c->setting.scenario = s;
    bool ok = cutrecord_take(&r, c->how->record, c->how->item, e);
    c->points = r.points;
    c->results = r.results;
    c->uncut = r.uncut;
    c->transcript = r.transcript;
    c->proof = r.where.proof;
    c->server.version = r.where.postgres_version;
    c->end_ns = r.took_ns; // start_ns is 0, so the report shows the sum of all trials' times
    return ok;
}

// Makes the lanes in the template database, and proves that the server is durable.
static bool finish_template(struct cuts *c, const struct scenario *s, struct err *e)
{
    PGconn *admin FREED_BY(sql_finish) = migrate_admin(&c->server, e);
    return admin && lanes_make(admin, s, e) &&
           durability_prove(
               &c->server, admin, s->postgres.durability, &s->postgres.settings, &c->proof, e);
}

// Starts a server whose database becomes the template of the trials' databases.
static bool prepare_cuts(struct cuts *c, const struct scenario *s, struct err *e)
{
    c->setting = (struct trial_setting){
        .scenario = s,
        .collector = c->options->collector,
        .server = &c->server,
        .log_dir = c->folder.logs,
        .action = c->how->action,
    };
    // The proxy needs an address to which it forwards.
    if (!provider_find(&s->postgres)->address)
        return err_set(
            e, ERR_SKIP, "--every-cut and --every-kill need to know where the server listens");
    return shared_open(&c->server, s, c->options->postgres, e) &&
           // The server's own database is the template of the trials' databases.
           migrate_database(
               &c->server, s->postgres.schema, s->collector.layout, s->postgres.announce, e) &&
           finish_template(c, s, e);
}

// --- one fixture per worker -------------------------------------------------------------

// Connects for the database of worker `number`, which its first trial makes, and starts its proxy.
// Call fixture_close also on failure.
static bool fixture_open(struct cuts *c, struct trial_fixture *f, int number, struct err *e)
{
    // restore_template.sql restores only the reference collector's tables; others are copied.
    bool copies = c->setting.scenario->collector.layout != LAYOUT_REFERENCE;

    *f = (struct trial_fixture){0};
    f->proxy =
        freshdb_open(&f->db, &c->server, copies, number, e) ? proxy_start(&c->server, e) : NULL;
    return f->proxy != NULL;
}

static void fixture_close(struct trial_fixture *f)
{
    proxy_free(f->proxy);
    freshdb_close(&f->db);
}

// --- which cuts there are ----------------------------------------------------------------

// Lowers each count of `known` to that of `seen`, if that is smaller, so that `known` has only the
// messages that occurred in both runs.
static void keep_smaller_counts(struct trial_tally *known, const struct trial_tally *seen)
{
    for (int sender = 0; sender < 2; sender++) {
        for (int type = 0; type < 256; type++) {
            if (seen->all[sender][type] < known->all[sender][type])
                known->all[sender][type] = seen->all[sender][type];
        }
        if (seen->start[sender] < known->start[sender])
            known->start[sender] = seen->start[sender];
    }
}

// Runs a trial without a cut, and repeats it while it is inconclusive, up to TRIES times in all.
// `tally` and `transcript` get the messages of the last time; `transcript` may be NULL. Returns
// false when the harness failed.
static bool learn_once(
    struct cuts *c, struct trial_tally *tally, struct transcript *transcript, struct err *e)
{
    const struct trial_cuts none = {0};

    for (int tries = 0; tries < TRIES; tries++) {
        *tally = (struct trial_tally){.transcript = transcript};
        if (transcript) {
            transcript_fini(transcript);
            transcript_init(transcript);
        }
        if (!trial_run(&c->setting, &c->first, &none, &c->uncut, tally, e))
            return false;
        if (c->uncut.verdict != VERDICT_INCONCLUSIVE)
            break;
    }
    return true;
}

static bool record_uncut(struct cuts *c, struct err *e)
{
    struct environment where;

    environment_take(&where, &c->proof, c->server.version);
    return record_add(
        c->how->record, cutrecord_uncut(c->how->item, &c->uncut, &c->transcript, &where), e);
}

// Removes the points that other shards try, and counts the single cuts anew.
static void keep_own_points(struct cuts *c)
{
    struct points *p = &c->points;
    size_t count = 0;

    p->singles = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (!record_wants(c->how->record, cutrecord_number(&p->items[i])))
            continue;
        p->singles += p->items[i].count == 1;
        p->items[count++] = p->items[i];
    }
    p->count = count;
}

// Learns the messages from trials without a cut, and makes a point on each side of each message.
// There are no points when the collector does not pass without a cut.
static bool learn_messages(struct cuts *c, struct err *e)
{
    struct trial_tally known, seen;

    if (!fixture_open(c, &c->first, 0, e))
        return false;
    if (!learn_once(c, &known, &c->transcript, e))
        return false;
    // A collector that fails without a cut needs no second run to learn from.
    for (int i = 1; i < LEARNING_RUNS && c->uncut.verdict == VERDICT_PASS; i++) {
        if (!learn_once(c, &seen, NULL, e))
            return false;
        keep_smaller_counts(&known, &seen);
    }
    // The trial is recorded even if the collector failed, because the merged report of several
    // machines needs the reason.
    if (!record_uncut(c, e))
        return false;
    if (c->uncut.verdict != VERDICT_PASS)
        return true;
    if (!points_make(&c->points, known.all, c->how->only, e) ||
        !points_add_pairs(&c->points, c->how->pairs, c->setting.scenario->seed, known.start, e))
        return false;
    keep_own_points(c);
    c->results = memory_zeroed(c->points.count, sizeof *c->results);
    return true;
}

// --- the trials --------------------------------------------------------------------------

// Keeps the first error and makes all workers stop.
static void fail_cuts(struct cuts *c, const struct err *why)
{
    pthread_mutex_lock(&c->lock);
    if (!atomic_exchange(&c->failed, true))
        c->why = *why;
    pthread_mutex_unlock(&c->lock);
}

// True for a trial that was made (`ran`) and need not be repeated: it is violated, or it reached
// all its cuts and is not inconclusive.
static bool is_trial_decided(const struct trial_result *r, const struct trial_cuts *cuts)
{
    return r->ran && (r->verdict == VERDICT_VIOLATED ||
                         (r->reached == cuts->count && r->verdict != VERDICT_INCONCLUSIVE));
}

// Halves the distance to the second cut if only the first was reached: the recovery from it took
// fewer messages than expected.
static void move_second_cut_nearer(struct trial_cuts *cuts, const struct trial_result *r)
{
    struct cut_point *second = &cuts->at[POINTS_CUTS_MAX - 1];

    if (cuts->count == POINTS_CUTS_MAX && r->reached == cuts->count - 1)
        second->n = (second->n + 1) / 2;
}

// Finds a decided trial that an interrupted command, or an earlier try of --retry-inconclusive, has
// made before. Returns false, and fills in nothing, when there is none.
static bool find_recorded_trial(struct cuts *c, const struct trial_cuts *planned,
    struct trial_cuts *cuts, struct trial_result *r)
{
    struct trial_cuts found_cuts;
    struct trial_result found;

    // Without a folder the record is only in memory, and nothing was made before.
    if (!*c->how->record->folder)
        return false;
    pthread_mutex_lock(&c->lock);
    bool known = cutrecord_find(c->how->record, c->how->item, planned, &found_cuts, &found) &&
                 is_trial_decided(&found, &found_cuts);
    pthread_mutex_unlock(&c->lock);
    if (known) {
        *cuts = found_cuts;
        *r = found;
    }
    return known;
}

// Adds a trial to the record. `cuts` are those of its last try.
static bool record_cut_trial(struct cuts *c, const struct trial_cuts *planned,
    const struct trial_cuts *cuts, struct trial_result *r, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    bool ok = record_add(c->how->record, cutrecord_trial(c->how->item, planned, cuts, r), e);
    pthread_mutex_unlock(&c->lock);
    return ok;
}

// The thread of a worker: takes the next point that no worker has, and tries it up to TRIES times,
// until no point is left or a worker has failed.
static void *try_cuts(void *arg)
{
    struct worker *w = arg;
    struct cuts *c = w->cuts;
    struct err e;

    for (size_t i;
         !atomic_load(&c->failed) && (i = atomic_fetch_add(&c->next, 1)) < c->points.count;) {
        struct trial_cuts *cuts = &c->points.items[i];
        struct trial_result *result = &c->results[i];
        const struct trial_cuts planned = *cuts;
        // A trial is found in the record by its planned cuts. The record also has the cuts of the
        // last try, because the second cut may have been moved.
        bool known = find_recorded_trial(c, &planned, cuts, result);
        for (int tries = 0; !known && tries < TRIES && !is_trial_decided(result, cuts); tries++) {
            if (tries > 0)
                move_second_cut_nearer(cuts, result);
            if (trial_run(&c->setting, w->fixture, cuts, result, NULL, &e))
                continue;
            fail_cuts(c, &e);
            return NULL;
        }
        if (!known && !record_cut_trial(c, &planned, cuts, result, &e))
            fail_cuts(c, &e);
        atomic_fetch_add(&c->done, 1);
    }
    return NULL;
}

// Returns how many of the trials are decided in the record already.
static size_t count_known(struct cuts *c)
{
    size_t known = 0;

    for (size_t i = 0; i < c->points.count; i++) {
        struct trial_cuts cuts;     // ignored
        struct trial_result result; // ignored, too
        known += find_recorded_trial(c, &c->points.items[i], &cuts, &result);
    }
    return known;
}

// Returns the number of workers: one for every CUTS_PER_WORKER points, up to WORKERS.
static size_t count_workers(const struct cuts *c)
{
    size_t wanted = c->points.count / CUTS_PER_WORKER + 1;

    return wanted < WORKERS ? wanted : WORKERS;
}

// Tells the user how long the trials will take. A trial with a cut takes about twice as long as one
// without, because the collector connects again.
static void print_cuts_forecast(struct cuts *c)
{
    size_t left = c->points.count - count_known(c);
    bool kills = c->how->action == ACTION_KILL;
    struct forecast f = {0};

    forecast_add_trials(
        &f, left, 2 * c->uncut.took_ns, count_workers(c), forecast_servers(c->setting.scenario));
    if (!c->options->quiet)
        forecast_tell(&f, kills ? "kill" : "cut", kills ? "kills" : "cuts");
}

// Starts the workers. The first one must start, and each must get a database and a proxy. If no
// thread can be made for a further one, the trials only take longer.
static bool start_workers(struct cuts *c, struct worker *workers, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && i < count_workers(c); i++) {
        workers[i].cuts = c;
        // Each worker has a database and a proxy of its own, so that trials do not disturb each
        // other. The first worker has those with which the messages were learned.
        workers[i].fixture = i == 0 ? &c->first : &workers[i].own;
        ok = i == 0 || fixture_open(c, workers[i].fixture, (int)i, e);
        workers[i].started =
            ok && pthread_create(&workers[i].thread, NULL, try_cuts, &workers[i]) == 0;
    }
    if (!workers[0].started && ok)
        ok = err_set(e, ERR_SYSTEM, "cannot start a thread");
    return ok;
}

// Lets the workers make all trials, and shows the progress. False after a failure or a signal.
static bool try_all_cuts(struct cuts *c, struct err *e)
{
    struct worker workers[WORKERS] = {0};

    c->start_ns = clock_now_ns();
    print_cuts_forecast(c);
    bool ok = start_workers(c, workers, e);
    if (!ok)
        fail_cuts(c, e); // also ends the workers that have started
    while (ok && atomic_load(&c->done) < c->points.count && !atomic_load(&c->failed)) {
        if (!c->options->quiet && isatty(STDERR_FILENO))
            fprintf(stderr, "\r%zu of %zu cut points", atomic_load(&c->done), c->points.count);
        interrupt_sleep_until(clock_now_ns() + 100 * NS_PER_MS);
        // Finished trials are in the record, so the next command goes on from here.
        if (interrupt_signal())
            fail_cuts(c, &(struct err){.kind = ERR_INTERRUPTED, .text = "interrupted"});
    }
    for (int i = 0; i < WORKERS; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        fixture_close(&workers[i].own);
    }
    c->end_ns = clock_now_ns();
    if (!c->options->quiet && isatty(STDERR_FILENO))
        fputc('\n', stderr);
    if (atomic_load(&c->failed))
        *e = c->why;
    return !atomic_load(&c->failed);
}

static bool report_trials(struct cuts *c, struct run_outcome *outcome, struct err *e)
{
    const struct cutreport report = {
        .scenario = c->setting.scenario,
        .options = c->options,
        .how = c->how,
        .server = &c->server,
        .proof = &c->proof,
        .folder = &c->folder,
        .points = &c->points,
        .results = c->results,
        .transcript = &c->transcript,
        .uncut = &c->uncut,
        .gaps = record_gaps(c->how->record),
        .start_ns = c->start_ns,
        .end_ns = c->end_ns,
    };

    // When only records were merged, there was no server.
    if (c->server.provider)
        provider_fetch_log(&c->server);
    return cutreport_write(&report, outcome, e);
}

static void close_cuts(struct cuts *c)
{
    fixture_close(&c->first);
    shared_close(&c->server);
    transcript_fini(&c->transcript);
    points_fini(&c->points);
    free(c->results);
    folder_fini(&c->folder);
    pthread_mutex_destroy(&c->lock);
}
