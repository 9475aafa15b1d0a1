// Stories of collectors that share the work: one leaves it to another, or is killed with a batch.
#include "check/stories.h"

#include "base/clock.h"

// --- leaving the work to others -----------------------------------------------------

// 120 tokens at once, in a line each 90 ms: the first collector writes all lines, or every second
// one.
static void tell_sharing(struct story *s, bool both)
{
    story_second(s);
    s->scenario.collector.dequeue = DEQUEUE_SHARED;
    s->scenario.collector.capacity = 30;
    uint32_t first = story_txn(s, 50, 120);
    for (uint32_t i = 0; i < 40; i++) {
        story_line(s, 80 + 90 * i, first + 3 * i, 3);
        story_by(s, both ? i % 2 : 0);
    }
}

static void tell_shares(struct story *s)
{
    tell_sharing(s, true);
}

static void tell_one_idles(struct story *s)
{
    tell_sharing(s, false);
}

// The second collector has a processor for a fifth of the time.
static void tell_one_starves(struct story *s)
{
    tell_sharing(s, false);
    story_samples(s, 0, 0, 0);
    for (size_t i = 0; i < s->log.sample_count; i++) {
        s->samples[i].process = 1;
        s->samples[i].starved_us = 400000 * i;
    }
}

static void tell_one_is_paused(struct story *s)
{
    tell_sharing(s, false);
    story_session(s, -990);
    story_fault(s, "pause-collector", 60, 3900);
    s->specs[0].instance = 1;
}

// 60 tokens come at once, and the second collector delivers one each 100 ms. The first has written
// one line, or three.
static void tell_one_waits(struct story *s, enum dequeue dequeue, int lines)
{
    s->scenario.collector.dequeue = dequeue;
    s->scenario.collector.capacity = 10;
    story_second(s);
    story_txn(s, 50, 60);
    for (uint32_t i = 0; i < 60; i++) {
        struct line_record *line = story_line(s, 60 + 100 * i, i, 1);
        struct delivery *d = &s->deliveries[line->first_delivery];
        if (i < (uint32_t)lines)
            story_by(s, 0);
        d->reply = REPLY_SENT;
        d->replied_ns = line->read_ns + (i < (uint32_t)lines ? 5 * NS_PER_S : NS_PER_MS);
        s->outcomes[i] = dequeue == DEQUEUE_LEASED ? OUTCOME_SENT : OUTCOME_NONE;
    }
    s->scenario.collector.batch_limit = 1;
}

// The second one takes every token that the budget allows.
static void tell_shares_a_budget(struct story *s)
{
    static struct setting budget[] = {{"MAILROOM_BUDGET", "10/s"}, {"MAILROOM_BURST", "3"}};

    s->scenario.collector.env = (struct settings){budget, 2};
    tell_one_waits(s, DEQUEUE_SHARED, 1);
}

static void tell_leaves_work(struct story *s)
{
    tell_one_waits(s, DEQUEUE_SHARED, 1);
}

// It may have three lines without an answer.
static void tell_awaits_answers(struct story *s)
{
    static struct setting flight[] = {{"MAILROOM_IN_FLIGHT", "3"}};

    s->scenario.collector.env = (struct settings){flight, 1};
    tell_one_waits(s, DEQUEUE_LEASED, 3);
}

static void tell_could_lease_more(struct story *s)
{
    tell_awaits_answers(s);
    for (int i = 0; i < 3; i++)
        s->deliveries[i].replied_ns = s->lines[i].read_ns + NS_PER_MS;
}

// --- what a killed one has taken ----------------------------------------------------

// Three tokens come each 10 ms, and two collectors write a line of three each 20 ms, so the tokens
// wait for up to a second. The second collector is killed at 650 ms, while it has the batch of
// 300 ms, which is read at `read_ms`. By 1110 ms others have overtaken it.
static void tell_batch_of_killed(struct story *s, bool killed, int64_t read_ms)
{
    const uint32_t batches = 100, taken = 30;
    uint32_t first[100];

    story_session(s, -990);
    story_second(s);
    s->scenario.collector.dequeue = DEQUEUE_SHARED;
    for (uint32_t i = 0; i < batches; i++)
        first[i] = story_txn(s, 10 * (int64_t)i, 3);
    for (uint32_t i = 0; i < batches; i++) {
        int64_t at_ms = 80 + 20 * (int64_t)i;
        if (i > taken && at_ms - 20 < read_ms && read_ms < at_ms) {
            story_line(s, read_ms, first[taken], 3);
            story_by(s, 0);
        }
        if (i == taken)
            continue;
        story_line(s, at_ms, first[i], 3);
        story_by(s, at_ms < 650 ? i % 2 : 0);
    }
    if (read_ms > 80 + 20 * (int64_t)batches) {
        story_line(s, read_ms, first[taken], 3);
        story_by(s, 0);
    }
    if (!killed)
        return;
    story_fault(s, "kill-collector", 650, 651);
    s->specs[0].instance = 1;
    s->specs[0].for_ns = FOR_REST;
    s->processes[1].ended_ns = s->faults[0].ended_ns;
    s->processes[1].status = 9;
}

