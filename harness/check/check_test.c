// Each invariant on a history of its own: what must be found, that nothing else
// is, and what must not be found though it comes close.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "check/story.h"

struct story_case {
    const char *name;
    void (*tell)(struct story *s);
    const char *broken; // "metric=count …", in the order of the metrics; "" for none
    enum verdict verdict;
};

// A committed token that is delivered in time: a history that passes.
static void one_good_token(struct story *s)
{
    story_line(s, 150, story_txn(s, 50, 1), 1);
}

// --- tokens ---------------------------------------------------------------------

static void tell_good(struct story *s)
{
    one_good_token(s);
}

static void tell_lost(struct story *s)
{
    one_good_token(s);
    story_txn(s, 200, 2);
}

static void tell_lost_unknown(struct story *s)
{
    one_good_token(s);
    s->token_flags[story_txn(s, 200, 1)] = TOKEN_SETTLED;
    story_last(s)->outcome = TXN_UNKNOWN;
}

static void tell_unknown_not_there(struct story *s)
{
    one_good_token(s);
    story_txn(s, 200, 1);
    story_last(s)->outcome = TXN_UNKNOWN;
}

static void tell_named_when_torn(struct story *s)
{
    one_good_token(s);
    struct line_record *line = story_line(s, 350, story_txn(s, 250, 1), 1);
    line->state = LINE_TORN;
    line->tokens = 0;
    s->deliveries[1].flags = DELIVERY_NAMED;
}

static void tell_dead_letter(struct story *s)
{
    one_good_token(s);
    s->kinds[story_txn(s, 200, 1)] = TOKEN_SHORT_SECRET;
}

static void tell_no_dead_letter(struct story *s)
{
    one_good_token(s);
    uint32_t t = story_txn(s, 200, 1);
    s->kinds[t] = TOKEN_SHORT_SECRET;
    s->token_flags[t] = TOKEN_DEAD_LETTER; // the story then leaves it out
}

static void tell_phantom(struct story *s)
{
    one_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    story_last(s)->outcome = TXN_ROLLED_BACK;
}

static void tell_never_attempted(struct story *s)
{
    one_good_token(s);
    struct line_record *line = story_line(s, 150, 0, 1);
    s->deliveries[line->first_delivery].token = TOKEN_UNKNOWN;
}

static void tell_premature(struct story *s)
{
    one_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    story_last(s)->commit_ns += 200 * NS_PER_MS;
    story_last(s)->ended_ns += 200 * NS_PER_MS;
    // Nothing is announced before the line either: but a fault window covers it.
    story_fault(s, "terminate-backend", 340, 341);
}

static void tell_before_acknowledgement(struct story *s)
{
    one_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    story_last(s)->ended_ns += 200 * NS_PER_MS;
}

static void tell_ineligible(struct story *s)
{
    one_good_token(s);
    uint32_t t = story_txn(s, 250, 1);
    s->kinds[t] = TOKEN_SUSPENDED;
    story_line(s, 350, t, 1);
}

static void tell_passed(struct story *s)
{
    one_good_token(s);
    s->kinds[story_txn(s, 250, 1)] = TOKEN_EXPIRED;
}

static void tell_duplicated(struct story *s)
{
    one_good_token(s);
    story_line(s, 151, 0, 1);
    story_line(s, 152, 0, 1);
}

static void tell_duplicated_after_death(struct story *s)
{
    one_good_token(s);
    story_death(s, 160, true);
    story_line(s, 270, 0, 1);
}

static void tell_too_many_after_death(struct story *s)
{
    story_line(s, 150, story_txn(s, 150, 3), 3);
    story_line(s, 151, story_txn(s, 150, 3), 3);
    story_death(s, 160, true);
    story_line(s, 270, 0, 3);
    story_line(s, 271, 3, 1);
}

// One of two collectors stands still from 300 to 1300 ms; its session ends at 400.
static void tell_session_lost(struct story *s)
{
    one_good_token(s);
    s->scenario.collector.instances = 2;
    story_fault(s, "pause-collector", 300, 1300);
    story_fault(s, "terminate-backend", 400, 401);
    story_line(s, 1000, 0, 1);
}

static void tell_session_soon_back(struct story *s)
{
    tell_session_lost(s);
    s->faults[0].ended_ns -= 400 * NS_PER_MS;
}

static void tell_session_of_the_load(struct story *s)
{
    tell_session_lost(s);
    s->specs[1].target = TARGET_LOAD;
}

static void tell_session_of_the_only_one(struct story *s)
{
    tell_session_lost(s);
    s->scenario.collector.instances = 1;
}

static void tell_session_with_grace(struct story *s)
{
    static struct setting grace[] = {{"MAILROOM_GRACE", "900"}};

    tell_session_lost(s);
    s->scenario.collector.env = (struct settings){grace, 1};
}

