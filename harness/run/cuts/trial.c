// One trial of --every-cut or --every-kill: the collector works through the steps, and the proxy
// cuts, or has the collector killed, at the messages of the trial. Afterwards the trial has a
// ledger like a run, so that all invariants judge it.
#include "run/cuts/trial.h"

#include <math.h>
#include <pthread.h>

#include "os/interrupt.h"
#include "os/mutant.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"
#include "run/run.h"
#include "scenario/leased.h"
#include "subject/command.h"
#include "subject/subject.h"

static const int64_t poll_ns = 500 * NS_PER_US;
static const int64_t settle_ns = 50 * NS_PER_MS; // pause after the first line
static const int64_t rest_ns =
    50 * NS_PER_MS; // pause after the last line, in which a line may come again
static const int64_t quiet_ns = 20 * NS_PER_MS; // pause for the messages that follow a line, such
                                                // as its confirmation
static const int64_t collector_end_ns = 5 * NS_PER_S;
static const int64_t links_close_ns = 500 * NS_PER_MS;
static const int64_t kill_ns = 5 * NS_PER_S; // time in which a killed process must be gone

// After this many steps in a row whose tokens did not all come, the trial commits no further steps.
#define SILENT_STEPS 2

_Static_assert(POINTS_CUTS_MAX == PROXY_CUTS_MAX, "a trial's cuts fit the proxy");

struct trial {
    const struct trial_setting *setting;
    struct trial_fixture *fixture;
    const struct trial_cuts *cuts;
    struct trial_tally *tally; // counts the messages; NULL: they are not counted
    struct steps steps;
    struct command command;
    struct subject *subject;
    struct observers observers; // only `starved` of it, the waits for a processor
    size_t links;               // the most connections at once that were seen before the cut
    int64_t idle_since_ns;      // since when, after a cut, `links` connections are open and all are
                                // idle; 0: they are not
    pthread_mutex_t lock;       // guards what the proxy's thread uses: subject and faults
    struct fault_record faults[POINTS_CUTS_MAX];
    char messages[POINTS_CUTS_MAX][64]; // the kinds of message, to which the faults point
    struct ledger ledger;
    struct load_result load;
    struct err gave_up;
};

// --- the faults --------------------------------------------------------------------

// Describes each cut as a fault of the trial's scenario, so that the checks treat it as one.
static void make_faults(struct trial *t)
{
    for (int i = 0; i < t->cuts->count; i++) {
        const struct cut_point *p = &t->cuts->at[i];
        snprintf(t->messages[i], sizeof t->messages[i], "%s %s", message_sender_name(p->sender),
            message_name(p->sender, p->type));
        t->steps.faults[i] = (struct fault_spec){
            .verb = verb_find(t->setting->action == ACTION_KILL ? "kill-collector" : "cut-at"),
            .target = TARGET_COLLECTOR,
            .instance = -1,
            .message = t->messages[i],
            .n = p->n,
            .side = p->side,
        };
        t->faults[i] = (struct fault_record){.spec = &t->steps.faults[i]};
    }
}

static bool is_mutated(const struct trial *t)
{
    return mutant_is("run", t->setting->action == ACTION_KILL ? "every-kill" : "every-cut");
}

static void arm_cut(struct trial *t)
{
    struct proxy *proxy = t->fixture->proxy;

    // With this mutant the trial claims its cuts without making them, and a test must notice.
    if (is_mutated(t))
        return;
    for (int i = 0; i < t->cuts->count; i++) {
        const struct cut_point *p = &t->cuts->at[i];
        const struct message_kind kind = {.sender = p->sender, .type = p->type};
        if (i == 0)
            proxy_cut(proxy, &kind, p->n, p->side);
        else
            proxy_cut_next(proxy, &kind, p->n, p->side);
    }
}

// Kills the collector, and waits until it is gone; false when that takes too long. A collector that
// has already ended, as after its Terminate, counts as killed.
static bool kill_trial_collector(struct subject *subject)
{
    int64_t deadline = clock_now_ns() + kill_ns;
    pid_t pid; // a trial has only one collector
    size_t count = subject_signal(subject, -1, SIGKILL, &pid);

    // Nothing passes the proxy until this function returns. If the collector still lived then, what
    // it did after the message could reach the server.
    while (count > 0 && !subject_ended(subject, &pid, count)) {
        if (clock_now_ns() > deadline)
            return false;
        usleep(100);
    }
    return true;
}

