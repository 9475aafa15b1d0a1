// Stories of the send budget, in each mode: who exceeds it, and what had to wait for it.
#include "check/stories.h"

#include "base/clock.h"

static void tell_budget(struct story *s, enum dequeue dequeue, const char *rate, const char *burst)
{
    static struct setting budget[2];

    budget[0] = (struct setting){(char *)"MAILROOM_BUDGET", (char *)rate};
    budget[1] = (struct setting){(char *)"MAILROOM_BURST", (char *)burst};
    s->scenario.collector.env = (struct settings){budget, 2};
    s->scenario.collector.dequeue = dequeue;
    if (dequeue == DEQUEUE_SHARED)
        story_second(s);
}

// In shared mode the two collectors take turns; in leased mode each token is answered at once.
static void tell_line(struct story *s, int64_t read_ms, uint32_t first, int count)
{
    struct line_record *line = story_line(s, read_ms, first, count);

    if (s->scenario.collector.dequeue == DEQUEUE_SHARED)
        story_by(s, s->log.line_count % 2);
    for (int i = 0; s->scenario.collector.dequeue == DEQUEUE_LEASED && i < count; i++) {
        struct delivery *d = &s->deliveries[line->first_delivery + (uint32_t)i];
        d->reply = REPLY_SENT;
        d->replied_ns = line->read_ns + NS_PER_MS;
        s->outcomes[d->token] = OUTCOME_SENT;
    }
}

// --- over the budget ----------------------------------------------------------------

// Two full lines 50 ms apart, with a budget of 3 at once and one a second.
static void tell_over(struct story *s, enum dequeue dequeue)
{
    tell_budget(s, dequeue, "1/s", "3");
    tell_line(s, 60, story_txn(s, 50, 3), 3);
    tell_line(s, 110, story_txn(s, 100, 3), 3);
}

static void tell_over_cursor(struct story *s)
{
    tell_over(s, DEQUEUE_CURSOR);
}

static void tell_over_shared(struct story *s)
{
    tell_over(s, DEQUEUE_SHARED);
}

static void tell_over_leased(struct story *s)
{
    tell_over(s, DEQUEUE_LEASED);
}

// Other programs may have held lines back, which then come together.
static void tell_over_in_a_crowd(struct story *s)
{
    tell_over(s, DEQUEUE_CURSOR);
    s->scenario.slack_ns = SLACK_AUTO;
    s->input.others_share = 0.9;
}

// --- waiting for the budget ---------------------------------------------------------

// Of six tokens three come at once, and then one each 100 ms.
static void tell_trickle(struct story *s, enum dequeue dequeue, const char *burst)
{
    tell_budget(s, dequeue, "10/s", burst);
    uint32_t first = story_txn(s, 50, 6);
    tell_line(s, 60, first, 3);
    for (uint32_t i = 0; i < 3; i++)
        tell_line(s, 165 + 100 * i, first + 3 + i, 1);
}

static void tell_trickle_cursor(struct story *s)
{
    tell_trickle(s, DEQUEUE_CURSOR, "3");
}

static void tell_trickle_shared(struct story *s)
{
    tell_trickle(s, DEQUEUE_SHARED, "3");
}

static void tell_trickle_leased(struct story *s)
{
    tell_trickle(s, DEQUEUE_LEASED, "3");
}

static void tell_trickle_for_nothing(struct story *s)
{
    tell_trickle(s, DEQUEUE_CURSOR, "50");
}

// The budget would have allowed the next token at 160 ms.
static void tell_asleep_too_long(struct story *s)
{
    tell_budget(s, DEQUEUE_CURSOR, "10/s", "3");
    uint32_t first = story_txn(s, 50, 6);
    tell_line(s, 60, first, 3);
    tell_line(s, 900, first + 3, 3);
}

// There is budget for two of three tokens that want to go at once, and soon for the third.
static void tell_cut(struct story *s, const char *burst)
{
    tell_budget(s, DEQUEUE_CURSOR, "1/s", burst);
    story_good_token(s);
    uint32_t first = story_txn(s, 1000, 3);
    tell_line(s, 1010, first, 2);
    tell_line(s, 1160, first + 2, 1);
}

