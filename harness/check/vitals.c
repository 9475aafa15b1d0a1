// Invariants of the collector's own life: it rests when there is nothing to do, its memory does not
// grow, it ends when it is told to, and its tables agree with its output.
#include "check/inside.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "plan/names.h"

static const double busy_share = 0.05;       // share of one processor that an idle collector may
                                             // use
static const double busy_wakeups_per_s = 10; // wakeups that an idle collector may cause; a health
                                             // check every second causes fewer
static const int64_t idle_least_ns = NS_PER_S;
static const int64_t warm_up_ns = NS_PER_S; // a process that was just started is not judged for
                                            // this long
static const uint32_t leak_least_kb = 256;
static const size_t leak_samples_least = 6;
static const int64_t ending_ns = NS_PER_S; // time that a process has from TERM to its end

// --- busy_idle ------------------------------------------------------------------

// Returns the time of the last event before `until_ns`: an answer or a line.
static int64_t last_event_ns(const struct ledger *l, int64_t until_ns)
{
    int64_t last = 0;

    for (size_t i = 0; i < l->plan->txn_count; i++) {
        const struct txn_record *txn = &l->txns[i];
        if (txn->sent_ns && txn->sent_ns < until_ns && txn->ended_ns > last)
            last = txn->ended_ns;
    }
    for (size_t i = 0; i < l->log->line_count; i++) {
        int64_t read_ns = l->log->lines[i].read_ns;
        if (read_ns < until_ns && read_ns > last)
            last = read_ns;
    }
    return last;
}

static double since(uint64_t before, uint64_t after)
{
    return after > before ? (double)(after - before) : 0;
}

static void check_idle(
    struct result *r, const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    const struct process_sample *first = NULL, *last = NULL;

    int64_t warm_ns = l->log->processes[process].started_ns + warm_up_ns;

    for (size_t i = 0; i < l->log->sample_count; i++) {
        const struct process_sample *s = &l->log->samples[i];
        if (s->process != process || s->at_ns < from_ns || s->at_ns < warm_ns ||
            s->at_ns > until_ns)
            continue;
        first = first ? first : s;
        last = s;
    }
    if (!first || last->at_ns - first->at_ns < idle_least_ns)
        return;
    double seconds = (double)(last->at_ns - first->at_ns) / 1e9;
    judged_add(r, METRIC_BUSY_IDLE, seconds, CAUSE_IS_NONE);
    // A sample adds up several processes. When one of them ends, its part disappears, and the sum
    // may fall.
    double cpu = since(first->cpu_ms, last->cpu_ms) / 1e3 / seconds;
    double wakeups = since(first->wakeups, last->wakeups) / seconds;
    if (cpu > busy_share || wakeups > busy_wakeups_per_s)
        finding_add(r, METRIC_BUSY_IDLE,
            "pid %d, %.1f s from %.3f s on with nothing to do: %.0f%% of a processor, %.0f "
            "wake-ups per second",
            (int)l->log->processes[process].pid, seconds, ledger_seconds(l, first->at_ns),
            100 * cpu, wakeups);
}

// Returns the end of the last fault window that began before `until_ns`.
static int64_t last_window_ns(const struct ledger *l, int64_t until_ns)
{
    int64_t last = 0;

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        int64_t end_ns = f->ended_ns + l->scenario->recovery_limit_ns;
        if (f->began_ns && f->began_ns < until_ns && end_ns > last)
            last = end_ns;
    }
    return last;
}

// Checks the part of a phase without load in which nothing happens any more and no fault lasts.
static void check_phase(struct result *r, const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    int64_t settle_ns = 2 * l->scenario->collector.batch_timeout_ns + r->slack_ns;
    int64_t last_ns = last_event_ns(l, until_ns);

    from_ns = (last_ns > from_ns ? last_ns : from_ns) + settle_ns;
    last_ns = last_window_ns(l, until_ns);
    from_ns = last_ns > from_ns ? last_ns : from_ns;
    if (until_ns - from_ns < idle_least_ns)
        return;
    for (uint32_t p = 0; p < l->log->process_count; p++)
        check_idle(r, l, p, from_ns, until_ns);
}

