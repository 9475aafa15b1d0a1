#include "run/everycut.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fault/fault.h"
#include "os/interrupt.h"
#include "postgres/durability.h"
#include "postgres/migrate.h"
#include "report/junit.h"
#include "report/report.h"
#include "run/trial.h"

// Trials wait more than they work: for batch timeouts and reconnects.
#define WORKERS 4
#define CUTS_PER_WORKER 10 // fewer are not worth a database of their own
#define CUTS_MAX 20000
#define TRIES 3
#define WORST_SHOWN 10

static const double unreached_limit = 0.02;

struct cuts {
    struct trial_setting setting;
    const struct run_options *options;
    const struct message_kind *only;
    struct server server;
    struct folder folder;
    struct trial_bench first;  // learns, and goes on as the first worker's
    struct trial_result uncut; // of the trial without any cut
    struct cut_point *points;
    struct trial_result *results;
    size_t count;
    atomic_size_t next, done;
    atomic_bool failed;
    pthread_mutex_t lock; // of why
    struct err why;
    int64_t took_ns;
};

struct worker {
    struct cuts *cuts;
    struct trial_bench *bench, own;
    pthread_t thread;
    bool started;
};

static bool prepare(struct cuts *c, const struct scenario *s, struct err *e);
static bool learn(struct cuts *c, struct err *e);
static bool is_bad(const struct trial_result *r);
static bool try_all(struct cuts *c, struct err *e);
static bool report(struct cuts *c, struct run_outcome *outcome, struct err *e);
static void close_down(struct cuts *c);

bool everycut_run(const struct scenario *s, const struct run_options *o,
    const struct message_kind *only, struct run_outcome *outcome, struct err *e)
{
    struct cuts c = {.options = o, .only = only};

    pthread_mutex_init(&c.lock, NULL);
    bool ok = folder_make(&c.folder, s, o->out, e) && //
              prepare(&c, s, e) &&                    // server and template database
              learn(&c, e) &&                         // which messages there are
              (is_bad(&c.uncut) || try_all(&c, e)) && // one trial for each
              report(&c, outcome, e);
    close_down(&c);
    return ok;
}

static bool prove_durable(struct cuts *c, const struct scenario *s, struct err *e)
{
    struct durability_proof proof;
    PGconn *admin = migrate_admin(&c->server, e);
    bool ok = admin && durability_prove(&c->server, admin, s->postgres.durability,
                           &s->postgres.settings, &proof, e);

    PQfinish(admin);
    return ok;
}

static bool prepare(struct cuts *c, const struct scenario *s, struct err *e)
{
    c->server.provider = provider_find(s->postgres.provider);
    c->setting = (struct trial_setting){
        .scenario = s,
        .collector = c->options->collector,
        .server = &c->server,
        .log_dir = c->folder.logs,
    };
    c->server.conninfo = c->options->postgres;
    if (!c->server.provider->address)
        return err_set(e, ERR_SKIP, "--every-cut needs to know where the server listens");
    return provider_suits(c->server.provider, &s->postgres, e) &&
           c->server.provider->open(&c->server, &s->postgres, e) &&
           c->server.provider->start(&c->server, e) &&
           (c->setting.template_db = c->server.database) &&
           migrate_database(&c->server, s->postgres.schema, s->collector.layout, e) &&
           prove_durable(c, s, e);
}

// --- one bench per worker -------------------------------------------------------------

static bool bench_open(struct cuts *c, struct trial_bench *b, int number, struct err *e)
{
    bool copies = c->setting.scenario->collector.layout != LAYOUT_REFERENCE;

    *b = (struct trial_bench){0};
    b->proxy = freshdb_open(&b->db, &c->server, c->setting.template_db, copies, number, e)
                   ? proxy_start(&c->server, e)
                   : NULL;
    return b->proxy != NULL;
}

static void bench_close(struct trial_bench *b)
{
    proxy_free(b->proxy);
    freshdb_close(&b->db);
}

// --- which cuts there are ----------------------------------------------------------------

