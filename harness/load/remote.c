// The run's side of the workers.
//
// A worker gets the scenario, the times of recordings and its part, makes the plan itself and
// compares the plan's fingerprint with that of the run's plan. The run reads the worker's clock 32
// times before the load and again after it. The quickest answer gives the offset and its largest
// error; a drift between the two measurements widens this bound.
//
// A worker that is silent for 10 s, or gone, is lost. The run answers each line of a worker, and a
// worker that gets no answer for 5 s stops by itself.
#include "load/remote.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "load/worker_result.h"
#include "load/channel.h"
#include "os/process.h"
#include "scenario/trace.h"

#define READINGS 32

struct worker {
    struct channel channel;
    pid_t pid; // pid of the command that leads to the worker; 0: not started
    struct load_part part;
    struct remote_clock clock;
    pthread_t thread;
    const struct load_config *config; // set while the load runs
    struct load_progress *progress;
    struct load_result *result; // the result of all workers
    pthread_mutex_t *lock;      // guards all of the result but the records: each thread writes only
                                // its own worker's, so these need no lock
    struct load_progress seen;  // the worker's progress as it was last reported
};

struct remote {
    struct worker *workers;
    unsigned count;
    pthread_mutex_t lock;
};

// --- pure -----------------------------------------------------------------------------

static uint64_t mix_plan_hash(uint64_t hash, uint64_t value)
{
    // The hash is FNV-1a, but it takes eight bytes at once.
    return (hash ^ value) * UINT64_C(1099511628211);
}

uint64_t remote_fingerprint(const struct plan *plan)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < plan->txn_count; i++) {
        const struct plan_txn *t = &plan->txns[i];
        hash = mix_plan_hash(hash, (uint64_t)t->at_ns);
        hash = mix_plan_hash(hash, (uint64_t)t->first_token << 32 | (uint64_t)t->rows << 16 |
                                       (uint64_t)t->phase << 8 | t->flags);
    }
    for (uint32_t i = 0; i < plan->token_count; i++)
        hash = mix_plan_hash(hash, (uint64_t)plan_account(plan, i) << 8 | plan->kinds[i]);
    return mix_plan_hash(hash, plan->txn_count);
}

struct remote_clock remote_clock(const int64_t (*readings)[3], size_t count)
{
    struct remote_clock quickest = {.bound_ns = INT64_MAX};

    for (size_t i = 0; i < count; i++) {
        int64_t before = readings[i][0], theirs = readings[i][1], after = readings[i][2];
        // The worker read its clock at some moment between our two readings. If the middle between
        // them is taken for that moment, the error is at most half the time between them, however
        // unequal the ways there and back are. So the quickest answer has the smallest bound.
        int64_t bound_ns = (after - before + 1) / 2;
        if (bound_ns < quickest.bound_ns)
            quickest = (struct remote_clock){theirs - before - (after - before) / 2, bound_ns};
    }
    return quickest;
}

struct remote_clock remote_clock_combine(
    const struct remote_clock *first, const struct remote_clock *last)
{
    // While the clocks drift in one direction, the offset is always between the first and the last.
    // So the middle of both is wrong by half their distance at most.
    int64_t apart_ns = llabs(last->offset_ns - first->offset_ns);
    int64_t error_ns = first->bound_ns > last->bound_ns ? first->bound_ns : last->bound_ns;

    return (struct remote_clock){
        first->offset_ns + (last->offset_ns - first->offset_ns) / 2, (apart_ns + 1) / 2 + error_ns};
}

// Adds by_ns to a time; 0 (never) stays 0.
static int64_t moved_time_ns(int64_t ns, int64_t by_ns)
{
    return ns ? ns + by_ns : 0;
}

struct txn_record remote_to_run_clock(
    const struct txn_record *theirs, const struct remote_clock *clock)
{
    struct txn_record ours = *theirs;

    // A COMMIT is a send, too, so it counts as early as it can have been.
    ours.sent_ns = moved_time_ns(theirs->sent_ns, -clock->offset_ns - clock->bound_ns);
    ours.commit_ns = moved_time_ns(theirs->commit_ns, -clock->offset_ns - clock->bound_ns);
    ours.ended_ns = moved_time_ns(theirs->ended_ns, -clock->offset_ns + clock->bound_ns);
    return ours;
}

void remote_mark_lost(struct load_result *result, const struct load_config *c,
    const struct load_part *part, const struct remote_clock *clock, int64_t lost_ns)
{
    for (size_t i = c->first; i < c->end; i++) {
        // The worker may have sent its whole part before it was lost: each transaction when it was
        // due by the worker's clock, which is known only to within bound_ns.
        int64_t earliest_ns = c->start_ns + c->plan->txns[i].at_ns - clock->bound_ns;
        if (i % part->of == part->part)
            result->records[i] = (struct txn_record){.sent_ns = earliest_ns,
                .commit_ns = earliest_ns,
                .ended_ns = clock_max(lost_ns, earliest_ns),
                .outcome = TXN_UNKNOWN};
    }
}

