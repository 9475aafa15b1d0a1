// Leased mode: every token ends as sent, dead or expired. An answer counts once, and only for the
// attempt that it belongs to. A failed token is tried again, but not too often and not too soon.
//
// The harness was the sender, so it knows every attempt, its answer, and the times of both. The
// collector's history must agree.
//
// README.md says what breaks each invariant; here is what excuses it.
//
// double_leased (tried again before the earlier attempt was answered) is excused when
// - the process of the earlier attempt had ended, or the answer timeout had passed;
// - a fault hit the instance of the earlier attempt between the two readings, or up to slack before
//   the first: the line may have waited unread for a paused reader.
//
// resurrected (tried again after it was sent, or after a permanent error) is excused when the
// answer may not have been recorded. To record it takes up to W = slack + 2 × the p99 of a flush.
// It may be missing when
// - the process was killed within W of the answer, or ended otherwise within W + 1 s, not counting
//   time in which it had no processor or the harness stood still;
// - a fault hit this instance within W of the answer, or up to slack before it;
// - the answer came after the answer timeout;
// - the server itself lost the record (forgot.c).
//
// When two lines hold a token, the one that was read later may have been written earlier: by
// another process, whose reader was away since before the other line was read. Then resurrected,
// double_leased, over_attempts and misrecorded are not judged.
//
// early_retry judges the mean, because any single retry may come at once.
//
// never_retried: a retry needs the longest delay that may follow as many errors as the token had
// attempts, two batch timeouts, the slack and 1 s, all in fault-free time. With less time the token
// is `pending`, and the run inconclusive. A token that had a final answer and has no recorded end
// is lost.
//
// over_attempts: an error counts only if the collector must have recorded it, as for resurrected.
//
// over_budget allows for the slack, because a line is read a little after its tokens were taken.
// Lines that lay unread come together: while a fault or a stall keeps a reader away, the harness's
// bucket fills beyond the burst. While a fault keeps the collectors away, the bucket fills beyond
// the burst by at most what they may have had in hand: two lines each.
#include "check/inside.h"

#include <math.h>

// The attempts of a token, in the order in which they were read.
struct chain {
    const struct check *c;
    uint32_t token;
    const struct delivery *last; // the latest attempt so far; NULL before the first
    int errors;          // number of attempts of which the collector must know that they failed
    int attempts;        // number of all attempts so far, each of which may have failed
    bool over;           // an attempt too many was found
    struct cause unread; // why the attempts may have been read out of order, or CAUSE_NONE
};

struct waits {
    double total_ns, most_ns; // sums over the retries that came: total_ns of their delays, most_ns
                              // of the longest delays that full jitter allows
    size_t count;
};

static const struct line_record *line_of(const struct ledger *l, const struct delivery *d)
{
    return &l->log->lines[d->line];
}

// Returns why another attempt may begin at again_ns although this attempt had no answer: its time
// was over, its process had ended, or a fault had touched its instance. CAUSE_NONE: there is no
// reason.
static struct cause given_up_by(const struct chain *h, const struct delivery *d, int64_t again_ns)
{
    const struct ledger *l = h->c->l;
    int64_t read_ns = line_of(l, d)->read_ns;
    const struct process_record *p = &l->log->processes[line_of(l, d)->process];

    if (check_timed_out(h->c, d, again_ns) || p->ended_ns <= again_ns)
        return (struct cause){CAUSE_BATCH, d->line};
    // A pause of the reader that ended shortly before the reading, by at most slack, counts, too:
    // the line may have lain unread for as long as an answer may take.
    return timeline_disturbed_by(
        &h->c->timeline, p->instance, read_ns - h->c->r->slack_ns, again_ns);
}

// Returns the fault by which this line, though it was read after the last attempt's, may have been
// written before it: another process wrote it, and the fault kept its reader away from before the
// last attempt was read until this line was. CAUSE_NONE: there is none.
static struct cause left_unread_by(const struct chain *h, const struct delivery *d)
{
    const struct ledger *l = h->c->l;
    const struct line_record *line = line_of(l, d), *last = line_of(l, h->last);

    int instance = l->log->processes[line->process].instance;
    const struct strike *k = NULL;

    if (line->process == last->process)
        return CAUSE_IS_NONE;
    // The strike began before the last line was read, and lasted until slack before this one was.
    while ((k = timeline_strike(
                &h->c->timeline, k, instance, line->read_ns - h->c->r->slack_ns, last->read_ns)))
        if (k->verb->takes & THING_READER)
            return k->cause;
    return CAUSE_IS_NONE;
}