static bool is_wanted(const struct cuts *c, int sender, int type)
{
    return !c->only || ((int)c->only->sender == sender &&
                           (c->only->type == MESSAGE_ANY || c->only->type == type));
}

static bool add_points(struct cuts *c, unsigned counts[2][256], struct err *e)
{
    c->points = calloc(CUTS_MAX, sizeof *c->points);
    c->results = calloc(CUTS_MAX, sizeof *c->results);
    if (!c->points || !c->results)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (int sender = 0; sender < 2; sender++) {
        for (int type = 0; type < 256; type++) {
            unsigned sides = is_wanted(c, sender, type) ? 2 * counts[sender][type] : 0;
            for (unsigned i = 0; i < sides && c->count < CUTS_MAX; i++)
                c->points[c->count++] = (struct cut_point){(enum message_sender)sender,
                    (unsigned char)type, (int)i / 2 + 1, i % 2 ? CUT_AFTER : CUT_BEFORE};
        }
    }
    return c->count > 0 || err_set(e, ERR_SYSTEM, "the collector exchanged no such message");
}

// A collector that fails without any cut is judged by that: what it does when it
// is cut would prove nothing.
static bool learn(struct cuts *c, struct err *e)
{
    const struct cut_point none = {0};
    unsigned counts[2][256];

    return bench_open(c, &c->first, 0, e) &&
           trial_run(&c->setting, &c->first, &none, &c->uncut, counts, e) &&
           (is_bad(&c->uncut) || add_points(c, counts, e));
}

// --- the trials --------------------------------------------------------------------------

static void fail(struct cuts *c, const struct err *why)
{
    pthread_mutex_lock(&c->lock);
    if (!atomic_exchange(&c->failed, true))
        c->why = *why;
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct cuts *c = w->cuts;
    struct err e;

    for (size_t i; !atomic_load(&c->failed) && (i = atomic_fetch_add(&c->next, 1)) < c->count;) {
        struct trial_result *result = &c->results[i];
        for (int tries = 0; tries < TRIES && !result->reached; tries++) {
            if (trial_run(&c->setting, w->bench, &c->points[i], result, NULL, &e))
                continue;
            fail(c, &e);
            return NULL;
        }
        atomic_fetch_add(&c->done, 1);
    }
    return NULL;
}