static void tell_sessions_lost_with_server(struct story *s)
{
    s->scenario.collector.instances = 2;
    story_line(s, 50, story_txn(s, 50, 3), 3);
    story_line(s, 80, story_txn(s, 80, 3), 3);
    story_fault(s, "crash-server", 100, 700);
    story_line(s, 1000, 0, 3);
    story_line(s, 1001, 3, 3);
}

static void tell_too_many_with_server(struct story *s)
{
    tell_sessions_lost_with_server(s);
    story_line(s, 1002, 0, 1);
}

// Read at 150 ms, and again once the power is back.
static void tell_forgotten(struct story *s)
{
    one_good_token(s);
    story_fault(s, "cut-power", 300, 800);
    s->scenario.postgres.durability = DURABILITY_WAIVE;
    story_line(s, 900, 0, 1);
}

static void tell_forgotten_by_standby(struct story *s)
{
    one_good_token(s);
    story_fault(s, "promote-standby", 300, 800);
    s->scenario.postgres.standby = STANDBY_ASYNC;
    story_line(s, 900, 0, 1);
}

static void tell_forgotten_by_nobody(struct story *s)
{
    tell_forgotten(s);
    s->scenario.postgres.durability = DURABILITY_PROVE;
}

// Nothing was lost between the second and the third.
static void tell_forgotten_and_twice(struct story *s)
{
    tell_forgotten(s);
    story_line(s, 901, 0, 1);
}

static void tell_unknown_and_forgotten(struct story *s)
{
    one_good_token(s);
    story_line(s, 290, story_txn(s, 190, 1), 1);
    story_last(s)->outcome = TXN_UNKNOWN;
    story_fault(s, "cut-power", 295, 800);
    s->scenario.postgres.durability = DURABILITY_WAIVE;
}

static void tell_unknown_after_loss(struct story *s)
{
    tell_unknown_and_forgotten(s);
    s->faults[0].began_ns -= 200 * NS_PER_MS;
    s->faults[0].ended_ns -= 600 * NS_PER_MS;
}

static void tell_vanished(struct story *s)
{
    one_good_token(s);
    s->token_flags[story_txn(s, 200, 1)] = TOKEN_PRESENT; // the story then leaves it out
}

// --- lines ------------------------------------------------------------------------

static void tell_over_limit(struct story *s)
{
    story_line(s, 50, story_txn(s, 50, 4), 4);
}

static void tell_torn(struct story *s)
{
    one_good_token(s);
    struct line_record *line = story_line(s, 150, 0, 0);
    line->state = LINE_TORN;
}

static void tell_tail(struct story *s)
{
    one_good_token(s);
    struct line_record *line = story_line(s, 150, 0, 0);
    line->state = LINE_TAIL;
    story_death(s, 150, true);
}

static void tell_forged(struct story *s)
{
    one_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    s->deliveries[1].flags = DELIVERY_FORGED;
}

static void tell_fields_of_another(struct story *s)
{
    one_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    s->deliveries[1].fingerprint = 1000;
}

static void tell_out_of_order(struct story *s)
{
    uint32_t first = story_txn(s, 50, 2);
    uint32_t later = story_txn(s, 60, 1);
    story_line(s, 60, first + 1, 1);
    story_line(s, 150, later, 1);
    story_line(s, 150, first, 1);
}

static void tell_overtaken_while_open(struct story *s)
{
    uint32_t a = story_txn(s, 50, 1);
    story_last(s)->commit_ns += 20 * NS_PER_MS;
    story_last(s)->ended_ns += 20 * NS_PER_MS;
    uint32_t b = story_txn(s, 60, 1);
    story_line(s, 160, b, 1);
    story_line(s, 170, a, 1);
}

// --- time ---------------------------------------------------------------------------

static void tell_early(struct story *s)
{
    one_good_token(s);
    story_line(s, 250, story_txn(s, 200, 1), 1);
}

static void tell_barely_early(struct story *s)
{
    one_good_token(s);
    story_line(s, 500, story_txn(s, 402, 1), 1);
}

// Written twice is duplicated, and says nothing about the timeout.
static void tell_line_again(struct story *s)
{
    one_good_token(s);
    story_line(s, 300, story_txn(s, 200, 1), 1);
    story_line(s, 302, 1, 1);
    story_death(s, 400, true);
}

// 4 tokens at once: the fourth waits from its own announcement, which lies
// before the full line.
static void tell_remainder(struct story *s)
{
    one_good_token(s);
    uint32_t first = story_txn(s, 300, 4);
    story_line(s, 301, first, 3);
    story_line(s, 401, first + 3, 1);
}

// The window was opened by a token that is not eligible.
static void tell_opened_by_another(struct story *s)
{
    one_good_token(s);
    s->kinds[story_txn(s, 300, 1)] = TOKEN_EXPIRED;
    story_line(s, 400, story_txn(s, 380, 1), 1);
}