// Adds a finding: the attempt `d` began although `what`, which was so since since_ns, forbade it.
static void add_leased_again(struct chain *h, enum metric_id id, const struct delivery *d,
    const char *what, int64_t since_ns)
{
    const struct ledger *l = h->c->l;

    finding_add(h->c->r, id, NAMES_TOKEN " was leased again at %.3f s: %s at %.3f s", h->token,
        ledger_seconds(l, line_of(l, d)->read_ns), what, ledger_seconds(l, since_ns));
}

// Judges an attempt that follows another one of the same token (h->last). A retry that nothing
// disturbed is added to *w, for judge_waits.
static void judge_again(struct chain *h, const struct delivery *d, struct waits *w)
{
    struct result *r = h->c->r;
    int64_t again_ns = line_of(h->c->l, d)->read_ns;
    bool finished = h->last->reply == REPLY_SENT || h->last->reply == REPLY_PERMANENT;
    bool answered = check_is_answered(h->last) && h->last->replied_ns <= again_ns;
    struct cause unread = left_unread_by(h, d);
    struct cause unrecorded = unread, given_up = unread; // excuse resurrected and double_leased

    // The order of the two lines is unknown, so nothing that rests on it can be judged.
    if (unread.kind != CAUSE_NONE) {
        h->unread = unread;
    } else if (answered && finished) {
        // A token that was sent, or had failed for good, must not come again.
        unrecorded = check_unrecorded_by(h->c, h->last, again_ns);
        if (unrecorded.kind == CAUSE_NONE)
            add_leased_again(h, METRIC_RESURRECTED, d,
                h->last->reply == REPLY_SENT ? "it was sent" : "it had failed for good",
                h->last->replied_ns);
    } else if (!answered) {
        // Without an answer, the token stays leased to the collector until the answer timeout.
        given_up = given_up_by(h, h->last, again_ns);
        if (given_up.kind == CAUSE_NONE)
            add_leased_again(h, METRIC_DOUBLE_LEASED, d, "its lease was still held, by a line read",
                line_of(h->c->l, h->last)->read_ns);
    } else if (timeline_disturbed_by(&h->c->timeline, ANY_INSTANCE, h->last->replied_ns, again_ns)
                   .kind == CAUSE_NONE) {
        // Only a retry that nothing disturbed shows the delay that the collector chose.
        w->total_ns += (double)(again_ns - h->last->replied_ns);
        w->most_ns += (double)leased_longest_delay_ns(&h->c->leased, h->errors);
        w->count++;
    }
    judged_add(r, METRIC_RESURRECTED, 1, unrecorded);
    judged_add(r, METRIC_DOUBLE_LEASED, 1, given_up);
    r->values[METRIC_REPEATED]++;
}

// True when the attempt failed, and the collector must have learned of the error and recorded it.
// Only such an attempt counts for the limit.
static bool is_known_error(const struct chain *h, const struct delivery *d)
{
    return d->reply == REPLY_TRANSIENT && d->replied_ns != 0 &&
           check_unrecorded_by(h->c, d, CLOCK_NEVER).kind == CAUSE_NONE;
}

// Adds an attempt to the chain, and judges it.
static void take_attempt(struct chain *h, const struct delivery *d, struct waits *w)
{
    struct result *r = h->c->r;

    if (h->last) {
        judge_again(h, d, w);
    } else {
        // A first attempt breaks nothing. It is counted so that the judged share is a share of all
        // attempts.
        judged_add(r, METRIC_RESURRECTED, 1, CAUSE_IS_NONE);
        judged_add(r, METRIC_DOUBLE_LEASED, 1, CAUSE_IS_NONE);
    }
    h->last = d;
    judged_add(r, METRIC_OVER_ATTEMPTS, 1, h->unread);
    // A token counts once, however often it was tried again.
    if (h->errors >= h->c->leased.attempts && h->unread.kind == CAUSE_NONE && !h->over) {
        finding_add(r, METRIC_OVER_ATTEMPTS,
            NAMES_TOKEN ": tried again at %.3f s, though a token is dead after %d failed attempts",
            h->token, ledger_seconds(h->c->l, line_of(h->c->l, d)->read_ns), h->c->leased.attempts);
        h->over = true;
    }
    // An error that the collector may not have recorded does not count for the limit. But
    // had_its_time counts each attempt, because each may have made the delay longer.
    h->errors += is_known_error(h, d);
    h->attempts++;
}

// --- the end ----------------------------------------------------------------------