static void tell_killed_in_backlog(struct story *s)
{
    tell_batch_of_killed(s, true, 1110);
}

// Nothing was killed, so nobody had a reason to leave the batch behind.
static void tell_left_in_backlog(struct story *s)
{
    tell_batch_of_killed(s, false, 1110);
}

// The backlog has ended long before the batch of the killed one comes.
static void tell_killed_and_left(struct story *s)
{
    tell_batch_of_killed(s, true, 4500);
}

// The only collector is killed at 400 ms, while it has a full batch. Its next process is another
// collector, and waits for the grace before it writes that batch.
static void tell_batch_of_only_one(struct story *s, enum dequeue dequeue, int64_t read_ms)
{
    story_session(s, -990);
    s->scenario.collector.dequeue = dequeue;
    uint32_t first = story_txn(s, 380, 3);
    story_fault(s, "kill-collector", 400, 401);
    story_death(s, 401, true);
    story_session(s, 520);
    uint32_t later = story_txn(s, 600, 3);
    story_line(s, 620, later, 3);
    story_line(s, read_ms, first, 3);
}

static void tell_only_one_after_grace(struct story *s)
{
    tell_batch_of_only_one(s, DEQUEUE_SHARED, 1030);
}

static void tell_only_one_long_after(struct story *s)
{
    tell_batch_of_only_one(s, DEQUEUE_SHARED, 3000);
}

// In cursor mode there is nothing to wait for.
static void tell_only_one_by_cursor(struct story *s)
{
    tell_batch_of_only_one(s, DEQUEUE_CURSOR, 1030);
}

// The second is killed at 400 ms with a batch of a backlog. The first writes a short line, and then
// that batch, and both are read when the pause of its reader is over.
static void tell_batch_of_killed_unread(struct story *s)
{
    story_session(s, -990);
    story_second(s);
    s->scenario.collector.dequeue = DEQUEUE_SHARED;
    story_txn(s, 50, 32);
    for (uint32_t i = 0; i < 9; i++) {
        story_line(s, 60 + 40 * i, 3 * i, 3);
        story_by(s, i % 2);
    }
    story_fault(s, "kill-collector", 400, 401);
    s->specs[0].instance = 1;
    story_death(s, 401, true);
    story_session(s, 520);
    story_fault(s, "pause-reader", 410, 2100);
    s->specs[1].instance = 0;
    story_line(s, 2101, 30, 2);
    story_by(s, 0);
    story_line(s, 2101, 27, 3);
    story_by(s, 0);
}

static const struct story_case cases[] = {
    {"two share", tell_shares, "", VERDICT_PASS},
    {"one of two idles", tell_one_idles, "idle_instance=1 ", VERDICT_VIOLATED},
    {"one of two starves", tell_one_starves, "", VERDICT_PASS},
    {"one of two leaves work to the other", tell_leaves_work, "idle_instance=1 ", VERDICT_VIOLATED},
    {"one of two gets nothing of the budget", tell_shares_a_budget, "", VERDICT_PASS},
    {"one of two awaits answers", tell_awaits_answers, "", VERDICT_PASS},
    {"one of two could lease more", tell_could_lease_more, "idle_instance=1 ", VERDICT_VIOLATED},
    {"one of two is paused", tell_one_is_paused, "", VERDICT_PASS},
    {"delivers a killed one's batch in a backlog", tell_killed_in_backlog, "", VERDICT_PASS},
    {"leaves a batch behind in a backlog", tell_left_in_backlog, "late=3 ", VERDICT_VIOLATED},
    {"a killed one's batch lies unread", tell_batch_of_killed_unread, "", VERDICT_PASS},
    {"the only one leaves a batch until the grace is over", tell_only_one_after_grace, "",
        VERDICT_PASS},
    {"the only one leaves a batch for long", tell_only_one_long_after, "late=3 ", VERDICT_VIOLATED},
    {"the only one leaves a batch behind its cursor", tell_only_one_by_cursor,
        "late=3 out_of_order=3 ", VERDICT_VIOLATED},
    {"leaves a killed one's batch behind", tell_killed_and_left, "late=3 ", VERDICT_VIOLATED},
};

const struct story_cases stories_sharing = {cases, sizeof cases / sizeof *cases};