// The hook of proxy_at_cut: kills the collector with ACTION_KILL, and records the fault. It runs in
// the proxy's thread, while the connection is still open.
static void at_cut(void *arg, size_t cut)
{
    struct trial *t = arg;

    pthread_mutex_lock(&t->lock);
    struct fault_record *f = &t->faults[cut];
    f->planned_ns = f->began_ns = clock_now_ns();
    f->ok = t->setting->action == ACTION_CUT || kill_trial_collector(t->subject);
    f->ended_ns = clock_now_ns();
    f->undone = true;
    snprintf(f->evidence, sizeof f->evidence, "%s %s number %d", points_side(f->spec->side),
        f->spec->message, f->spec->n);
    pthread_mutex_unlock(&t->lock);
}

// --- the collector ----------------------------------------------------------------------

static bool start_subject(struct trial *t, struct err *e)
{
    struct leased leased;

    leased_read(&leased, t->setting->scenario);
    struct subject_config config = {
        .command = t->command.argv,
        .env = (const char *const *)t->command.env.items,
        .key = t->command.key,
        .instances = 1,
        // --every-kill needs a restart, and after a cut a collector may also end by itself.
        .restart = true,
        .token_count = t->steps.plan.token_count,
        .sender = leased.on ? &t->setting->scenario->collector.sender : NULL,
        .seed = t->setting->scenario->seed,
        .log_dir = t->setting->log_dir,
    };

    // The collector may send a message before subject_start returns. The hook then waits for this
    // lock, so it finds `subject` set.
    pthread_mutex_lock(&t->lock);
    t->subject = subject_start(&config, e);
    pthread_mutex_unlock(&t->lock);
    return t->subject != NULL;
}

// Starts the collector behind the proxy, and the samples of its wait for a processor.
static bool start_collector(struct trial *t, struct err *e)
{
    const struct trial_setting *s = t->setting;
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);

    return provider_conninfo(s->server, MIGRATE_COLLECTOR, t->fixture->db.name, &conninfo, e) &&
           proxy_conninfo(t->fixture->proxy, &conninfo, e) &&
           command_make(&t->command, s->scenario, s->collector, conninfo.data, e) &&
           start_subject(t, e) && observers_start_starved(&t->observers, s->server, t->subject, e);
}

// --- the steps --------------------------------------------------------------------------

// True when all tokens of the step that the collector has to write were read.
static bool is_read(const struct trial *t, size_t step)
{
    const struct plan_txn *txn = &t->steps.plan.txns[step];

    for (uint32_t token = txn->first_token; token < txn->first_token + txn->rows; token++) {
        if (token_kind_deliverable(t->steps.plan.kinds[token]) &&
            !subject_seen_ns(t->subject, token))
            return false;
    }
    return true;
}

// Notes when a collector has returned after a cut: when as many connections as before the cut are
// open and all have been idle for quiet_ns. By then it has looked for waiting tokens and must
// listen for later ones. Its first line must not be the sign of its return: a collector that looks
// before it listens misses a token that is committed in between. It writes no line then, so it
// would never count as returned, and the fault would excuse the missed token.
static void note_return(struct trial *t)
{
    size_t cuts = proxy_cuts(t->fixture->proxy, NULL);
    size_t links = proxy_counts(t->fixture->proxy).links;
    enum exchange_state state = proxy_state(t->fixture->proxy);
    bool rests = state == EXCHANGE_IDLE || state == EXCHANGE_NOTIFIED;
    int64_t now = clock_now_ns();

    if (cuts == 0 && links > t->links)
        t->links = links;
    if (cuts == 0 || !rests || links < t->links) {
        t->idle_since_ns = 0;
        return;
    }
    t->idle_since_ns = t->idle_since_ns ? t->idle_since_ns : now;
    pthread_mutex_lock(&t->lock);
    struct fault_record *f = &t->faults[cuts - 1];
    if (!f->ready_ns && now - t->idle_since_ns >= quiet_ns)
        f->ready_ns = now;
    pthread_mutex_unlock(&t->lock);
}

// Sleeps for poll_ns, and notes whether the collector has returned after a cut.
static bool poll_trial(struct trial *t, struct err *e)
{
    note_return(t);
    return interrupt_sleep(poll_ns, e);
}

// Commits a step and waits until its tokens are read, for as long as a recovery may take at most.
// *answered says whether all of them were. Returns false only on failure or interrupt.
static bool commit_step_and_wait(struct trial *t, size_t step, bool *answered, struct err *e)
{
    const struct scenario *s = t->setting->scenario;
    // A token may wait for the rest of one batch window and, after a recovery, for a whole one.
    int64_t wait_ns = s->recovery_limit_ns + 2 * s->collector.batch_timeout_ns;

    if (!steps_commit(&t->steps, t->fixture->db.conn, step, t->ledger.start_ns, e))
        return false;
    int64_t deadline = clock_now_ns() + wait_ns;
    while (!(*answered = is_read(t, step)) && clock_now_ns() < deadline &&
           !subject_gave_up(t->subject, &t->gave_up)) {
        if (!poll_trial(t, e) || subject_failed(t->subject, e))
            return false;
    }
    return true;
}

