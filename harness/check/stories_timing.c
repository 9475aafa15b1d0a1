// Stories of lines that come too early, or of tokens that come too late.
#include "check/stories.h"

#include "base/clock.h"

static void tell_early(struct story *s)
{
    story_good_token(s);
    story_line(s, 250, story_txn(s, 200, 1), 1);
}

// The announcement reached the collector late, because others kept the processors from its backend
// for 45 or 24 ms. Up to 25 ms count as the announcement's usual way.
static void tell_early_without_a_processor(struct story *s)
{
    tell_early(s);
    story_starved(s, 15, 1, 0, 1);
}

static void tell_early_with_a_processor(struct story *s)
{
    tell_early(s);
    story_starved(s, 8, 1, 0, 1);
}

// An adaptive window may fire at once, so its lines are never early. They can be late.
static void tell_adaptive_early(struct story *s)
{
    s->scenario.collector.adaptive_from_ns = 20 * NS_PER_MS;
    tell_early(s);
}

static void tell_adaptive_late(struct story *s)
{
    s->scenario.collector.adaptive_from_ns = 20 * NS_PER_MS;
    story_good_token(s);
    story_line(s, 900, story_txn(s, 200, 1), 1);
}

static void tell_barely_early(struct story *s)
{
    story_good_token(s);
    story_line(s, 500, story_txn(s, 402, 1), 1);
}

// A token written twice is duplicated. The second line says nothing about the timeout.
static void tell_line_again(struct story *s)
{
    story_good_token(s);
    story_line(s, 300, story_txn(s, 200, 1), 1);
    story_line(s, 302, 1, 1);
    story_death(s, 400, true);
}

// Four tokens come at once. The fourth waits for the timeout after its own announcement, which came
// before the full line.
static void tell_remainder(struct story *s)
{
    story_good_token(s);
    uint32_t first = story_txn(s, 300, 4);
    story_line(s, 301, first, 3);
    story_line(s, 401, first + 3, 1);
}

// The window was opened by a token that is not eligible.
static void tell_opened_by_another(struct story *s)
{
    story_good_token(s);
    s->kinds[story_txn(s, 300, 1)] = TOKEN_EXPIRED;
    story_line(s, 400, story_txn(s, 380, 1), 1);
}

static void tell_early_in_fault(struct story *s)
{
    story_fault(s, "terminate-backend", 180, 181);
    story_good_token(s);
    story_line(s, 250, story_txn(s, 200, 1), 1);
}

// A session opens 130 ms before its first line, within timeout and slack. Tokens that wait at a
// session's start may go out at once.
static void tell_first_line_of_session(struct story *s)
{
    story_session(s, -990);
    story_good_token(s);
    story_fault(s, "terminate-backend", 370, 371);
    story_session(s, 380);
    story_line(s, 510, story_txn(s, 450, 1), 1);
}

static void tell_second_line_of_session(struct story *s)
{
    tell_first_line_of_session(s);
    story_line(s, 640, story_txn(s, 590, 1), 1);
}

static void tell_first_line(struct story *s)
{
    story_line(s, 60, story_txn(s, 50, 1), 1);
}

static void tell_late(struct story *s)
{
    story_good_token(s);
    story_line(s, 360, story_txn(s, 200, 1), 1);
}

static void tell_barely_late(struct story *s)
{
    story_good_token(s);
    story_line(s, 351, story_txn(s, 200, 1), 1);
}

static void tell_behind_horizon(struct story *s)
{
    story_good_token(s);
    uint32_t held = story_txn(s, 190, 1);
    story_last(s)->commit_ns += 200 * NS_PER_MS;
    story_last(s)->ended_ns += 200 * NS_PER_MS;
    uint32_t waits = story_txn(s, 200, 1);
    story_line(s, 490, held, 1);
    story_line(s, 495, waits, 1);
}

// Full lines that follow each other show that the collector works as fast as it can.
static void tell_busy(struct story *s)
{
    uint32_t first = story_txn(s, 50, 30);
    for (int i = 0; i < 10; i++)
        story_line(s, 80 + 40 * i, first + 3 * (uint32_t)i, 3);
}

static void tell_slow(struct story *s)
{
    uint32_t first = story_txn(s, 50, 9);
    for (int i = 0; i < 3; i++)
        story_line(s, 120 + 60 * i, first + 3 * (uint32_t)i, 3);
}

// Three tokens every 60 ms, which is the capacity that the scenario names.
static void tell_slow_as_said(struct story *s)
{
    tell_slow(s);
    s->scenario.collector.capacity = 50;
}

static void tell_late_in_fault(struct story *s)
{
    story_fault(s, "terminate-backend", 190, 191);
    story_good_token(s);
    story_line(s, 600, story_txn(s, 200, 1), 1);
}

static void tell_stalled(struct story *s)
{
    tell_late(s);
    s->probes[0] = (struct probe_sample){
        .due_ns = story_last(s)->ended_ns, .stall_ns = 60 * NS_PER_MS, .took_ns = NS_PER_MS};
    s->ledger.probe_count = 1;
}

// The server is back and the collector has its session, so the token is due at 381 ms. The probe
// connects at `probe_connected_ms`.
static void tell_late_at_new_server(struct story *s, int64_t probe_connected_ms)
{
    int64_t start_ns;

    story_session(s, -990);
    story_good_token(s);
    start_ns = story_last(s)->ended_ns - 51 * NS_PER_MS;
    story_fault(s, "kill-server", 190, 200);
    story_session(s, 210);
    story_line(s, 640, story_txn(s, 230, 1), 1);
    s->probes[0] = (struct probe_sample){.due_ns = start_ns + 150 * NS_PER_MS,
        .stall_ns = (probe_connected_ms - 150) * NS_PER_MS,
        .took_ns = CLOCK_NEVER};
    s->ledger.probe_count = 1;
}

