#include "report/files/live.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "base/openmetrics.h"
#include "base/scrape.h"
#include "report/files/metrics_text.h"

#define TEXT_MAX ((size_t)4 << 20)
#define RUNS_MAX 100 // each takes about 20 KB of TEXT_MAX

// What the main thread has reported and the other thread serves. Guarded by the lock.
struct live_facts {
    bool running;
    char scenario[72], phase[16]; // a name has at most 64 letters
    double at_s, whole_s;
    double committed, planned, delivered, faults, faults_planned;
    double verdicts[VERDICT_MISSED + 1]; // the number of runs with each verdict
    struct judged_run *runs;             // owned; the last run of each scenario and seed
    size_t count;
};

struct live {
    struct scrape scrape;
    pthread_t thread;
    int stop[2]; // a pipe; a byte in it makes the thread stop
    pthread_mutex_t lock;
    struct live_facts facts;
    struct buf text;
};

// --- the text -----------------------------------------------------------------------------

static void append_progress(struct buf *out, const struct live_facts *t)
{
    const struct openmetrics_label labels[] = {{"scenario", t->scenario}, {"phase", t->phase}};
    const struct {
        const char *name;
        enum openmetrics_type type;
        double value;
        const char *help;
    } rows[] = {
        {"mailproof_run_seconds", OPENMETRICS_GAUGE, t->at_s, "seconds since the load began"},
        {"mailproof_run_planned_seconds", OPENMETRICS_GAUGE, t->whole_s,
            "how long load and faults are planned to last"},
        {"mailproof_run_planned_tokens", OPENMETRICS_GAUGE, t->planned,
            "tokens that the plan inserts"},
        {"mailproof_run_committed_tokens", OPENMETRICS_COUNTER, t->committed,
            "tokens that were committed so far"},
        {"mailproof_run_delivered_tokens", OPENMETRICS_COUNTER, t->delivered,
            "tokens that were read so far"},
        {"mailproof_run_planned_faults", OPENMETRICS_GAUGE, t->faults_planned,
            "faults of the plan"},
        {"mailproof_run_faults", OPENMETRICS_COUNTER, t->faults, "faults that began so far"},
    };

    openmetrics_family(out, "mailproof_run_phase", OPENMETRICS_GAUGE,
        "always 1; the labels tell which scenario runs, and in which phase");
    openmetrics_sample(out, "mailproof_run_phase", OPENMETRICS_GAUGE, labels, 2, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        openmetrics_family(out, rows[i].name, rows[i].type, rows[i].help);
        openmetrics_sample(out, rows[i].name, rows[i].type, labels, 1, rows[i].value);
    }
}

static void append_live_verdicts(struct buf *out, const struct live_facts *t)
{
    openmetrics_family(out, "mailproof_runs", OPENMETRICS_COUNTER, "runs that ended, by verdict");
    for (enum verdict v = VERDICT_PASS; v <= VERDICT_MISSED; v++) {
        const struct openmetrics_label label = {"verdict", verdict_name(v)};
        openmetrics_sample(out, "mailproof_runs", OPENMETRICS_COUNTER, &label, 1, t->verdicts[v]);
    }
}

static void answer_scrape(struct live *l)
{
    buf_clear(&l->text);
    pthread_mutex_lock(&l->lock);
    append_live_verdicts(&l->text, &l->facts);
    if (l->facts.running)
        append_progress(&l->text, &l->facts);
    metrics_text_append(&l->text, l->facts.runs, l->facts.count);
    pthread_mutex_unlock(&l->lock);
    bool ok = openmetrics_end(&l->text);
    scrape_answer(&l->scrape, ok ? l->text.data : NULL, l->text.len);
}

// --- the thread ---------------------------------------------------------------------------