// --- before the load ------------------------------------------------------------------

static bool can_be_shared(const struct scenario *s, const struct plan *plan, struct err *e)
{
    for (size_t i = 0; i < s->load_count; i++) {
        if (s->load[i].closed)
            return err_set(e, ERR_USAGE,
                "--workers: a closed loop (rate: max) has no times that could be shared out");
    }
    if (plan->change_count > 0)
        return err_set(
            e, ERR_USAGE, "--workers: tokens that change while they wait need one generator");
    return !scenario_is_queue(s) ||
           err_set(e, ERR_USAGE, "--workers: a subject's queue needs one generator");
}

// Sends a file from which the plan is made: the scenario, or the times of a recording.
static bool send_file(struct worker *w, const char *name, const struct buf *text, struct err *e)
{
    return channel_say(&w->channel, e, "file %zu %s", text->len, name) &&
           channel_write(&w->channel, text->data, text->len, e);
}

// Sends the times of each phase that replays a recording.
static bool send_traces(struct worker *w, const struct scenario *s, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && i < s->load_count; i++) {
        struct buf times FREED_BY(buf_fini) = BUF_INIT(WORKER_FILE_MAX);
        if (s->load[i].trace_count == 0)
            continue;
        ok = (trace_write(&s->load[i], &times) ||
                 err_set(e, ERR_USAGE, "--workers: the recording is too long")) &&
             send_file(w, s->load[i].file, &times, e);
    }
    return ok;
}

// Sends the files from which the plan is made, and the fingerprint of the run's plan. The worker
// answers "ready" when its plan has this fingerprint. `text`: the scenario.
static bool send_plan(struct worker *w, const struct scenario *s, const struct buf *text,
    uint64_t fingerprint, struct err *e)
{
    char line[CHANNEL_LINE_MAX];

    if (!send_traces(w, s, e) || !send_file(w, WORKER_SCENARIO, text, e) ||
        !channel_say(
            &w->channel, e, "plan %u/%u %016" PRIx64, w->part.part, w->part.of, fingerprint) ||
        !channel_line(&w->channel, line, e))
        return false;
    return strcmp(line, "ready") == 0 || err_set(e, ERR_USAGE, "it refuses: %s", line);
}

// Asks the worker READINGS times for its time. False when it does not answer.
static bool measure_clock(struct worker *w, struct remote_clock *clock, struct err *e)
{
    int64_t readings[READINGS][3];
    char line[CHANNEL_LINE_MAX];

    for (size_t i = 0; i < READINGS; i++) {
        readings[i][0] = clock_now_ns();
        if (!channel_say(&w->channel, e, "time") || !channel_line(&w->channel, line, e))
            return false;
        readings[i][2] = clock_now_ns();
        if (sscanf(line, "now %" SCNd64, &readings[i][1]) != 1)
            return err_set(e, ERR_CONNECTION, "it sent '%.60s' instead of its time", line);
    }
    *clock = remote_clock((const int64_t(*)[3])readings, READINGS);
    return true;
}

// Starts a worker's command, sends the plan, and measures the worker's clock.
static bool open_worker(struct worker *w, const char *command, const struct scenario *s,
    const struct buf *text, uint64_t fingerprint, struct err *e)
{
    char line[CHANNEL_LINE_MAX];

    w->pid = channel_start(&w->channel, command, e);
    if (w->pid < 0) {
        e->kind = ERR_USAGE; // the user has named the command
        return err_prefix(e, "--workers");
    }
    return ((channel_line(&w->channel, line, e) &&
                (strcmp(line, WORKER_GREETING) == 0 ||
                    err_set(e, ERR_USAGE, "it is not a worker of this version of mailproof"))) &&
               send_plan(w, s, text, fingerprint, e) && measure_clock(w, &w->clock, e)) ||
           err_prefix(e, "worker %u of %u at %s", w->part.part + 1, w->part.of, command);
}

struct remote *remote_open(const char *const *commands, unsigned count,
    const struct scenario *scenario, const struct plan *plan, struct err *e)
{
    struct remote *r = memory_zeroed(1, sizeof *r);
    struct buf text FREED_BY(buf_fini) = BUF_INIT(16 << 20);

    r->workers = memory_zeroed(count, sizeof *r->workers);
    pthread_mutex_init(&r->lock, NULL);
    bool ok = can_be_shared(scenario, plan, e) && scenario_write(scenario, &text, e);
    for (unsigned i = 0; ok && i < count; i++) {
        struct worker *w = &r->workers[i];
        // Count the worker before it is opened, so that remote_free ends it even if that fails half
        // way.
        r->count++;
        *w = (struct worker){.channel = {.in = -1, .out = -1}, .part = {i, count}};
        ok = open_worker(w, commands[i], scenario, &text, remote_fingerprint(plan), e);
    }
    if (ok)
        return r;
    remote_free(r);
    return NULL;
}