static bool is_idle(const struct load_phase *phase)
{
    return phase->rate_from <= 0 && phase->rate_to <= 0;
}

static void check_rest(struct result *r, const struct ledger *l)
{
    int64_t at_ns = l->start_ns;

    for (size_t i = 0; i < l->scenario->load_count; i++) {
        const struct load_phase *phase = &l->scenario->load[i];
        if (is_idle(phase))
            check_phase(r, l, at_ns, at_ns + phase->for_ns);
        at_ns += phase->for_ns;
    }
}

// --- leak -----------------------------------------------------------------------

// A buffer that grows to its final size does so in one step. A leak grows in both halves of the
// time.
static void check_memory(struct result *r, const struct ledger *l, uint32_t process)
{
    const struct process_record *p = &l->log->processes[process];
    int64_t born_ns = p->started_ns > l->start_ns ? p->started_ns : l->start_ns;
    int64_t end_ns = clock_min(p->ended_ns, l->load_end_ns);
    int64_t from_ns = born_ns + (end_ns - born_ns) / 4;
    int64_t middle_ns = from_ns + (end_ns - from_ns) / 2;
    uint32_t first = 0, middle = 0, last = 0;
    size_t count = 0;

    for (size_t i = 0; i < l->log->sample_count; i++) {
        const struct process_sample *s = &l->log->samples[i];
        if (s->process != process || s->at_ns < from_ns || s->at_ns > end_ns)
            continue;
        first = count++ ? first : s->rss_kb;
        middle = s->at_ns <= middle_ns ? s->rss_kb : middle;
        last = s->rss_kb;
    }
    if (count < leak_samples_least)
        return;
    judged_add(r, METRIC_LEAK, (double)(end_ns - from_ns) / 1e9, CAUSE_IS_NONE);
    if (last < first + leak_least_kb || middle < first || last < middle)
        return;
    uint32_t growth = last - first;
    if (middle - first >= growth / 4 && last - middle >= growth / 4)
        finding_add(r, METRIC_LEAK, "pid %d: from %u kB at %.3f s to %u kB at %.3f s, %u lines",
            (int)p->pid, first, ledger_seconds(l, from_ns), last, ledger_seconds(l, end_ns),
            p->lines);
}

// --- unplanned_exit: at TERM, but not within a second ------------------------------

struct endings {
    const struct check *c;
    size_t stalled; // number of ends that came late, perhaps only because of a stall
};

static void check_ending(struct endings *t, const struct process_record *p, int64_t asked_ns)
{
    const struct check *c = t->c;

    // A queue's consumer finishes its current job, and nobody promised how soon.
    if (scenario_is_queue(c->l->scenario))
        return;
    if (p->ended_ns - asked_ns <= ending_ns + c->r->slack_ns)
        return;
    if (stall_list_ns(&c->stalls, asked_ns, p->ended_ns) > 0) {
        t->stalled++;
        return;
    }
    finding_add(c->r, METRIC_UNPLANNED_EXIT, "pid %d got TERM at %.3f s and ended %.3f s later",
        (int)p->pid, ledger_seconds(c->l, asked_ns), (double)(p->ended_ns - asked_ns) / 1e9);
}

// A process that the plan pauses cannot end.
static bool check_paused(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->spec->verb->id == VERB_PAUSE_COLLECTOR && f->began_ns && f->began_ns < until_ns &&
            f->ended_ns > from_ns)
            return true;
    }
    return false;
}

static void check_stop(struct endings *t, const struct fault_record *f)
{
    const struct ledger *l = t->c->l;
    const struct subject_log *log = l->log;

    if (f->spec->verb->id != VERB_STOP_COLLECTOR || f->left_out || !f->began_ns ||
        check_paused(l, f->began_ns, f->ended_ns))
        return;
    for (size_t i = 0; i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        // A process that started after began_ns was asked to end later, so its end is not counted
        // from began_ns.
        if ((f->spec->instance < 0 || f->spec->instance == p->instance) &&
            p->started_ns < f->began_ns && p->ended_ns >= f->began_ns)
            check_ending(t, p, f->began_ns);
    }
}

