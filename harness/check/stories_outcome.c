// Stories of leased mode: what the sender answered, what came again, and what the
// collector has recorded.
#include "check/stories.h"

#include "base/clock.h"

// At most three attempts, 200 ms apart; a second for an answer.
static void tell_leases(struct story *s)
{
    static struct setting leased[] = {{"MAILROOM_ATTEMPTS", "3"}, {"MAILROOM_RETRY_BASE", "100"},
        {"MAILROOM_RETRY_MAX", "200"}, {"MAILROOM_ANSWER_TIMEOUT", "1000"}};

    s->scenario.collector.dequeue = DEQUEUE_LEASED;
    s->scenario.collector.env = (struct settings){leased, sizeof leased / sizeof *leased};
}

// A line of these tokens, and one answer for all of them so much later.
static void tell_attempt(
    struct story *s, int64_t read_ms, uint32_t first, int count, enum reply reply, int64_t after_ms)
{
    struct line_record *line = story_line(s, read_ms, first, count);

    for (int i = 0; i < count; i++) {
        struct delivery *d = &s->deliveries[line->first_delivery + (uint32_t)i];
        d->reply = (uint8_t)reply;
        d->replied_ns = reply == REPLY_NEVER ? 0 : line->read_ns + after_ms * NS_PER_MS;
    }
}

static void tell_sent(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_SENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
}

static void tell_tried_again(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    tell_attempt(s, 300, 0, 1, REPLY_NEVER, 0);
    tell_attempt(s, 1500, 0, 1, REPLY_SENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
}

// The second attempt begins before the first was answered.
static void tell_double_leased(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_SENT, 250);
    tell_attempt(s, 200, 0, 1, REPLY_SENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
}

// Nothing stood in the way of the answer that it was sent.
static void tell_resurrected(struct story *s)
{
    tell_sent(s);
    tell_attempt(s, 400, 0, 1, REPLY_SENT, 10);
}

// The process that had the answer died with it.
static void tell_died_with_the_answer(struct story *s)
{
    tell_sent(s);
    story_death(s, 170, true);
    story_fault(s, "kill-collector", 169, 170);
    tell_attempt(s, 700, 0, 1, REPLY_SENT, 10);
}

// 51 retries, each a millisecond after its error; full jitter would be 100 ms.
static void tell_early_retries(struct story *s)
{
    tell_leases(s);
    for (int i = 0; i < 17; i++) {
        uint32_t first = story_txn(s, 50 + 100 * i, 3);
        tell_attempt(s, 60 + 100 * i, first, 3, REPLY_TRANSIENT, 10);
        tell_attempt(s, 71 + 100 * i, first, 3, REPLY_SENT, 10);
        for (uint32_t t = first; t < first + 3; t++)
            s->outcomes[t] = OUTCOME_SENT;
    }
}

// It waits in the database to be tried again, and nobody comes.
static void tell_never_retried(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    s->token_flags[0] = TOKEN_UNMARKED;
}

static void tell_given_up_soon(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    s->outcomes[0] = OUTCOME_DEAD;
}

static void tell_over_attempts(struct story *s)
{
    tell_leases(s);
    story_txn(s, 50, 1);
    for (int i = 0; i < 4; i++)
        tell_attempt(s, 150 + 150 * i, 0, 1, REPLY_TRANSIENT, 10);
    s->outcomes[0] = OUTCOME_DEAD;
}

static void tell_misrecorded(struct story *s)
{
    tell_sent(s);
    s->outcomes[0] = OUTCOME_DEAD;
}

static void tell_recorded_unsent(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_PERMANENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
}

// Answered, and without an end for all the time that was left.
static void tell_stuck(struct story *s)
{
    tell_sent(s);
    s->outcomes[0] = OUTCOME_NONE;
}

// Two full lines 50 ms apart, of 3 at once and one a second.
static void tell_over_budget(struct story *s)
{
    static struct setting budget[] = {{"MAILROOM_BUDGET", "1/s"}, {"MAILROOM_BURST", "3"}};

    s->scenario.collector.env = (struct settings){budget, 2};
    story_line(s, 60, story_txn(s, 50, 3), 3);
    story_line(s, 110, story_txn(s, 100, 3), 3);
}

static const struct story_case cases[] = {
    {"sent", tell_sent, "", VERDICT_PASS},
    {"tried again after an error and after silence", tell_tried_again, "", VERDICT_PASS},
    {"leased twice at once", tell_double_leased, "double_leased=1 ", VERDICT_VIOLATED},
    {"sent, and tried again", tell_resurrected, "resurrected=1 ", VERDICT_VIOLATED},
    {"died before the answer was recorded", tell_died_with_the_answer, "", VERDICT_PASS},
    {"retried at once", tell_early_retries, "early_retry=51 ", VERDICT_VIOLATED},
    {"failed, and forgotten", tell_never_retried, "never_retried=1 ", VERDICT_VIOLATED},
    {"tried too often", tell_over_attempts, "over_attempts=1 ", VERDICT_VIOLATED},
    {"sent, and recorded as dead", tell_misrecorded, "misrecorded=1 ", VERDICT_VIOLATED},
    {"refused, and recorded as sent", tell_recorded_unsent, "misrecorded=1 ", VERDICT_VIOLATED},
    {"failed once, and recorded as dead", tell_given_up_soon, "misrecorded=1 ", VERDICT_VIOLATED},
    {"answered, and never recorded", tell_stuck, "lost=1 ", VERDICT_VIOLATED},
    {"more than the budget", tell_over_budget, "over_budget=1 ", VERDICT_VIOLATED},
};

const struct story_cases stories_outcome = {cases, sizeof cases / sizeof *cases};