static void tell_new_server_slow(struct story *s)
{
    tell_late_at_new_server(s, 550);
}

// The probe waited for the server no longer than the collector did, so it excuses nothing.
static void tell_new_server_there(struct story *s)
{
    tell_late_at_new_server(s, 209);
}

// The probe connects at once, but another client's transaction takes 300 ms.
static void tell_new_server_cold(struct story *s)
{
    tell_late_at_new_server(s, 209);
    story_txn(s, 240, 1);
    story_last(s)->commit_ns += 299 * NS_PER_MS;
    story_last(s)->ended_ns += 299 * NS_PER_MS;
    story_line(s, 660, (uint32_t)s->plan.token_count - 1, 1);
}

// One of two tokens is judged, which is enough by default and too little for `judged: {late: 60%}`.
static void tell_too_little(struct story *s)
{
    static char late[] = "late";

    tell_stalled(s);
    s->judged[0] = (struct judged_least){late, 0.6};
    s->scenario.judged_count = 1;
}

static void tell_just_enough(struct story *s)
{
    tell_too_little(s);
    s->judged[0].share = 0.5;
}

static void tell_not_promised(struct story *s)
{
    tell_late(s);
    s->scenario.collector.promises &= ~PROMISE_TIMEOUT;
}

// Collectors share the queue and write full lines all the time. The token of 100 ms comes last.
static void tell_held_back(struct story *s, int64_t every_ms)
{
    story_share(s);
    uint32_t held = story_txn(s, 100, 1);
    for (int64_t ms = 110; ms < 2000; ms += every_ms)
        story_line(s, ms + 30, story_txn(s, ms, 3), 3);
    story_line(s, 2040, held, 1);
}

static void tell_overtaken(struct story *s)
{
    tell_held_back(s, 40);
}

// The token that comes last is no older than the other tokens of its backlog.
static void tell_behind_its_like(struct story *s)
{
    story_share(s);
    uint32_t first = story_txn(s, 100, 121);
    for (uint32_t i = 0; i < 40; i++)
        story_line(s, 140 + 40 * i, first + 1 + 3 * i, 3);
    story_line(s, 140 + 40 * 40, first, 1);
}

static void tell_waits_for_nobody(struct story *s)
{
    tell_behind_horizon(s);
    s->scenario.collector.promises &= ~PROMISE_WAITS_FOR_WRITERS;
}

static const struct story_case cases[] = {
    {"early", tell_early, "early=1 ", VERDICT_VIOLATED},
    {"early without a processor", tell_early_without_a_processor, "", VERDICT_PASS},
    {"early with a processor", tell_early_with_a_processor, "early=1 ", VERDICT_VIOLATED},
    {"at once, by an adaptive window", tell_adaptive_early, "", VERDICT_PASS},
    {"late, by an adaptive window", tell_adaptive_late, "late=1 ", VERDICT_VIOLATED},
    {"barely early", tell_barely_early, "", VERDICT_PASS},
    {"the rest of a large transaction", tell_remainder, "", VERDICT_PASS},
    {"a line again", tell_line_again, "duplicated=1 ", VERDICT_VIOLATED},
    {"a window opened by an ineligible token", tell_opened_by_another, "", VERDICT_PASS},
    {"early in a fault window", tell_early_in_fault, "", VERDICT_PASS},
    {"the first line of a process", tell_first_line, "", VERDICT_PASS},
    {"the first line of a session", tell_first_line_of_session, "", VERDICT_PASS},
    {"the second line of a session, early", tell_second_line_of_session, "early=1 ",
        VERDICT_VIOLATED},
    {"late", tell_late, "late=1 ", VERDICT_VIOLATED},
    {"barely late", tell_barely_late, "", VERDICT_PASS},
    {"behind an open transaction", tell_behind_horizon, "", VERDICT_PASS},
    {"full lines all the time", tell_busy, "", VERDICT_PASS},
    {"full lines, but slowly", tell_slow, "late=3 ", VERDICT_VIOLATED},
    {"full lines, as slowly as it said", tell_slow_as_said, "", VERDICT_PASS},
    {"late in a fault window", tell_late_in_fault, "", VERDICT_PASS},
    {"late while the harness stood still", tell_stalled, "", VERDICT_PASS},
    {"late while nobody could connect to the new server", tell_new_server_slow, "", VERDICT_PASS},
    {"late at a server that is slow for others, too", tell_new_server_cold, "", VERDICT_PASS},
    {"late, though others could connect", tell_new_server_there, "late=1 ", VERDICT_VIOLATED},
    {"too little judged", tell_too_little, "", VERDICT_INCONCLUSIVE},
    {"just enough judged", tell_just_enough, "", VERDICT_PASS},
    {"late, and not promised", tell_not_promised, "", VERDICT_PASS},
    {"behind an open transaction, for which it promises not to wait", tell_waits_for_nobody,
        "late=1 ", VERDICT_VIOLATED},
    {"held back, and overtaken by full lines", tell_overtaken, "late=1 ", VERDICT_VIOLATED},
    {"the last of many that are as old", tell_behind_its_like, "", VERDICT_PASS},
};

const struct story_cases stories_timing = {cases, sizeof cases / sizeof *cases};