void remote_free(struct remote *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < r->count; i++) {
        channel_close(&r->workers[i].channel);
        if (r->workers[i].pid > 0)
            process_end(r->workers[i].pid, SIGTERM, NS_PER_S);
    }
    pthread_mutex_destroy(&r->lock);
    free(r->workers);
    free(r);
}

// --- the load -------------------------------------------------------------------------

// Reads a worker's report and adds what is new in it to the run's progress. A line that is no
// report is ignored.
static void add_progress(struct worker *w, const char *line)
{
    size_t now[4];

    if (sscanf(line, "so-far %zu %zu %zu %zu", &now[0], &now[1], &now[2], &now[3]) != 4)
        return;
    atomic_size_t *const seen[] = {
        &w->seen.sent, &w->seen.committed, &w->seen.failed, &w->seen.tokens};
    atomic_size_t *const all[] = {
        &w->progress->sent, &w->progress->committed, &w->progress->failed, &w->progress->tokens};
    for (size_t i = 0; i < 4; i++)
        atomic_fetch_add(all[i], now[i] - atomic_exchange(seen[i], now[i]));
}

// Answers the worker's reports until it says that its load is over. A worker that gets no answers
// would stop. False when the worker is lost, or when the run ends the load early.
static bool answer_reports(struct worker *w, struct err *e)
{
    char line[CHANNEL_LINE_MAX];

    do {
        if (!channel_line(&w->channel, line, e) || !channel_say(&w->channel, e, "heard"))
            return false;
        add_progress(w, line);
        // After this error run_worker closes the channel, and so the worker stops.
        if (atomic_load(&w->progress->stop))
            return err_set(e, ERR_INTERRUPTED, "stopped");
    } while (strcmp(line, "over") != 0);
    return true;
}

// Takes the worker's result. First measures the worker's clock again, because the clocks may have
// drifted apart during the load.
static bool fetch_worker_result(struct worker *w, struct err *e)
{
    char line[CHANNEL_LINE_MAX];
    struct remote_clock last;

    if (!measure_clock(w, &last, e) || !channel_say(&w->channel, e, "send") ||
        !channel_line(&w->channel, line, e))
        return false;
    w->clock = remote_clock_combine(&w->clock, &last);
    const struct worker_result_target to = {w->config, w->part, w->clock, w->result, w->lock};
    return worker_result_take(&w->channel, line, &to, e);
}

// The thread of one worker: tells it to start, answers its reports, and fetches its result. If any
// of this fails, the worker is lost, and the outcome of its part is unknown.
static void *run_worker(void *arg)
{
    struct worker *w = arg;
    const struct load_config *c = w->config;
    struct err e = {0};

    if (channel_say(&w->channel, &e, "run %" PRId64 " %" PRId64 " %zu %zu %zu",
            c->start_ns + w->clock.offset_ns, c->deadline_ns + w->clock.offset_ns, c->first, c->end,
            strlen(c->conninfo)) &&
        channel_write(&w->channel, c->conninfo, strlen(c->conninfo), &e) && answer_reports(w, &e) &&
        fetch_worker_result(w, &e))
        return NULL;
    // This needs no lock: it writes the records of this worker's part, which no other thread uses.
    remote_mark_lost(w->result, c, &w->part, &w->clock, clock_now_ns());
    channel_close(&w->channel); // the worker stops when the connection closes
    pthread_mutex_lock(w->lock);
    if (w->result->lost_workers++ == 0)
        snprintf(w->result->lost_worker, sizeof w->result->lost_worker, "worker %u of %u: %.150s",
            w->part.part + 1, w->part.of, e.text);
    pthread_mutex_unlock(w->lock);
    return NULL;
}

bool remote_run(struct remote *r, const struct load_config *c, struct load_progress *progress,
    struct load_result *result, struct err *e)
{
    unsigned started = 0;

    if (!load_result_begin(result, c->plan, e))
        return false;
    for (; started < r->count; started++) {
        struct worker *w = &r->workers[started];
        w->config = c;
        w->progress = progress;
        w->result = result;
        w->lock = &r->lock;
        // Each worker has a thread of its own. In a single thread a silent worker would delay the
        // answers to the others, and a worker without an answer stops after 5 s.
        if (pthread_create(&w->thread, NULL, run_worker, w) != 0)
            break;
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(r->workers[i].thread, NULL);
        if (r->workers[i].clock.bound_ns > result->clock_bound_ns)
            result->clock_bound_ns = r->workers[i].clock.bound_ns;
    }
    return started == r->count || err_set(e, ERR_SYSTEM, "cannot start a thread");
}