static void tell_early_in_fault(struct story *s)
{
    story_fault(s, "terminate-backend", 180, 181);
    one_good_token(s);
    story_line(s, 250, story_txn(s, 200, 1), 1);
}

static void tell_first_line(struct story *s)
{
    story_line(s, 60, story_txn(s, 50, 1), 1);
}

static void tell_late(struct story *s)
{
    one_good_token(s);
    story_line(s, 360, story_txn(s, 200, 1), 1);
}

static void tell_barely_late(struct story *s)
{
    one_good_token(s);
    story_line(s, 351, story_txn(s, 200, 1), 1);
}

static void tell_behind_horizon(struct story *s)
{
    one_good_token(s);
    uint32_t held = story_txn(s, 190, 1);
    story_last(s)->commit_ns += 200 * NS_PER_MS;
    story_last(s)->ended_ns += 200 * NS_PER_MS;
    uint32_t waits = story_txn(s, 200, 1);
    story_line(s, 490, held, 1);
    story_line(s, 495, waits, 1);
}

// Full lines one after the other: the collector does what it can.
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

static void tell_late_in_fault(struct story *s)
{
    story_fault(s, "terminate-backend", 190, 191);
    one_good_token(s);
    story_line(s, 600, story_txn(s, 200, 1), 1);
}

static void tell_stalled(struct story *s)
{
    tell_late(s);
    s->probes[0] = (struct probe_sample){
        .due_ns = story_last(s)->ended_ns, .stall_ns = 60 * NS_PER_MS, .took_ns = NS_PER_MS};
    s->ledger.probe_count = 1;
}

// --- processes ------------------------------------------------------------------------

static void tell_unplanned_exit(struct story *s)
{
    one_good_token(s);
    story_death(s, 1000, false);
}

static void tell_killed_at_the_end(struct story *s)
{
    one_good_token(s);
    s->processes[0].status = 9;
    s->processes[0].asked = false;
}

// TERM at 900 ms: the story's process goes at 1000, or when the test says.
static void tell_stopped(struct story *s)
{
    one_good_token(s);
    story_fault(s, "stop-collector", 900, 1000);
    story_death(s, 1000, true);
    s->processes[0].status = 0;
}

static void tell_crashes_at_term(struct story *s)
{
    tell_stopped(s);
    s->processes[0].status = SIGSEGV;
}

static void tell_does_not_catch_term(struct story *s)
{
    tell_stopped(s);
    s->processes[0].status = SIGTERM;
}

static void tell_lingers(struct story *s)
{
    tell_stopped(s);
    s->processes[0].ended_ns += NS_PER_S;
    s->processes[1].started_ns += NS_PER_S;
    s->faults[0].ended_ns += NS_PER_S;
}

static void tell_lingers_while_paused(struct story *s)
{
    tell_lingers(s);
    story_fault(s, "pause-collector", 950, 1900);
}

static void tell_lingers_while_nobody_looks(struct story *s)
{
    tell_lingers(s);
    s->probes[0] = (struct probe_sample){.due_ns = s->faults[0].began_ns, .stall_ns = NS_PER_S};
    s->ledger.probe_count = 1;
}

// Two times of one fault, the first of which found nobody.
static void tell_left_out(struct story *s)
{
    one_good_token(s);
    story_fault(s, "terminate-backend", 200, 201)->spec = &s->specs[1];
    story_fault(s, "terminate-backend", 300, 301);
    s->faults[0].began_ns = s->faults[0].ended_ns = 0;
    s->faults[0].left_out = true;
    story_line(s, 500, story_txn(s, 400, 1), 1);
}

static void tell_always_left_out(struct story *s)
{
    tell_left_out(s);
    s->faults[1].began_ns = s->faults[1].ended_ns = 0;
    s->faults[1].left_out = true;
}

static void tell_lingers_at_the_end(struct story *s)
{
    one_good_token(s);
    s->processes[0].ended_ns += 1100 * NS_PER_MS;
}

// A shell dies of TERM; the collector that it runs takes its time.
static void tell_lingers_behind_its_shell(struct story *s)
{
    tell_lingers_at_the_end(s);
    s->processes[0].status = 15;
}

static void tell_unrecovered(struct story *s)
{
    one_good_token(s);
    story_fault(s, "terminate-backend", 200, 210);
    story_line(s, 1400, story_txn(s, 300, 1), 1);
}

static void tell_recovered(struct story *s)
{
    one_good_token(s);
    story_fault(s, "terminate-backend", 200, 210);
    story_line(s, 900, story_txn(s, 300, 1), 1);
}

// Half a second apart over all 4 s of the load, with these growing numbers.
static void add_samples(struct story *s, uint32_t rss_kb, uint64_t cpu_ms, uint64_t wakeups)
{
    int64_t start_ns = s->processes[0].started_ns + NS_PER_S;

    for (uint32_t i = 0; i < 8; i++)
        s->samples[s->log.sample_count++] =
            (struct process_sample){.at_ns = start_ns + (int64_t)i * 500 * NS_PER_MS,
                .rss_kb = 5000 + i * rss_kb,
                .cpu_ms = i * cpu_ms,
                .wakeups = i * wakeups};
}