static void show(const struct cuts *c)
{
    if (!c->options->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%zu of %zu cut points", atomic_load(&c->done), c->count);
}

static bool try_all(struct cuts *c, struct err *e)
{
    struct worker workers[WORKERS] = {0};
    size_t wanted = c->count / CUTS_PER_WORKER + 1;
    int64_t began_ns = clock_now_ns();
    bool ok = true;

    for (size_t i = 0; ok && i < WORKERS && i < wanted; i++) {
        workers[i].cuts = c;
        workers[i].bench = i == 0 ? &c->first : &workers[i].own;
        ok = i == 0 || bench_open(c, workers[i].bench, (int)i, e);
        workers[i].started = ok && pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    if (!ok)
        fail(c, e);
    while (ok && atomic_load(&c->done) < c->count && !atomic_load(&c->failed)) {
        show(c);
        interrupt_sleep_until(clock_now_ns() + 100 * NS_PER_MS);
        if (interrupt_signal())
            fail(c, &(struct err){.kind = ERR_INTERRUPTED, .text = "interrupted"});
    }
    for (int i = 0; i < WORKERS; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        bench_close(&workers[i].own);
    }
    c->took_ns = clock_now_ns() - began_ns;
    if (!c->options->quiet && isatty(STDERR_FILENO))
        fputc('\n', stderr);
    if (atomic_load(&c->failed))
        *e = c->why;
    return !atomic_load(&c->failed);
}

// --- what came of it -----------------------------------------------------------------------

static const char *side_name(enum cut_side side)
{
    return side == CUT_BEFORE ? "before" : "after";
}

static bool is_bad(const struct trial_result *r)
{
    return r->lost || r->duplicated || r->exits;
}

static bool write_points(struct cuts *c, struct err *e)
{
    struct buf csv;

    buf_init(&csv, 16 << 20);
    buf_append_str(&csv, "sender,message,n,side,reached,lost,duplicated,exits,ms\n");
    for (size_t i = 0; i < c->count; i++) {
        const struct cut_point *p = &c->points[i];
        const struct trial_result *r = &c->results[i];
        buf_printf(&csv, "%s,%s,%d,%s,%d,%u,%u,%u,%lld\n", message_sender_name(p->sender),
            message_name(p->sender, p->type), p->n, side_name(p->side), r->reached, r->lost,
            r->duplicated, r->exits, (long long)(r->took_ns / NS_PER_MS));
    }
    bool ok = folder_write(&c->folder, "cuts.csv", &csv, e);
    buf_fini(&csv);
    return ok;
}

// What came of all cuts at one kind of message.
struct kind {
    const char *sender, *message;
    size_t tried, reached;
    struct trial_result sum;
};

// The kind that begins at point `*i`, which is moved behind it: the points are
// sorted by kind. False at the end.
static bool next_kind(const struct cuts *c, size_t *i, struct kind *k)
{
    if (*i >= c->count)
        return false;
    const struct cut_point *p = &c->points[*i];
    *k = (struct kind){
        .sender = message_sender_name(p->sender), .message = message_name(p->sender, p->type)};
    for (; *i < c->count && c->points[*i].sender == p->sender && c->points[*i].type == p->type;
         ++*i, k->tried++) {
        k->reached += c->results[*i].reached;
        k->sum.lost += c->results[*i].lost;
        k->sum.duplicated += c->results[*i].duplicated;
        k->sum.exits += c->results[*i].exits;
    }
    return true;
}

static void print_kinds(const struct cuts *c)
{
    struct kind k;

    printf("  %-32s %6s %8s %6s %11s %6s\n", "message", "tried", "reached", "lost", "duplicated",
        "exits");
    for (size_t i = 0; next_kind(c, &i, &k);)
        printf("  %s %-25s %6zu %8zu %6u %11u %6u\n", k.sender, k.message, k.tried, k.reached,
            k.sum.lost, k.sum.duplicated, k.sum.exits);
}

// The command that makes these cuts again, or only those at one kind of message.
static void append_repeat(const struct cuts *c, const struct kind *only, struct buf *out)
{
    report_repeat_of(c->folder.path, c->setting.scenario, c->options->collector, out);
    buf_append_str(out, " --every-cut");
    if (only)
        buf_printf(out, " --cut-at '%s %s'", only->sender, only->message);
    else if (c->only)
        buf_printf(out, " --cut-at '%s %s'", message_sender_name(c->only->sender),
            c->only->type == MESSAGE_ANY ? "any" : message_name(c->only->sender, c->only->type));
}

static void print_repeat(const struct cuts *c)
{
    struct buf command;

    buf_init(&command, 1 << 16);
    append_repeat(c, NULL, &command);
    if (buf_str(&command))
        printf("  repeat      %s\n", command.data);
    buf_fini(&command);
}

// A kind that no cut was tried at is what comes without any.
static void add_case(const struct cuts *c, const struct kind *k, struct buf *out)
{
    char name[64], message[100];
    struct junit_case it = {.kind = "cut", .name = name, .message = message};
    struct buf text;

    buf_init(&text, 1 << 16);
    buf_append_str(&text, "repeat: ");
    append_repeat(c, k->tried ? k : NULL, &text);
    it.text = buf_str(&text);
    snprintf(name, sizeof name, "%s %s", k->sender, k->message);
    snprintf(message, sizeof message, "%u lost, %u duplicated, %u exits", k->sum.lost,
        k->sum.duplicated, k->sum.exits);
    it.trouble = is_bad(&k->sum) ? "failure" : NULL;
    junit_case(c->setting.scenario->name, &it, out);
    buf_fini(&text);
}

// One case per kind of message, one for what comes without any cut, and one for
// what was not reached.
static bool add_suite(const struct cuts *c, size_t reached, enum verdict verdict, struct err *e)
{
    const char *name = c->setting.scenario->name;
    struct buf *out = c->options->suites;
    const struct kind uncut = {.sender = "without", .message = "any cut", .sum = c->uncut};
    const bool enough = verdict != VERDICT_INCONCLUSIVE;
    struct junit_counts counts = {
        .tests = 2, .errors = !enough, .failures = is_bad(&c->uncut) ? 1 : 0};
    struct junit_case conclusive = {.kind = "verdict", .name = "conclusive"};
    struct kind k;
    char message[100];

    for (size_t i = 0; next_kind(c, &i, &k); counts.tests++)
        counts.failures += is_bad(&k.sum);
    junit_open(name, &counts, (double)c->took_ns / 1e9, out);
    snprintf(message, sizeof message, "%zu of %zu cut points reached", reached, c->count);
    conclusive.trouble = enough ? NULL : "error";
    conclusive.message = message;
    junit_case(name, &conclusive, out);
    add_case(c, &uncut, out);
    for (size_t i = 0; next_kind(c, &i, &k);)
        add_case(c, &k, out);
    return junit_close(out) || err_set(e, ERR_INTERNAL, "junit.xml would be too long");
}

static void print_point(const struct cuts *c, size_t i)
{
    const struct cut_point *p = &c->points[i];
    const struct trial_result *r = &c->results[i];

    printf("  %s %s %s number %d: %s%u lost, %u duplicated, %u exits\n", side_name(p->side),
        message_sender_name(p->sender), message_name(p->sender, p->type), p->n,
        r->reached ? "" : "not reached, ", r->lost, r->duplicated, r->exits);
}

static enum verdict judge(const struct cuts *c, size_t reached, size_t bad)
{
    // Who says nothing at all, and does not end, may not know where the server is.
    if (!c->uncut.lines && !c->uncut.exits)
        return VERDICT_INCONCLUSIVE;
    if (bad || is_bad(&c->uncut))
        return VERDICT_VIOLATED;
    return (double)(c->count - reached) <= unreached_limit * (double)c->count
               ? VERDICT_PASS
               : VERDICT_INCONCLUSIVE;
}

static void print_uncut(const struct cuts *c)
{
    printf("  without any cut %u of %d tokens lost, %u duplicated, %u exits: there is nothing to "
           "compare with\n",
        c->uncut.lost, TRIAL_STEPS, c->uncut.duplicated, c->uncut.exits);
}

static void print_cuts(const struct cuts *c, size_t reached, size_t bad)
{
    print_kinds(c);
    printf("  %zu cut points tried in %.0f s, %zu reached, %zu with loss, duplicates or exits\n",
        c->count, (double)c->took_ns / 1e9, reached, bad);
    for (size_t i = 0, shown = 0; i < c->count && shown < WORST_SHOWN; i++) {
        if (!is_bad(&c->results[i]) && c->results[i].reached)
            continue;
        print_point(c, i);
        shown++;
    }
}

static bool report(struct cuts *c, struct run_outcome *outcome, struct err *e)
{
    size_t reached = 0, bad = 0;

    provider_fetch_log(&c->server);
    if (!write_points(c, e) || !folder_copy_log(&c->folder, c->server.log_path, 0, e) ||
        !folder_link_latest(&c->folder, e))
        return false;
    for (size_t i = 0; i < c->count; i++) {
        reached += c->results[i].reached;
        bad += is_bad(&c->results[i]);
    }
    outcome->verdict = judge(c, reached, bad);
    snprintf(outcome->folder, sizeof outcome->folder, "%s", c->folder.path);
    printf("%s, every cut: %s\n", c->setting.scenario->name, verdict_name(outcome->verdict));
    if (is_bad(&c->uncut))
        print_uncut(c);
    else
        print_cuts(c, reached, bad);
    printf("  result      %s\n", c->folder.path);
    if (outcome->verdict != VERDICT_PASS)
        print_repeat(c);
    return !c->options->suites || add_suite(c, reached, outcome->verdict, e);
}

static void close_down(struct cuts *c)
{
    bench_close(&c->first);
    if (c->server.provider)
        c->server.provider->close(&c->server);
    free(c->points);
    free(c->results);
    folder_fini(&c->folder);
    pthread_mutex_destroy(&c->lock);
}
