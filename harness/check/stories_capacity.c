// Stories of the rate that a subject can sustain, and of the backlog that a fault leaves.
#include "check/stories.h"

#include "base/clock.h"

// 20 tokens a second come for 4 s. The scenario says that the collector sustains 30 a second. It
// writes `per_s` at most.
static void tell_rate(struct story *s, double per_s)
{
    s->scenario.collector.capacity = 30;
    s->scenario.collector.batch_limit = 1;
    s->phases[0].rate_from = s->phases[0].rate_to = 20;
    for (uint32_t i = 0; i < 80; i++) {
        int64_t due_ms = 60 + 50 * i, busy_ms = 60 + (int64_t)(i * 1000 / per_s);
        story_txn(s, 50 + 50 * i, 1);
        story_line(s, due_ms > busy_ms ? due_ms : busy_ms, i, 1);
    }
}

static void tell_keeps_up(struct story *s)
{
    tell_rate(s, 30);
}

// The collector sustains 10 a second. Its full lines follow each other without a gap, so no token
// is late by itself.
static void tell_falls_behind(struct story *s)
{
    tell_rate(s, 10);
    s->scenario.slack_ns = 110 * NS_PER_MS;
}

static void tell_falls_behind_with(struct story *s, const char *budget)
{
    static struct setting env[1];

    tell_falls_behind(s);
    env[0] = (struct setting){(char *)"MAILROOM_BUDGET", (char *)budget};
    s->scenario.collector.env = (struct settings){env, 1};
}

static void tell_falls_behind_by_budget(struct story *s)
{
    tell_falls_behind_with(s, "10/s");
}

static void tell_falls_behind_within_budget(struct story *s)
{
    tell_falls_behind_with(s, "40/s");
}

// A fault of 2 s. Afterwards each token that waits takes `each_ms`. From `many_ms` on, ten times as
// many come.
static void tell_left_over(struct story *s, int64_t each_ms, int64_t many_ms)
{
    int64_t at_ms = 50;

    s->scenario.collector.capacity = 60;
    s->scenario.collector.batch_limit = 1;
    s->scenario.slack_ns = 100 * NS_PER_MS;
    s->phases[0].rate_from = s->phases[0].rate_to = 20;
    story_session(s, -990);
    story_fault(s, "pause-server", 100, 2100);
    int64_t free_ms = 2110;
    for (uint32_t i = 0; at_ms <= 4000 && i < 160; i++) {
        int64_t due_ms = at_ms + 10;
        story_txn(s, at_ms, 1);
        at_ms += at_ms < many_ms ? 50 : 5;
        if (due_ms > 100) {
            due_ms = due_ms > free_ms ? due_ms : free_ms;
            free_ms = due_ms + each_ms;
        }
        story_line(s, due_ms, i, 1);
    }
}

static void tell_makes_up(struct story *s)
{
    tell_left_over(s, 33, 4000);
}

static void tell_leaves_it(struct story *s)
{
    tell_left_over(s, 98, 4000);
}

// The many come in a phase of their own: 200 a second, or a closed loop.
static void tell_overload(struct story *s, int64_t from_ms, bool closed)
{
    tell_left_over(s, 33, 2200);
    s->scenario.load_count = 2;
    s->phases[1] = s->phases[0];
    s->phases[0].for_ns = from_ms * NS_PER_MS;
    s->phases[1].for_ns -= s->phases[0].for_ns;
    s->phases[1].rate_from = s->phases[1].rate_to = closed ? 0 : 200;
    s->phases[1].closed = closed;
}

static void tell_overload_after(struct story *s)
{
    tell_overload(s, 2200, false);
}

static void tell_closed_after(struct story *s)
{
    tell_overload(s, 2000, true);
}

static const struct story_case cases[] = {
    {"keeps up", tell_keeps_up, "", VERDICT_PASS},
    {"falls behind", tell_falls_behind, "falls_behind=1 ", VERDICT_VIOLATED},
    {"the budget lets it fall behind", tell_falls_behind_by_budget, "", VERDICT_PASS},
    {"falls behind within its budget", tell_falls_behind_within_budget, "falls_behind=1 ",
        VERDICT_VIOLATED},
    {"makes up for a fault", tell_makes_up, "", VERDICT_PASS},
    {"leaves what a fault left", tell_leaves_it, "falls_behind=1 ", VERDICT_VIOLATED},
    {"too much comes just behind a fault", tell_overload_after, "", VERDICT_PASS},
    {"a closed loop behind a fault", tell_closed_after, "", VERDICT_PASS},
};

const struct story_cases stories_capacity = {cases, sizeof cases / sizeof *cases};