// Due at 350 ms, with timeout and slack, and read 60 ms after that; samples at 0 ms,
// 500 ms, …
static void tell_starved(struct story *s, uint64_t starved_us)
{
    one_good_token(s);
    story_line(s, 410, story_txn(s, 199, 1), 1);
    add_samples(s, 0, 0, 0);
    for (size_t i = 1; i < s->log.sample_count; i++)
        s->samples[i].starved_us = starved_us;
}

static void tell_starved_enough(struct story *s)
{
    tell_starved(s, 60000);
}

static void tell_starved_too_little(struct story *s)
{
    tell_starved(s, 59000);
}

// More than what is missing, but within half the slack nobody looks.
static void tell_starved_within_slack(struct story *s)
{
    one_good_token(s);
    story_line(s, 360, story_txn(s, 199, 1), 1);
    add_samples(s, 0, 0, 0);
    for (size_t i = 1; i < s->log.sample_count; i++)
        s->samples[i].starved_us = 20000;
}

static void tell_starved_before(struct story *s)
{
    tell_starved(s, 60000);
    s->samples[0].starved_us = 60000;
}

// The processor was denied to another process.
static void tell_other_starved(struct story *s)
{
    tell_starved_enough(s);
    for (size_t i = 0; i < s->log.sample_count; i++)
        s->samples[i].process = 1;
    s->processes[1] = s->processes[0];
    s->log.process_count = 2;
}

static void make_idle(struct story *s)
{
    one_good_token(s);
    s->phases[0].for_ns = NS_PER_S;
    s->phases[1].for_ns = 3 * NS_PER_S;
    s->scenario.load_count = 2;
}

static void tell_idle(struct story *s)
{
    make_idle(s);
    add_samples(s, 0, 10, 1);
}

static void tell_spinning(struct story *s)
{
    make_idle(s);
    add_samples(s, 0, 500, 0);
}

static void tell_waking(struct story *s)
{
    make_idle(s);
    add_samples(s, 0, 0, 25);
}

// The window of the fault ends at 2101 ms, in the rest.
static void tell_spinning_after_fault(struct story *s)
{
    tell_spinning(s);
    story_fault(s, "terminate-backend", 1100, 1101);
}

static void tell_busy_in_window(struct story *s)
{
    tell_spinning_after_fault(s);
    for (size_t i = 4; i < s->log.sample_count; i++)
        s->samples[i].cpu_ms = s->samples[4].cpu_ms;
}

static void tell_busy_under_load(struct story *s)
{
    one_good_token(s);
    add_samples(s, 0, 500, 1000);
}

static void tell_leak(struct story *s)
{
    one_good_token(s);
    add_samples(s, 200, 0, 0);
}

static void tell_buffer_that_grew(struct story *s)
{
    one_good_token(s);
    add_samples(s, 0, 0, 0);
    for (int i = 4; i < 8; i++)
        s->samples[i].rss_kb += 4000;
}

static void tell_cursor_behind(struct story *s)
{
    one_good_token(s);
    s->token_flags[0] = TOKEN_WAITING;
}

static void tell_cursor_behind_unconfirmed(struct story *s)
{
    one_good_token(s);
    s->token_flags[0] = TOKEN_WAITING;
    s->processes[0].status = 75 << 8;
}

// An end with another code, or by TERM itself, does not say so.
static void tell_cursor_behind_at_error(struct story *s)
{
    tell_cursor_behind(s);
    s->processes[0].status = 70 << 8;
}

static void tell_cursor_behind_at_term(struct story *s)
{
    tell_cursor_behind(s);
    s->processes[0].status = SIGTERM;
}

static void tell_cursor_behind_after_crash(struct story *s)
{
    tell_cursor_behind(s);
    s->processes[0].status = SIGABRT;
}

static void tell_buried_alive(struct story *s)
{
    one_good_token(s);
    s->token_flags[0] = TOKEN_DEAD_LETTER;
}

static void tell_buried_twice(struct story *s)
{
    tell_dead_letter(s);
    s->token_flags[s->plan.token_count - 1] = TOKEN_BURIED_AGAIN;
}

static void tell_buried_and_waiting(struct story *s)
{
    tell_dead_letter(s);
    s->token_flags[s->plan.token_count - 1] = TOKEN_WAITING;
}

static void share(struct story *s)
{
    static struct setting shared[] = {{"MAILROOM_DEQUEUE", "skip-locked"}};

    s->scenario.collector.env = (struct settings){shared, 1};
    one_good_token(s);
}