static void check_endings(const struct check *c)
{
    const struct ledger *l = c->l;
    struct endings t = {.c = c};

    for (size_t i = 0; i < l->fault_count; i++)
        check_stop(&t, &l->faults[i]);
    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        // A process that had to be killed was already counted, because it did not end at TERM at
        // all.
        bool killed = WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGKILL;
        if (p->ended_ns >= l->drain_end_ns && !killed)
            check_ending(&t, p, l->drain_end_ns);
    }
    if (t.stalled > 0)
        result_reason(
            c->r, "%zu collectors ended late while the harness itself stood still", t.stalled);
}

void check_vitals(const struct check *c)
{
    check_rest(c->r, c->l);
    for (uint32_t p = 0; p < c->l->log->process_count; p++)
        check_memory(c->r, c->l, p);
    check_endings(c);
}

// --- end_state --------------------------------------------------------------------

// How the last processes ended.
struct last_words {
    bool cut_short;   // a process was killed, or did not end as it should
    bool unconfirmed; // a process says that its last line is unconfirmed
};

static struct last_words last_words_of(const struct ledger *l)
{
    const int unconfirmed = 75;
    struct last_words words = {0};

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        if (p->ended_ns < l->drain_end_ns)
            continue;
        words.unconfirmed |= WIFEXITED(p->status) && WEXITSTATUS(p->status) == unconfirmed;
        words.cut_short |= check_killed_by_plan(l, p) || !check_ended_as_asked(l, p);
    }
    return words;
}

// True when the same process had the time to write and to confirm, and nothing came in between. An
// unconfirmed token goes out again, but the run may end before that.
static bool had_time_to_mark(const struct check *c, uint32_t token)
{
    int64_t read_ns = ledger_read_ns(c->l, token);

    return check_undisturbed(c->l, read_ns, read_ns + c->r->slack_ns);
}

// True when the server may not have confirmed this line before the end, not even in the second
// after TERM.
static bool may_be_unconfirmed(const struct check *c, uint32_t token)
{
    int64_t read_ns = ledger_read_ns(c->l, token), end_ns = c->l->drain_end_ns;

    return read_ns + c->r->slack_ns > end_ns || !check_undisturbed(c->l, read_ns, end_ns) ||
           stall_list_ns(&c->stalls, read_ns, end_ns + ending_ns) >= ending_ns / 2;
}

// Returns how the collector's tables contradict what is known of a token; NULL when they agree. A
// dead letter and the cursor's move past it are one transaction.
static const char *contradiction(
    const struct check *c, uint32_t token, const struct last_words *words)
{
    const struct ledger *l = c->l;
    const struct ledger_token *t = &l->tokens[token];
    bool shares = check_shares(l->scenario);
    bool waits = t->flags & (shares ? TOKEN_UNMARKED : TOKEN_WAITING);

    if ((t->flags & TOKEN_DEAD_LETTER) && t->outcome != OUTCOME_DEAD &&
        !token_kind_unsendable(l->plan->kinds[token]))
        return "in dead_letters, though the wire can carry it";
    if (t->flags & TOKEN_BURIED_AGAIN)
        return "more than once in dead_letters";
    if ((t->flags & TOKEN_DEAD_LETTER) && waits)
        return "in dead_letters, but still waiting in the queue";
    if (words->cut_short || !waits || t->deliveries == 0)
        return NULL;
    if (words->unconfirmed && may_be_unconfirmed(c, token))
        return NULL;
    // The token may have to be retried; its recorded outcome is judged elsewhere.
    if (l->scenario->collector.dequeue == DEQUEUE_LEASED)
        return NULL;
    if (!shares)
        return "delivered, but the cursor has not passed it";
    return had_time_to_mark(c, token) ? "delivered, but not confirmed" : NULL;
}

void check_end_state(const struct check *c)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    struct last_words words = last_words_of(l);
    char email[NAMES_MAX];

    if (l->scenario->collector.layout != LAYOUT_REFERENCE)
        return;
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        const char *wrong = contradiction(c, token, &words);
        if (ledger_committed(l, token))
            judged_add(r, METRIC_END_STATE, 1, CAUSE_IS_NONE);
        if (!wrong)
            continue;
        names_email(email, token);
        finding_add(r, METRIC_END_STATE, "%s (%s): %s", email,
            token_kind_name(l->plan->kinds[token]), wrong);
    }
}