// True when the drain was long enough for all that the token still needed, without the time of
// faults: the delay before its retry, two windows, the slack and a second.
static bool had_its_time(const struct chain *h)
{
    const struct ledger *l = h->c->l;
    int64_t from_ns = h->last->replied_ns
                          ? h->last->replied_ns
                          : line_of(l, h->last)->read_ns + h->c->leased.answer_timeout_ns;
    int64_t needed_ns = leased_longest_delay_ns(&h->c->leased, h->attempts) +
                        2 * l->scenario->collector.batch_timeout_ns + h->c->r->slack_ns + NS_PER_S;

    return timeline_free(&h->c->timeline, EVERY, from_ns, l->drain_end_ns).ns >= needed_ns;
}

// By enum token_outcome.
static const char *const ends[] = {"no end", "sent", "dead", "expired"};

static void add_misrecorded(const struct chain *h, const char *why)
{
    finding_add(h->c->r, METRIC_MISRECORDED, NAMES_TOKEN " ended as %s: %s", h->token,
        ends[h->c->l->tokens[h->token].outcome], why);
}

// Compares the end that the collector recorded with the sender's last answer. False when they
// contradict each other, or when nobody knows which answer was the last.
static bool judge_record(const struct chain *h)
{
    const struct ledger_token *t = &h->c->l->tokens[h->token];
    bool heard = h->last->replied_ns != 0;

    judged_add(h->c->r, METRIC_MISRECORDED, 1, h->unread);
    if (h->unread.kind != CAUSE_NONE)
        return false;
    if (t->outcome == OUTCOME_SENT && h->last->reply != REPLY_SENT)
        add_misrecorded(h, "the last attempt was not answered with sent");
    else if (t->outcome == OUTCOME_DEAD && h->last->reply == REPLY_SENT && heard &&
             check_unrecorded_by(h->c, h->last, h->c->l->drain_end_ns).kind == CAUSE_NONE)
        add_misrecorded(h, "the last attempt was sent");
    else if (t->outcome == OUTCOME_DEAD && h->last->reply != REPLY_PERMANENT &&
             t->deliveries < (uint32_t)h->c->leased.attempts)
        add_misrecorded(h, "it was not refused, and not tried often enough");
    else
        return true;
    return false;
}

// Judges what became of a token after its last attempt, by the collector's records and by the time
// that it had. `first` and `next` list the token's deliveries, as link_up made them.
static void judge_end(const struct chain *h, uint32_t first, const uint32_t *next)
{
    struct result *r = h->c->r;
    const struct ledger_token *t = &h->c->l->tokens[h->token];
    bool retry = h->last->reply != REPLY_SENT && h->last->reply != REPLY_PERMANENT;
    int64_t ended_ns =
        check_is_answered(h->last) ? h->last->replied_ns : line_of(h->c->l, h->last)->read_ns;

    // A deleted account has taken the records of its token with it.
    if (!(t->flags & TOKEN_PRESENT))
        return;
    if (judge_record(h))
        check_attempts(h->c, h->token, first, next);
    judged_add(r, METRIC_NEVER_RETRIED, 1, CAUSE_IS_NONE);
    if (t->outcome != OUTCOME_NONE)
        return;
    if (!had_its_time(h))
        r->values[METRIC_PENDING]++;
    else if (retry)
        finding_add(r, METRIC_NEVER_RETRIED,
            check_is_answered(h->last) ? NAMES_TOKEN ": failed at %.3f s, and never tried again"
                                       : NAMES_TOKEN
                ": read at %.3f s without an answer, and never tried again",
            h->token, ledger_seconds(h->c->l, ended_ns));
    else
        // The token was delivered, so "lost" alone would not say what is missing.
        finding_add(r, METRIC_LOST,
            NAMES_TOKEN ": read at %.3f s, answered at %.3f s, and the database holds no outcome",
            h->token, ledger_seconds(h->c->l, line_of(h->c->l, h->last)->read_ns),
            ledger_seconds(h->c->l, ended_ns));
}

// With full jitter any single retry may come at once, but their mean is half of the maximum. With
// 50 retries, a mean below a quarter comes by chance once in a thousand million runs.
static void judge_waits(struct result *r, const struct waits *w)
{
    const size_t enough = 50;

    // Fewer retries prove nothing and count as excused. No kind of cause says this, so CAUSE_BATCH
    // stands for it.
    judged_add(r, METRIC_EARLY_RETRY, (double)w->count,
        w->count >= enough ? CAUSE_IS_NONE : (struct cause){CAUSE_BATCH, 0});
    // The retries are what is counted here, so each of them is a finding.
    if (w->count >= enough && w->total_ns < w->most_ns / 4)
        for (size_t i = 0; i < w->count; i++)
            finding_add(r, METRIC_EARLY_RETRY,
                "%zu %s came after %.0f ms on average; full jitter would be %.0f ms", w->count,
                NOUN(w->count, "retry", "retries"), w->total_ns / (double)w->count / 1e6,
                w->most_ns / (double)w->count / 2e6);
}