// The thread: answers clients until something is written into the pipe `stop`.
static void *serve_live(void *context)
{
    struct live *l = context;
    struct pollfd fds[SCRAPE_FDS + 1];

    do {
        if (scrape_serve(&l->scrape, clock_now_ns()))
            answer_scrape(l);
        scrape_poll(&l->scrape, fds);
        fds[SCRAPE_FDS] = (struct pollfd){.fd = l->stop[0], .events = POLLIN};
        poll(fds, SCRAPE_FDS + 1, clock_poll_ms(clock_now_ns(), scrape_deadline_ns(&l->scrape)));
    } while (fds[SCRAPE_FDS].revents == 0);
    return NULL;
}

// Starts the thread with all signals blocked: the main thread must get the signals, because they
// end its waits.
static bool start_thread(struct live *l)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&l->thread, NULL, serve_live, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

// Frees what is left when neither thread nor socket is there.
static void free_live(struct live *l)
{
    for (int i = 0; i < 2; i++) {
        if (l->stop[i] >= 0)
            close(l->stop[i]);
    }
    pthread_mutex_destroy(&l->lock);
    buf_fini(&l->text);
    free(l->facts.runs);
    free(l);
}

struct live *live_start(const char *address, struct err *e)
{
    struct live *l = memory_zeroed(1, sizeof *l);

    buf_init(&l->text, TEXT_MAX);
    pthread_mutex_init(&l->lock, NULL);
    l->stop[0] = l->stop[1] = -1;
    // The address is opened before the thread starts, so that a port in use is an error of the
    // command.
    if (scrape_open(&l->scrape, address, e)) {
        if (pipe2(l->stop, O_CLOEXEC) == 0 && start_thread(l))
            return l;
        err_set(e, ERR_SYSTEM, "--metrics: cannot start a thread");
        scrape_close(&l->scrape);
    }
    free_live(l);
    return NULL;
}

void live_stop(struct live *l)
{
    if (!l)
        return;
    // A signal may interrupt the write.
    while (write(l->stop[1], "", 1) != 1) {
    }
    pthread_join(l->thread, NULL);
    scrape_close(&l->scrape);
    free_live(l);
}

// --- reports of the main thread -----------------------------------------------------------

void live_show(struct live *l, const struct progress *p)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    struct live_facts *t = &l->facts;
    t->running = true;
    snprintf(t->scenario, sizeof t->scenario, "%s", p->scenario);
    snprintf(t->phase, sizeof t->phase, "%s", p->what);
    t->at_s = p->at_ns > 0 ? (double)p->at_ns / 1e9 : 0;
    t->whole_s = (double)p->whole_ns / 1e9;
    t->committed = (double)p->committed;
    t->planned = (double)p->planned;
    t->delivered = (double)p->delivered;
    t->faults = (double)p->faults;
    t->faults_planned = (double)p->faults_planned;
    pthread_mutex_unlock(&l->lock);
}

// Returns the entry for the run's scenario and seed: the one that there is, or a new one. When
// there are too many entries, the new one replaces the oldest.
static struct judged_run *live_place_for(struct live_facts *t, const struct judged_run *run)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->runs[i].scenario, run->scenario) == 0 &&
            strcmp(t->runs[i].seed, run->seed) == 0)
            return &t->runs[i];
    if (t->count == RUNS_MAX) {
        memmove(t->runs, t->runs + 1, (RUNS_MAX - 1) * sizeof *t->runs);
        return &t->runs[RUNS_MAX - 1];
    }
    memory_grow(&t->runs, t->count, 1, sizeof *t->runs);
    return &t->runs[t->count++];
}

void live_judged(struct live *l, const struct scenario *s, const struct result *result)
{
    struct judged_run run;

    if (!l)
        return;
    judged_run_take(&run, s, result);
    pthread_mutex_lock(&l->lock);
    l->facts.running = false;
    l->facts.verdicts[run.verdict]++;
    *live_place_for(&l->facts, &run) = run;
    pthread_mutex_unlock(&l->lock);
}