// The cursor of a queue that is shared stands still.
static void tell_shared(struct story *s)
{
    share(s);
    s->token_flags[0] = TOKEN_WAITING;
}

static void tell_no_mark(struct story *s)
{
    share(s);
    s->token_flags[0] = TOKEN_UNMARKED;
}

static void tell_no_mark_unconfirmed(struct story *s)
{
    tell_no_mark(s);
    s->processes[0].status = 75 << 8;
}

// Whoever wrote it was killed before it could set the mark.
static void tell_killed_before_mark(struct story *s)
{
    tell_no_mark(s);
    story_fault(s, "kill-collector", 151, 151);
    story_death(s, 151, true);
}

static void tell_killed_long_after(struct story *s)
{
    tell_no_mark(s);
    story_fault(s, "kill-collector", 600, 600);
    story_death(s, 600, true);
    story_line(s, 3000, story_txn(s, 2995, 3), 3);
}

// What one transaction holds, the others pass by.
static void tell_horizon_while_sharing(struct story *s)
{
    share(s);
    tell_behind_horizon(s);
}

static void tell_buried_without_mark(struct story *s)
{
    share(s);
    s->kinds[story_txn(s, 200, 1)] = TOKEN_SHORT_SECRET;
    s->token_flags[s->plan.token_count - 1] = TOKEN_UNMARKED;
}

// --- verdicts ---------------------------------------------------------------------------

static void tell_nothing(struct story *s)
{
    (void)s;
}

static void tell_only_rolled_back(struct story *s)
{
    story_txn(s, 50, 1);
    story_last(s)->outcome = TXN_ROLLED_BACK;
}

static void tell_fault_without_effect(struct story *s)
{
    one_good_token(s);
    story_fault(s, "terminate-backend", 2000, 2001)->ok = false;
}

static void tell_violated_and_inconclusive(struct story *s)
{
    tell_lost(s);
    s->load.refused = 1;
}

static void tell_still_draining(struct story *s)
{
    tell_lost(s);
    story_line(s, 9990, story_txn(s, 9989, 3), 3);
}

static void expect_metric(struct story *s, const char *metric, const char *how, double value)
{
    s->expect[0] = (struct expectation){.metric = (char *)metric, .value = value, .want = ""};
    snprintf(s->expect[0].comparison, sizeof s->expect[0].comparison, "%s", how);
    s->scenario.expect_count = 1;
}

static void tell_lost_expected_while_draining(struct story *s)
{
    tell_still_draining(s);
    expect_metric(s, "lost", "=", 0);
}

// Nothing that the drain waits for was missing any more.
static void tell_drain_ended_early(struct story *s)
{
    tell_still_draining(s);
    s->scenario.drain_ns += NS_PER_S;
}

// The last 2T + 1 s of the drain are longer than the drain.
static void tell_full_line_before_drain(struct story *s)
{
    tell_lost(s);
    s->scenario.collector.batch_timeout_ns = 5 * NS_PER_S;
    story_line(s, 3999, story_txn(s, 3998, 3), 3);
}

static void tell_full_line_in_short_drain(struct story *s)
{
    tell_full_line_before_drain(s);
    s->lines[s->log.line_count - 1].read_ns += 2 * NS_PER_MS;
}

static void tell_missed(struct story *s)
{
    one_good_token(s);
    expect_metric(s, "latency.p99", "<", 1);
}

static void tell_objective_held(struct story *s)
{
    one_good_token(s);
    expect_metric(s, "latency.p99", "<", 500);
}

static void tell_count_expectation_broken(struct story *s)
{
    one_good_token(s);
    expect_metric(s, "delivered", "=", 2);
}

static void tell_unmeasured_expectation(struct story *s)
{
    one_good_token(s);
    expect_metric(s, "recovery.max", "<", 1);
}

static void tell_missed_and_inconclusive(struct story *s)
{
    tell_missed(s);
    s->load.refused = 1;
}

static void tell_gave_up(struct story *s)
{
    one_good_token(s);
    s->input.gave_up = "three exits";
}

static void tell_last_one_ended(struct story *s, bool planned)
{
    tell_lost(s);
    s->scenario.collector.restart = false;
    story_death(s, 1000, planned);
    s->log.process_count--;
    s->input.gave_up = "the collector ended";
}

static void tell_ended_by_plan(struct story *s)
{
    tell_last_one_ended(s, true);
    s->token_flags[0] = TOKEN_WAITING; // killed before it could confirm its line
}

static void tell_ended_by_plan_with_losses_expected(struct story *s)
{
    tell_ended_by_plan(s);
    expect_metric(s, "lost", "=", 0);
}

static void tell_ended_by_itself(struct story *s)
{
    tell_last_one_ended(s, false);
}

static void allow(struct story *s, int64_t most)
{
    s->allow[0] = (struct allowance){.invariant = (char *)"lost", .most = most};
    s->scenario.allow_count = 1;
}