// Returns how many tokens, which the collectors took from their budget earlier, may come late
// because of what happened between two times: tokens that lay unread while the reader was away, and
// tokens that the collectors had in hand when a fault began.
static double late_tokens(const struct check *c, int64_t from_ns, int64_t until_ns)
{
    const struct scenario_collector *s = &c->l->scenario->collector;
    int64_t away_ns = until_ns - from_ns - timeline_free(&c->timeline, EVERY, from_ns, until_ns).ns;
    double in_hand = 2.0 * s->batch_limit * s->instances; // the line in hand, and the next one

    return (double)check_unread_ns(c, EVERY, from_ns, until_ns) / 1e9 * c->leased.budget_per_s +
           fmin((double)away_ns / 1e9 * c->leased.budget_per_s, in_hand);
}

// Runs a token bucket with the budget's rate over the lines: each line at which it is overdrawn is
// a case. Tokens are paid for when they are taken, and may come much later. So while tokens may be
// late, the bucket may fill beyond the burst.
static void judge_budget(const struct check *c)
{
    const struct subject_log *log = c->l->log;
    const double per_s = c->leased.budget_per_s, burst = c->leased.burst;
    double left = burst, more = 0; // more: tokens that the bucket may hold beyond the burst
    int64_t at_ns = log->process_count > 0 ? log->processes[0].started_ns : 0;

    if (per_s <= 0)
        return;
    // Our own token bucket runs dry when too many tokens came in any window since it last was full.
    // The fullest window ends at a line, so looking at the lines is enough.
    for (size_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        double gained = (double)(line->read_ns - at_ns) / 1e9 * per_s;
        double late = late_tokens(c, at_ns, line->read_ns);
        // Late tokens come soon after what delayed them. So the room for them shrinks by what the
        // bucket gains in undisturbed time.
        more = fmax(more - fmax(gained - late, 0), 0) + late;
        left = fmin(left + gained, burst + more);
        at_ns = line->read_ns;
        left -= line->tokens;
        judged_add(c->r, METRIC_OVER_BUDGET, line->tokens, CAUSE_IS_NONE);
        // The reader sees a line up to slack after the collector took its tokens, so the bucket may
        // be overdrawn by what it gains in that time, and by one token.
        if (left < -1 - (double)c->r->slack_ns / 1e9 * per_s)
            finding_add(c->r, METRIC_OVER_BUDGET, "at %.3f s: %.1f more than %.4g/s allows",
                ledger_seconds(c->l, line->read_ns), -left, per_s);
    }
}

// --- all tokens -------------------------------------------------------------------

// Links the valid deliveries of each token: first[token] is the first, and next[i] the one after
// delivery i. UINT32_MAX ends a list.
static void link_up(const struct ledger *l, uint32_t *first, uint32_t *next)
{
    for (size_t i = 0; i < l->plan->token_count; i++)
        first[i] = UINT32_MAX;
    for (size_t i = l->log->delivery_count; i-- > 0;) {
        const struct delivery *d = &l->log->deliveries[i];
        // Walking backwards puts each delivery before the later ones of its token.
        next[i] = UINT32_MAX;
        if (!check_delivers(l, d))
            continue;
        next[i] = first[d->token];
        first[d->token] = (uint32_t)i;
    }
}

void check_outcomes(const struct check *c)
{
    const struct ledger *l = c->l;
    struct waits waits = {0};

    // The budget holds in every mode; all that follows needs the sender's answers.
    judge_budget(c);
    if (!c->leased.on)
        return;
    uint32_t *first FREED_BY(memory_free) = memory_allocate(l->plan->token_count * sizeof *first);
    uint32_t *next FREED_BY(memory_free) = memory_allocate(l->log->delivery_count * sizeof *next);
    link_up(l, first, next);
    c->r->values[METRIC_PENDING] = c->r->values[METRIC_REPEATED] = 0;
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        struct chain h = {.c = c, .token = token};
        for (uint32_t i = first[token]; i != UINT32_MAX; i = next[i])
            take_attempt(&h, &l->log->deliveries[i], &waits);
        if (h.last)
            judge_end(&h, first[token], next);
        // A token that was never read may have attempts all the same, such as one that expired.
        else
            check_attempts(c, token, UINT32_MAX, next);
    }
    judge_waits(c->r, &waits);
}
