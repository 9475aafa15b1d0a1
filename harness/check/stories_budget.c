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

// A line each 100 ms. The ten that come after 600 ms are read together at 1551 ms. The reader was
// paused from `paused_ms` on.
static void tell_read_together(struct story *s, int64_t paused_ms)
{
    tell_budget(s, DEQUEUE_CURSOR, "10/s", "3");
    story_session(s, -990);
    story_fault(s, "pause-reader", paused_ms, 1550);
    for (int i = 0; i < 30; i++) {
        int64_t at_ms = 100 + 100 * i;
        bool unread = at_ms >= 550 && at_ms < 1550;
        tell_line(s, unread ? 1551 : at_ms + 101, story_txn(s, at_ms, 1), 1);
    }
}

static void tell_unread(struct story *s)
{
    tell_read_together(s, 650);
}

// Two share the budget, and write a line each 100 ms in turns. The reader of the second is paused
// from `paused_ms` on.
static void tell_one_unread(struct story *s, int64_t paused_ms)
{
    tell_budget(s, DEQUEUE_SHARED, "10/s", "3");
    story_session(s, -990);
    story_fault(s, "pause-reader", paused_ms, 2550);
    s->specs[0].instance = 1;
    for (int unread = 0; unread < 2; unread++) {
        for (int i = unread; i < 24; i += 2) {
            uint32_t token = story_txn(s, 100 + 100 * i, 1);
            bool waits = unread && 200 + 100 * i > paused_ms;
            story_line(s, waits ? 2551 : 201 + 100 * i, token, 1);
            story_by(s, (uint32_t)unread);
        }
    }
}

static void tell_other_unread(struct story *s)
{
    tell_one_unread(s, 250);
}

// Nobody reads a line before 2551 ms.
static void tell_all_unread(struct story *s)
{
    tell_budget(s, DEQUEUE_CURSOR, "10/s", "3");
    story_session(s, -990);
    story_fault(s, "pause-reader", 50, 2550);
    for (int i = 0; i < 24; i++)
        tell_line(s, 2551, story_txn(s, 100 + 100 * i, 1), 1);
}

// The collector is paused with a full line in hand, and writes it when it goes on. The budget has
// been filled again meanwhile, if the pause was long enough.
static void tell_in_hand(struct story *s, int64_t paused_ms)
{
    tell_budget(s, DEQUEUE_CURSOR, "5/s", "3");
    story_session(s, -990);
    story_fault(s, "pause-collector", paused_ms, 1500);
    tell_line(s, 1510, story_txn(s, 400, 3), 3);
    tell_line(s, 1530, story_txn(s, 1400, 3), 3);
}

static void tell_paid_before_the_pause(struct story *s)
{
    tell_in_hand(s, 450);
}

static void tell_never_paid(struct story *s)
{
    tell_in_hand(s, 1350);
}

// The pause explains two of the ten lines.
static void tell_over_behind_pause(struct story *s)
{
    tell_read_together(s, 1350);
}

// --- waiting for the budget ---------------------------------------------------------

// Fifteen tokens wait. Three of them come at once, and then one each 100 ms. That is all that a
// budget of 10 a second allows, and a quarter of a budget of 40.
static void tell_trickle(struct story *s, enum dequeue dequeue, const char *rate)
{
    tell_budget(s, dequeue, rate, "3");
    uint32_t first = story_txn(s, 50, 15);
    tell_line(s, 60, first, 3);
    for (uint32_t i = 0; i < 12; i++)
        tell_line(s, 165 + 100 * i, first + 3 + i, 1);
}

static void tell_trickle_cursor(struct story *s)
{
    tell_trickle(s, DEQUEUE_CURSOR, "10/s");
}

static void tell_trickle_shared(struct story *s)
{
    tell_trickle(s, DEQUEUE_SHARED, "10/s");
}

static void tell_trickle_leased(struct story *s)
{
    tell_trickle(s, DEQUEUE_LEASED, "10/s");
}

static void tell_trickle_for_nothing(struct story *s)
{
    tell_trickle(s, DEQUEUE_SHARED, "40/s");
}

// The last five of the fifteen are written while nobody reads.
static void tell_trickle_unread(struct story *s)
{
    tell_trickle(s, DEQUEUE_CURSOR, "10/s");
    story_session(s, -990);
    story_fault(s, "pause-reader", 850, 2500);
    for (size_t i = s->log.line_count - 5; i < s->log.line_count; i++)
        s->lines[i].read_ns = s->faults[0].ended_ns + NS_PER_MS;
}

// A full line leaves one token of a burst of four, or most of a burst of forty. The next batch is
// full as well, but its line is cut after one token, and the others wait.
static void tell_cut(struct story *s, const char *burst)
{
    tell_budget(s, DEQUEUE_CURSOR, "10/s", burst);
    tell_line(s, 120, story_txn(s, 10, 1), 1);
    uint32_t first = story_txn(s, 1500, 3);
    tell_line(s, 1505, first, 3);
    first = story_txn(s, 1520, 3);
    tell_line(s, 1525, first, 1);
    tell_line(s, 1620, first + 1, 2);
}

static void tell_cut_by_budget(struct story *s)
{
    tell_cut(s, "4");
}

static void tell_cut_for_nothing(struct story *s)
{
    tell_cut(s, "40");
}

static const struct story_case cases[] = {
    {"more than the budget", tell_over_cursor, "over_budget=1 ", VERDICT_VIOLATED},
    {"two share, and exceed the budget", tell_over_shared, "over_budget=1 ", VERDICT_VIOLATED},
    {"more leased than the budget", tell_over_leased, "over_budget=1 ", VERDICT_VIOLATED},
    {"more than the budget in a crowd", tell_over_in_a_crowd, "", VERDICT_INCONCLUSIVE},
    {"lines that were read together", tell_unread, "", VERDICT_PASS},
    {"lines of one of two, read together", tell_other_unread, "", VERDICT_PASS},
    {"all lines, read together", tell_all_unread, "", VERDICT_PASS},
    {"paid for before a pause", tell_paid_before_the_pause, "", VERDICT_PASS},
    {"paid for by no pause", tell_never_paid, "late=3 over_budget=1 ", VERDICT_VIOLATED},
    {"lines that came together", tell_over_behind_pause, "late=6 over_budget=17 ",
        VERDICT_VIOLATED},
    {"what the budget allows", tell_trickle_cursor, "", VERDICT_PASS},
    {"what the budget allows, read late", tell_trickle_unread, "", VERDICT_PASS},
    {"two share what the budget allows", tell_trickle_shared, "", VERDICT_PASS},
    {"leases what the budget allows", tell_trickle_leased, "", VERDICT_PASS},
    {"a line that the budget cut", tell_cut_by_budget, "", VERDICT_PASS},
    {"a cut line, with budget left", tell_cut_for_nothing, "early=1 ", VERDICT_VIOLATED},
    {"two share, with budget left", tell_trickle_for_nothing, "late=11 ", VERDICT_VIOLATED},
};

const struct story_cases stories_budget = {cases, sizeof cases / sizeof *cases};