// Counts the messages up to the first line. A recovery takes about as many, so points_add_pairs
// draws the second cut of a pair from this number.
static void tally_start(struct trial *t)
{
    if (!t->tally)
        return;
    proxy_tally(t->fixture->proxy, t->tally->all);
    for (int sender = 0; sender < 2; sender++) {
        for (int type = 0; type < 256; type++)
            t->tally->start[sender] += t->tally->all[sender][type];
    }
}

// Counts the messages up to the first line, and lets the collector come to rest. While it starts,
// it may write tokens at once. After this pause all rules for batches apply to the next steps.
static bool rest_after_first_step(struct trial *t, struct err *e)
{
    tally_start(t);
    return interrupt_sleep(settle_ns, e);
}

// Waits for quiet_ns, or until the cut is made, which may come at a message after the last line.
static bool wait_for_quiet(struct trial *t, struct err *e)
{
    int64_t quiet_until = clock_now_ns() + quiet_ns;

    while (!proxy_was_cut(t->fixture->proxy) && clock_now_ns() < quiet_until) {
        if (!poll_trial(t, e))
            return false;
    }
    return true;
}

// Waits until the table deliveries is empty, for the recovery limit at most. In shared mode the
// tokens of a dead collector stay in it until the grace has passed; only then are they sent again
// or become dead letters. In leased mode a token stays in it until its answer is recorded.
static bool wait_for_no_deliveries(struct trial *t, struct err *e)
{
    const struct scenario_collector *c = &t->setting->scenario->collector;
    int64_t deadline = clock_now_ns() + t->setting->scenario->recovery_limit_ns;
    char count[24] = "";

    if (c->layout != LAYOUT_REFERENCE || c->dequeue == DEQUEUE_CURSOR)
        return true;
    while (strcmp(count, "0") != 0 && clock_now_ns() < deadline &&
           !subject_gave_up(t->subject, &t->gave_up)) {
        if (!poll_trial(t, e) || !sql_value(t->fixture->db.conn, "SELECT count(*) FROM deliveries",
                                     count, sizeof count, e))
            return false;
    }
    return true;
}

// Commits all steps and waits for their tokens. The last step is left out unless there was a cut.
// Returns true as well when tokens are missing; false only on failure or interrupt.
static bool run_steps(struct trial *t, struct err *e)
{
    int silent = 0;

    // If a collector never writes again, the trial would wait for the limit at each step. Two
    // silent steps in a row are enough to convict it.
    for (size_t step = 0; step + 1 < STEPS && silent < SILENT_STEPS; step++) {
        bool answered;
        if (!commit_step_and_wait(t, step, &answered, e))
            return false;
        silent = answered ? 0 : silent + 1;
        if (t->gave_up.kind != ERR_NONE)
            return true;
        if (step == 0 && !rest_after_first_step(t, e))
            return false;
    }
    bool ignored;
    if (!wait_for_quiet(t, e))
        return false;
    // One more token after the cut shows that the collector is alive again.
    if (proxy_was_cut(t->fixture->proxy) && !commit_step_and_wait(t, STEPS - 1, &ignored, e))
        return false;
    return wait_for_no_deliveries(t, e) &&
           (!proxy_was_cut(t->fixture->proxy) || interrupt_sleep(rest_ns, e));
}

// --- the verdict ------------------------------------------------------------------------

static bool begin_ledger(struct trial *t, struct err *e)
{
    if (!ledger_init(&t->ledger, &t->steps.scenario, &t->steps.plan, e) ||
        !run_read_epoch(&t->ledger, t->fixture->db.conn, e))
        return false;
    t->ledger.start_ns = clock_now_ns();
    t->ledger.txns = t->steps.records;
    t->load.records = t->steps.records;
    return true;
}

// Ends the collector, and waits until its connections are closed, because its last messages may
// still be on their way to the proxy.
static void end_trial_collector(struct trial *t)
{
    t->ledger.load_end_ns = clock_now_ns();
    t->ledger.drain_end_ns = t->ledger.load_end_ns;
    subject_stop(t->subject, collector_end_ns);
    // The samples of its wait for a processor end only now, because the time that it takes to end
    // is judged, too.
    observers_end_starved(&t->observers, &t->ledger);
    int64_t deadline = clock_now_ns() + links_close_ns;
    while (proxy_counts(t->fixture->proxy).links > 0 && clock_now_ns() < deadline)
        usleep(200);
}