static void tell_allowed(struct story *s)
{
    tell_lost(s);
    allow(s, 2);
}

static void tell_more_than_allowed(struct story *s)
{
    tell_lost(s);
    allow(s, 1);
}

static const struct story_case cases[] = {
    {"good", tell_good, "", VERDICT_PASS},
    {"lost", tell_lost, "lost=2 ", VERDICT_VIOLATED},
    {"an unknown one that is there is expected", tell_lost_unknown, "lost=1 ", VERDICT_VIOLATED},
    {"an unknown one that is not there", tell_unknown_not_there, "", VERDICT_PASS},
    {"torn, not also lost", tell_named_when_torn, "torn=1 ", VERDICT_VIOLATED},
    {"dead letter", tell_dead_letter, "", VERDICT_PASS},
    {"no dead letter", tell_no_dead_letter, "lost=1 ", VERDICT_VIOLATED},
    {"phantom", tell_phantom, "phantom=1 ", VERDICT_VIOLATED},
    {"never attempted", tell_never_attempted, "phantom=1 ", VERDICT_VIOLATED},
    {"premature", tell_premature, "premature=1 ", VERDICT_VIOLATED},
    {"before the acknowledgement", tell_before_acknowledgement, "", VERDICT_PASS},
    {"ineligible", tell_ineligible, "ineligible=1 ", VERDICT_VIOLATED},
    {"passed over", tell_passed, "", VERDICT_PASS},
    {"duplicated", tell_duplicated, "duplicated=2 ", VERDICT_VIOLATED},
    {"one batch again per death", tell_duplicated_after_death, "", VERDICT_PASS},
    {"more than a batch again", tell_too_many_after_death, "duplicated=4 ", VERDICT_VIOLATED},
    {"again after a lost session", tell_session_lost, "", VERDICT_PASS},
    {"again, though soon back", tell_session_soon_back, "duplicated=1 ", VERDICT_VIOLATED},
    {"again, within a longer grace", tell_session_with_grace, "duplicated=1 ", VERDICT_VIOLATED},
    {"the load's session", tell_session_of_the_load, "duplicated=1 ", VERDICT_VIOLATED},
    {"a session of the only one", tell_session_of_the_only_one, "duplicated=1 ", VERDICT_VIOLATED},
    {"all sessions lost", tell_sessions_lost_with_server, "", VERDICT_PASS},
    {"more than all sessions", tell_too_many_with_server, "duplicated=7 ", VERDICT_VIOLATED},
    {"again after a loss of power", tell_forgotten, "", VERDICT_PASS},
    {"again after a failover", tell_forgotten_by_standby, "", VERDICT_PASS},
    {"again, though nothing is lost", tell_forgotten_by_nobody, "duplicated=1 ", VERDICT_VIOLATED},
    {"twice after a loss of power", tell_forgotten_and_twice, "duplicated=1 ", VERDICT_VIOLATED},
    {"unknown, read, and lost by the server", tell_unknown_and_forgotten, "", VERDICT_PASS},
    {"unknown, and never there", tell_unknown_after_loss, "phantom=1 ", VERDICT_VIOLATED},
    {"vanished", tell_vanished, "vanished=1 ", VERDICT_VIOLATED},
    {"over the limit", tell_over_limit, "over_limit=1 ", VERDICT_VIOLATED},
    {"torn", tell_torn, "torn=1 ", VERDICT_VIOLATED},
    {"the tail of a killed process", tell_tail, "", VERDICT_PASS},
    {"bad signature", tell_forged, "forged=1 ", VERDICT_VIOLATED},
    {"fields of another", tell_fields_of_another, "forged=1 ", VERDICT_VIOLATED},
    {"out of order", tell_out_of_order, "out_of_order=1 ", VERDICT_VIOLATED},
    {"overtaken while open", tell_overtaken_while_open, "", VERDICT_PASS},
    {"early", tell_early, "early=1 ", VERDICT_VIOLATED},
    {"barely early", tell_barely_early, "", VERDICT_PASS},
    {"the rest of a large transaction", tell_remainder, "", VERDICT_PASS},
    {"a line again", tell_line_again, "", VERDICT_PASS},
    {"a window opened by an ineligible token", tell_opened_by_another, "", VERDICT_PASS},
    {"early in a fault window", tell_early_in_fault, "", VERDICT_PASS},
    {"the first line of a process", tell_first_line, "", VERDICT_PASS},
    {"late", tell_late, "late=1 ", VERDICT_VIOLATED},
    {"barely late", tell_barely_late, "", VERDICT_PASS},
    {"behind an open transaction", tell_behind_horizon, "", VERDICT_PASS},
    {"full lines all the time", tell_busy, "", VERDICT_PASS},
    {"full lines, but slowly", tell_slow, "late=3 ", VERDICT_VIOLATED},
    {"late in a fault window", tell_late_in_fault, "", VERDICT_PASS},
    {"late while the harness stood still", tell_stalled, "", VERDICT_INCONCLUSIVE},
    {"unplanned exit", tell_unplanned_exit, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"does not end at TERM", tell_killed_at_the_end, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"ends at TERM", tell_stopped, "", VERDICT_PASS},
    {"crashes at TERM", tell_crashes_at_term, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"does not catch TERM", tell_does_not_catch_term, "", VERDICT_PASS},
    {"lingers at TERM", tell_lingers, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"lingers while it is paused", tell_lingers_while_paused, "", VERDICT_PASS},
    {"lingers while nobody looks", tell_lingers_while_nobody_looks, "", VERDICT_INCONCLUSIVE},
    {"a fault that found nobody once", tell_left_out, "", VERDICT_PASS},
    {"a fault that never found anybody", tell_always_left_out, "", VERDICT_INCONCLUSIVE},
    {"lingers at the end", tell_lingers_at_the_end, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"lingers behind its shell", tell_lingers_behind_its_shell, "unplanned_exit=1 ",
        VERDICT_VIOLATED},
    {"unrecovered", tell_unrecovered, "unrecovered=1 ", VERDICT_VIOLATED},
    {"recovered", tell_recovered, "", VERDICT_PASS},
    {"idle", tell_idle, "", VERDICT_PASS},
    {"spinning while idle", tell_spinning, "busy_idle=1 ", VERDICT_VIOLATED},
    {"waking up while idle", tell_waking, "busy_idle=1 ", VERDICT_VIOLATED},
    {"spinning after a fault in the rest", tell_spinning_after_fault, "busy_idle=1 ",
        VERDICT_VIOLATED},
    {"busy in the window of a fault in the rest", tell_busy_in_window, "", VERDICT_PASS},
    {"busy under load", tell_busy_under_load, "", VERDICT_PASS},
    {"leak", tell_leak, "leak=1 ", VERDICT_VIOLATED},
    {"a buffer that grew once", tell_buffer_that_grew, "", VERDICT_PASS},
    {"cursor behind", tell_cursor_behind, "end_state=1 ", VERDICT_VIOLATED},
    {"cursor behind, and says so", tell_cursor_behind_unconfirmed, "", VERDICT_PASS},
    {"cursor behind, exit code 70", tell_cursor_behind_at_error, "end_state=1 ", VERDICT_VIOLATED},
    {"cursor behind, TERM not caught", tell_cursor_behind_at_term, "end_state=1 ",
        VERDICT_VIOLATED},
    {"cursor behind, and crashed", tell_cursor_behind_after_crash, "unplanned_exit=1 ",
        VERDICT_VIOLATED},
    {"buried alive", tell_buried_alive, "end_state=1 ", VERDICT_VIOLATED},
    {"late, but starved", tell_starved_enough, "", VERDICT_INCONCLUSIVE},
    {"late, starved for less", tell_starved_too_little, "late=1 ", VERDICT_VIOLATED},
    {"late, starved within the slack", tell_starved_within_slack, "late=1 ", VERDICT_VIOLATED},
    {"late, starved before", tell_starved_before, "late=1 ", VERDICT_VIOLATED},
    {"late, and another starved", tell_other_starved, "late=1 ", VERDICT_VIOLATED},
    {"buried twice", tell_buried_twice, "end_state=1 ", VERDICT_VIOLATED},
    {"buried, yet not passed", tell_buried_and_waiting, "end_state=1 ", VERDICT_VIOLATED},
    {"a shared queue", tell_shared, "", VERDICT_PASS},
    {"no mark", tell_no_mark, "end_state=1 ", VERDICT_VIOLATED},
    {"no mark, and says so", tell_no_mark_unconfirmed, "", VERDICT_PASS},
    {"killed between line and mark", tell_killed_before_mark, "", VERDICT_PASS},
    {"killed long after the mark", tell_killed_long_after, "end_state=1 ", VERDICT_VIOLATED},
    {"behind an open transaction, sharing", tell_horizon_while_sharing, "late=1 ",
        VERDICT_VIOLATED},
    {"buried without a mark", tell_buried_without_mark, "end_state=1 ", VERDICT_VIOLATED},
    {"empty", tell_nothing, "", VERDICT_INCONCLUSIVE},
    {"nothing committed", tell_only_rolled_back, "", VERDICT_INCONCLUSIVE},
    {"a fault without effect", tell_fault_without_effect, "", VERDICT_INCONCLUSIVE},
    {"violated > inconclusive", tell_violated_and_inconclusive, "lost=2 ", VERDICT_VIOLATED},
    {"still draining", tell_still_draining, "", VERDICT_INCONCLUSIVE},
    {"lost = 0 while draining", tell_lost_expected_while_draining, "", VERDICT_INCONCLUSIVE},
    {"a drain that ended early", tell_drain_ended_early, "lost=2 ", VERDICT_VIOLATED},
    {"full lines before the drain", tell_full_line_before_drain, "lost=2 ", VERDICT_VIOLATED},
    {"full lines in a short drain", tell_full_line_in_short_drain, "", VERDICT_INCONCLUSIVE},
    {"missed", tell_missed, "", VERDICT_MISSED},
    {"objective held", tell_objective_held, "", VERDICT_PASS},
    {"a count that is not as expected", tell_count_expectation_broken, "", VERDICT_VIOLATED},
    {"never measured", tell_unmeasured_expectation, "", VERDICT_INCONCLUSIVE},
    {"inconclusive > missed", tell_missed_and_inconclusive, "", VERDICT_INCONCLUSIVE},
    {"a collector that cannot be kept running", tell_gave_up, "", VERDICT_VIOLATED},
    {"the plan ended the last one", tell_ended_by_plan, "", VERDICT_INCONCLUSIVE},
    {"the same, with losses to be judged", tell_ended_by_plan_with_losses_expected, "",
        VERDICT_INCONCLUSIVE},
    {"the last one ended by itself", tell_ended_by_itself, "lost=2 unplanned_exit=1 ",
        VERDICT_VIOLATED},
    {"allowed", tell_allowed, "", VERDICT_PASS},
    {"more than allowed", tell_more_than_allowed, "lost=2 ", VERDICT_VIOLATED},
};