static void tell_cut_by_the_budget(struct story *s)
{
    tell_cut(s, "3");
}

static void tell_cut_for_nothing(struct story *s)
{
    tell_cut(s, "50");
}

// A collector dies with a line that it has paid for. Its successor has to wait for the budget.
static void tell_died_after_paying(struct story *s)
{
    tell_budget(s, DEQUEUE_CURSOR, "2/s", "6");
    story_session(s, -990);
    uint32_t first = story_txn(s, 50, 6);
    tell_line(s, 60, first, 3);
    story_fault(s, "kill-collector", 100, 110);
    story_death(s, 105, true);
    story_session(s, 300);
    for (uint32_t i = 0; i < 3; i++)
        tell_line(s, 605 + 500 * i, first + 3 + i, 1);
}

// One of two gets nothing of the budget, for seconds.
static void tell_gets_no_budget(struct story *s)
{
    tell_budget(s, DEQUEUE_SHARED, "10/s", "3");
    uint32_t first = story_txn(s, 50, 43);
    story_line(s, 60, first, 3);
    story_by(s, 0);
    for (uint32_t i = 0; i < 40; i++) {
        story_line(s, 165 + 100 * i, first + 3 + i, 1);
        story_by(s, 0);
    }
}

// The fourth token is consumed before there is budget for it.
static void tell_consumed(struct story *s, const char *burst)
{
    tell_budget(s, DEQUEUE_CURSOR, "0.1/s", burst);
    uint32_t first = story_txn(s, 50, 4);
    tell_line(s, 60, first, 3);
    story_change(s, first + 3, CHANGE_CONSUME, 4000, 4001);
}

static void tell_consumed_without_budget(struct story *s)
{
    tell_consumed(s, "3");
}

static void tell_consumed_for_nothing(struct story *s)
{
    tell_consumed(s, "50");
}

// The attempt fails, and until the end there is no budget for another.
static void tell_no_budget_for_a_retry(struct story *s)
{
    tell_budget(s, DEQUEUE_LEASED, "0.01/s", "1");
    tell_line(s, 60, story_txn(s, 50, 1), 1);
    s->deliveries[0].reply = REPLY_TRANSIENT;
    s->outcomes[0] = OUTCOME_NONE;
}

static const struct story_case cases[] = {
    {"more than the budget", tell_over_cursor, "over_budget=1 ", VERDICT_VIOLATED},
    {"two share, and exceed the budget", tell_over_shared, "over_budget=1 ", VERDICT_VIOLATED},
    {"more leased than the budget", tell_over_leased, "over_budget=1 ", VERDICT_VIOLATED},
    {"more than the budget in a crowd", tell_over_in_a_crowd, "", VERDICT_INCONCLUSIVE},
    {"what the budget allows", tell_trickle_cursor, "", VERDICT_PASS},
    {"two share what the budget allows", tell_trickle_shared, "", VERDICT_PASS},
    {"leases what the budget allows", tell_trickle_leased, "", VERDICT_PASS},
    {"one by one beside a full bucket", tell_trickle_for_nothing, "late=2 ", VERDICT_VIOLATED},
    {"asleep after there is budget again", tell_asleep_too_long, "late=3 ", VERDICT_VIOLATED},
    {"a line that the budget cuts", tell_cut_by_the_budget, "", VERDICT_PASS},
    {"a line that is cut for nothing", tell_cut_for_nothing, "early=1 late=1 ", VERDICT_VIOLATED},
    {"died after it had paid", tell_died_after_paying, "", VERDICT_PASS},
    {"one of two gets no budget", tell_gets_no_budget, "", VERDICT_PASS},
    {"no budget for a retry", tell_no_budget_for_a_retry, "", VERDICT_INCONCLUSIVE},
    {"consumed without budget", tell_consumed_without_budget, "", VERDICT_PASS},
    {"consumed beside a full bucket", tell_consumed_for_nothing, "lost=1 ", VERDICT_VIOLATED},
};

const struct story_cases stories_budget = {cases, sizeof cases / sizeof *cases};