// Copies what the report needs of the result. `faults`: the number of cuts that were made.
static void keep_trial_result(struct trial_result *kept, const struct result *r, size_t faults)
{
    kept->verdict = r->verdict;
    kept->ran = true;
    // With two cuts, only the recovery from the last one is undisturbed.
    kept->recovery_ms = faults > 0 ? r->recovery_ms[faults - 1] : NAN;
    memcpy(kept->values, r->values, sizeof kept->values);
    memcpy(kept->broken, r->broken, sizeof kept->broken);
    memcpy(kept->judged, r->judged, sizeof kept->judged);
    for (size_t id = 0; id < METRIC_COUNT; id++) {
        if (r->broken[id] && r->findings[id].example_count > 0)
            snprintf(kept->example[id], sizeof kept->example[id], "%.*s",
                (int)sizeof kept->example[id] - 1, r->findings[id].examples[0]);
    }
    if (r->reason_count > 0)
        snprintf(kept->why, sizeof kept->why, "%s", r->reasons[0]);
}

// Judges the trial by all invariants, and stores the result in *kept.
static bool judge_trial(struct trial *t, struct trial_result *kept, struct err *e)
{
    struct result result;

    // The collector has ended, so the proxy is idle and its counts are final.
    kept->reached = (int)proxy_cuts(t->fixture->proxy, kept->cut_ns);
    if (is_mutated(t))
        kept->reached = t->cuts->count;
    t->ledger.faults = t->faults;
    t->ledger.fault_count = proxy_cuts(t->fixture->proxy, NULL);
    t->ledger.log = subject_log(t->subject);
    const struct check_input input = {
        .load = &t->load,
        // Not counted: a trial cuts the connections itself.
        .reconnects = UINT64_MAX,
        .gave_up = t->gave_up.kind != ERR_NONE ? t->gave_up.text : NULL,
        .reader_stalls = &subject_cost(t->subject)->stalls,
        .reader_ns = subject_cost(t->subject)->serving_ns,
    };
    if (!ledger_settle_end(&t->ledger, t->fixture->db.conn, e))
        return false;
    check_ledger(&result, &t->ledger, &input);
    keep_trial_result(kept, &result, t->ledger.fault_count);
    if (input.gave_up && !*kept->why)
        snprintf(kept->why, sizeof kept->why, "%.255s", input.gave_up);
    result_fini(&result);
    return true;
}

static void close_trial(struct trial *t)
{
    // Until the hook is removed, the proxy's thread may use the subject.
    proxy_forget_cut(t->fixture->proxy);
    observers_fini(&t->observers);
    subject_free(t->subject);
    command_fini(&t->command);
    ledger_fini(&t->ledger);
    steps_fini(&t->steps);
    pthread_mutex_destroy(&t->lock);
}

// Prepares the database, the ledger and the cuts. The collector does not run yet.
static bool prepare_trial(struct trial *t, struct err *e)
{
    if (!steps_init(&t->steps, t->setting->scenario, e) || !freshdb_renew(&t->fixture->db, e) ||
        !steps_prepare(&t->steps, t->fixture->db.conn, e) || !begin_ledger(t, e))
        return false;
    make_faults(t);
    proxy_forget_cut(t->fixture->proxy);
    proxy_at_cut(t->fixture->proxy, at_cut, t);
    arm_cut(t);
    return true;
}

bool trial_run(const struct trial_setting *setting, struct trial_fixture *fixture,
    const struct trial_cuts *cuts, struct trial_result *result, struct trial_tally *tally,
    struct err *e)
{
    struct trial *t FREED_BY(memory_free) = memory_zeroed(1, sizeof *t);
    int64_t began_ns = clock_now_ns();
    unsigned counts[2][256];

    t->setting = setting;
    t->fixture = fixture;
    t->cuts = cuts;
    t->tally = tally;
    pthread_mutex_init(&t->lock, NULL);
    *result = (struct trial_result){.recovery_ms = NAN};
    proxy_reset(fixture->proxy);
    // This call drops the counts that the last trial has left.
    proxy_tally(fixture->proxy, counts);
    proxy_record(fixture->proxy, tally ? tally->transcript : NULL);
    bool ok = prepare_trial(t, e) && start_collector(t, e) && run_steps(t, e);
    if (ok) {
        end_trial_collector(t);
        ok = !subject_failed(t->subject, e) && judge_trial(t, result, e);
    }
    proxy_record(fixture->proxy, NULL);
    // Adds the messages since tally_start to those before it.
    proxy_tally(fixture->proxy, counts);
    for (int sender = 0; tally && sender < 2; sender++) {
        for (int type = 0; type < 256; type++)
            tally->all[sender][type] += counts[sender][type];
    }
    close_trial(t);
    result->took_ns = clock_now_ns() - began_ns;
    return ok;
}