static void list_broken(const struct result *r, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (r->broken[id])
            len += (size_t)snprintf(out + len, size - len, "%s=%llu ", metrics[id].name,
                (unsigned long long)r->findings[id].count);
    }
}

static void each_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct story s;
        char broken[256];
        story_init(&s);
        cases[i].tell(&s);
        story_judge(&s);
        list_broken(&s.result, broken, sizeof broken);
        if (strcmp(broken, cases[i].broken) != 0 || s.result.verdict != cases[i].verdict)
            fail_msg("%s: '%s' %s instead of '%s' %s; %s", cases[i].name, broken,
                verdict_name(s.result.verdict), cases[i].broken, verdict_name(cases[i].verdict),
                s.result.reasons[0]);
        story_fini(&s);
    }
}

static void each_invariant_is_convicted_alone(void **state)
{
    (void)state;
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        bool alone = !metrics[id].invariant;
        size_t len = strlen(metrics[id].name);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const char *broken = cases[i].broken;
            alone = alone || (strncmp(broken, metrics[id].name, len) == 0 && broken[len] == '=' &&
                                 strchr(broken, ' ')[1] == '\0');
        }
        if (!alone)
            fail_msg("no story breaks %s alone", metrics[id].name);
    }
}

static void slack_is_measured(void **state)
{
    static struct story s;

    (void)state;
    story_init(&s);
    one_good_token(&s);
    s.scenario.slack_ns = SLACK_AUTO;
    for (int i = 0; i < 100; i++)
        s.probes[i] = (struct probe_sample){
            .due_ns = story_last(&s)->sent_ns + i * NS_PER_MS, .took_ns = (i + 1) * NS_PER_MS / 10};
    s.ledger.probe_count = 100;
    story_judge(&s);
    assert_int_equal(s.result.slack_ns, 50 * NS_PER_MS + (int64_t)5 * 99 * NS_PER_MS / 10);
    story_fini(&s);

    story_init(&s);
    one_good_token(&s);
    s.scenario.slack_ns = SLACK_AUTO;
    story_judge(&s);
    assert_int_equal(s.result.slack_ns, 500 * NS_PER_MS); // nothing was measured
    story_fini(&s);
}

// Faults of the same kind, as they lie around the token: between, before, after it.
static void an_example_names_the_faults_around(void **state)
{
    static const struct {
        int64_t sent_ms;
        const char *faults;
    } times[] = {
        {50, "; faults: kill-collector 0.100-0.104 s"},
        {2000, "; faults: kill-collector 0.100-0.104 s, kill-collector 2.100-2.200 s"},
        {3000, "; faults: kill-collector 2.100-2.200 s"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        static struct story s;
        char expected[256];
        story_init(&s);
        story_fault(&s, "kill-collector", 100, 104);
        story_fault(&s, "kill-collector", 2100, 2200);
        story_txn(&s, times[i].sent_ms, 1);
        story_judge(&s);
        double sent_s = (double)times[i].sent_ms / 1e3;
        snprintf(expected, sizeof expected,
            "t0000000@mailproof.invalid (activation): intended at %.3f s, sent %.3f s, committed "
            "%.3f s, not delivered%s",
            sent_s, sent_s, sent_s + 0.001, times[i].faults);
        assert_string_equal(s.result.findings[METRIC_LOST].examples[0], expected);
        story_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case),
        cmocka_unit_test(each_invariant_is_convicted_alone),
        cmocka_unit_test(slack_is_measured),
        cmocka_unit_test(an_example_names_the_faults_around),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
