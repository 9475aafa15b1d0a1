// Stories of how the verdict is formed.
#include "check/stories.h"

#include <stdio.h>

#include "base/clock.h"

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
    story_good_token(s);
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

// Two tokens come every fifth of a second. That is all that a budget of 10 a second allows, and a
// quarter of a budget of 40.
static void tell_two_by_two(struct story *s, struct setting *budget)
{
    tell_lost(s);
    s->scenario.collector.env = (struct settings){budget, 1};
    for (int64_t ms = 7000; ms < 9800; ms += 200)
        story_line(s, ms + 120, story_txn(s, ms, 2), 2);
}

static void tell_budget_spent(struct story *s)
{
    static struct setting budget[] = {{"MAILROOM_BUDGET", "10/s"}};

    tell_two_by_two(s, budget);
}

static void tell_budget_left(struct story *s)
{
    static struct setting budget[] = {{"MAILROOM_BUDGET", "40/s"}};

    tell_two_by_two(s, budget);
}

// The last full line came more than 2T + 1 s before the end of the drain.
static void tell_silent_at_the_end(struct story *s)
{
    tell_lost(s);
    story_line(s, 7500, story_txn(s, 7499, 3), 3);
}

static void tell_slow_at_the_end(struct story *s)
{
    tell_silent_at_the_end(s);
    s->scenario.slack_ns = 3 * NS_PER_S;
}

// A queue of jobs promises neither a limit nor a time. One job a line came until `last_ms`.
static void tell_job_by_job(struct story *s, int64_t last_ms)
{
    s->scenario.collector.promises &= ~(PROMISE_LIMIT | PROMISE_TIMEOUT);
    tell_lost(s);
    uint32_t token = story_txn(s, 300, 20);
    for (int64_t at_ms = last_ms - INT64_C(19) * 300; at_ms <= last_ms; at_ms += 300)
        story_line(s, at_ms, token++, 1);
}

static void tell_jobs_until_the_end(struct story *s)
{
    tell_job_by_job(s, 9500);
}

static void tell_jobs_and_silence(struct story *s)
{
    tell_job_by_job(s, 8500);
}

// The slack is longer than the time since the load, which ended at 4 s.
static void tell_jobs_behind_the_load(struct story *s)
{
    tell_job_by_job(s, 6500);
    s->scenario.slack_ns = 9 * NS_PER_S;
}

// A backlog from before the fault comes out in full lines until `last_ms`. The drain is too short
// for the fresh token behind it.
static void tell_backlog_behind_fault(struct story *s, int64_t last_ms)
{
    s->scenario.slack_ns = NS_PER_S;
    story_good_token(s);
    uint32_t token = story_txn(s, 900, 36);
    story_fault(s, "reset", 1000, 1100);
    story_txn(s, 1500, 1);
    for (int64_t at_ms = 1200; at_ms <= last_ms; at_ms += 800, token += 3)
        story_line(s, at_ms, token, 3);
}

static void tell_backlog_until_the_end(struct story *s)
{
    tell_backlog_behind_fault(s, 10000);
}

static void tell_backlog_and_silence(struct story *s)
{
    tell_backlog_behind_fault(s, 4000);
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

// The drain ended early because every token that it waits for had come.
static void tell_drain_ended_early(struct story *s)
{
    tell_still_draining(s);
    s->scenario.drain_ns += NS_PER_S;
}

// The check looks at the last 2T + 1 s, which is more than the drain, and must not count the full
// line from before the drain.
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
    story_good_token(s);
    expect_metric(s, "latency.p99", "<", 1);
}

static void tell_objective_held(struct story *s)
{
    story_good_token(s);
    expect_metric(s, "latency.p99", "<", 500);
}

static void tell_count_expectation_broken(struct story *s)
{
    story_good_token(s);
    expect_metric(s, "delivered", "=", 2);
}

static void tell_unmeasured_expectation(struct story *s)
{
    story_good_token(s);
    expect_metric(s, "recovery.max", "<", 1);
}

static void tell_missed_and_inconclusive(struct story *s)
{
    tell_missed(s);
    s->load.refused = 1;
}

// The token was planned for 0 s and inserted half a second later.
static void tell_lag(struct story *s)
{
    story_line(s, 600, story_txn(s, 500, 1), 1);
    s->plan_txns[0].at_ns = 0;
}

static void tell_lag_within_slack(struct story *s)
{
    tell_lag(s);
    s->scenario.slack_ns = 3 * NS_PER_S;
}

static void tell_stall(struct story *s)
{
    story_good_token(s);
    s->load.stalls.longest_ns = 2 * NS_PER_S;
}

static void tell_stall_within_slack(struct story *s)
{
    tell_stall(s);
    s->scenario.slack_ns = 3 * NS_PER_S;
}

static void tell_gave_up(struct story *s)
{
    story_good_token(s);
    s->input.gave_up = "three exits";
}

static void tell_interrupted(struct story *s)
{
    struct fault_record *never = story_fault(s, "kill-collector", 5000, 5000);

    story_good_token(s);
    never->began_ns = never->ended_ns = 0;
    never->ok = false;
    s->ledger.load_end_ns = s->ledger.start_ns + 3 * NS_PER_S;
    s->input.interrupted = true;
}

static void tell_interrupted_and_lost(struct story *s)
{
    tell_lost(s);
    s->input.interrupted = true;
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

// A fault comes twice, and the first time it finds no target.
static void tell_left_out(struct story *s)
{
    story_good_token(s);
    story_fault(s, "terminate-backend", 200, 201)->spec = &s->specs[1];
    story_fault(s, "terminate-backend", 300, 301);
    s->faults[0].began_ns = s->faults[0].ended_ns = 0;
    s->faults[0].left_out = LEFT_OUT_NOBODY;
    story_line(s, 500, story_txn(s, 400, 1), 1);
}

// The fault that was left out may have caused the missing death.
static void tell_too_few_deaths_left_out(struct story *s)
{
    tell_left_out(s);
    expect_metric(s, "collector.deaths", ">=", 1);
}

// One fault was left out, but two deaths are missing.
static void tell_too_few_deaths(struct story *s)
{
    tell_left_out(s);
    expect_metric(s, "collector.deaths", ">=", 2);
}

static void tell_always_left_out(struct story *s)
{
    tell_left_out(s);
    s->faults[1].began_ns = s->faults[1].ended_ns = 0;
    s->faults[1].left_out = LEFT_OUT_NOBODY;
}

// Both turns of the fault were left out because another planned fault was at work, so the run is
// conclusive.
static void tell_left_out_by_another(struct story *s)
{
    tell_always_left_out(s);
    s->faults[0].left_out = s->faults[1].left_out = LEFT_OUT_BUSY;
}

static const struct story_case cases[] = {
    {"a fault that hit nobody because of another", tell_left_out_by_another, "", VERDICT_PASS},
    {"a fault that found nobody once", tell_left_out, "", VERDICT_PASS},
    {"too few deaths, and a fault was left out", tell_too_few_deaths_left_out, "",
        VERDICT_INCONCLUSIVE},
    {"too few deaths, more than were left out", tell_too_few_deaths, "", VERDICT_VIOLATED},
    {"a fault that never found anybody", tell_always_left_out, "", VERDICT_INCONCLUSIVE},
    {"empty", tell_nothing, "", VERDICT_INCONCLUSIVE},
    {"nothing committed", tell_only_rolled_back, "", VERDICT_INCONCLUSIVE},
    {"a fault without effect", tell_fault_without_effect, "", VERDICT_INCONCLUSIVE},
    {"violated > inconclusive", tell_violated_and_inconclusive, "lost=2 ", VERDICT_VIOLATED},
    {"still draining", tell_still_draining, "", VERDICT_INCONCLUSIVE},
    {"a budget that was spent until the end", tell_budget_spent, "", VERDICT_INCONCLUSIVE},
    {"a budget with something left", tell_budget_left, "lost=2 ", VERDICT_VIOLATED},
    {"drained, and silent at the end", tell_silent_at_the_end, "lost=2 ", VERDICT_VIOLATED},
    {"still draining where lines may be seconds apart", tell_slow_at_the_end, "",
        VERDICT_INCONCLUSIVE},
    {"still draining, job by job", tell_jobs_until_the_end, "", VERDICT_INCONCLUSIVE},
    {"drained job by job, and silent at the end", tell_jobs_and_silence, "lost=2 ",
        VERDICT_VIOLATED},
    {"jobs just behind the load, and silence", tell_jobs_behind_the_load, "lost=2 ",
        VERDICT_VIOLATED},
    {"lost = 0 while draining", tell_lost_expected_while_draining, "", VERDICT_INCONCLUSIVE},
    {"a backlog behind a fault until the end", tell_backlog_until_the_end, "",
        VERDICT_INCONCLUSIVE},
    {"a backlog behind a fault, and silence", tell_backlog_and_silence, "lost=25 unrecovered=1 ",
        VERDICT_VIOLATED},
    {"a drain that ended early", tell_drain_ended_early, "lost=2 ", VERDICT_VIOLATED},
    {"full lines before the drain", tell_full_line_before_drain, "lost=2 ", VERDICT_VIOLATED},
    {"full lines in a short drain", tell_full_line_in_short_drain, "", VERDICT_INCONCLUSIVE},
    {"missed", tell_missed, "", VERDICT_MISSED},
    {"objective held", tell_objective_held, "", VERDICT_PASS},
    {"a count that is not as expected", tell_count_expectation_broken, "", VERDICT_VIOLATED},
    {"never measured", tell_unmeasured_expectation, "", VERDICT_INCONCLUSIVE},
    {"inconclusive > missed", tell_missed_and_inconclusive, "", VERDICT_INCONCLUSIVE},
    {"the generator fell behind", tell_lag, "", VERDICT_INCONCLUSIVE},
    {"the generator fell behind within the slack", tell_lag_within_slack, "", VERDICT_PASS},
    {"the generator stood still", tell_stall, "", VERDICT_INCONCLUSIVE},
    {"the generator stood still within the slack", tell_stall_within_slack, "", VERDICT_PASS},
    {"a collector that cannot be kept running", tell_gave_up, "", VERDICT_VIOLATED},
    {"interrupted before a fault", tell_interrupted, "", VERDICT_INCONCLUSIVE},
    {"interrupted, and lost before", tell_interrupted_and_lost, "lost=2 ", VERDICT_VIOLATED},
    {"the plan ended the last one", tell_ended_by_plan, "", VERDICT_INCONCLUSIVE},
    {"the same, with losses to be judged", tell_ended_by_plan_with_losses_expected, "",
        VERDICT_INCONCLUSIVE},
    {"the last one ended by itself", tell_ended_by_itself, "lost=2 unplanned_exit=1 ",
        VERDICT_VIOLATED},
    {"allowed", tell_allowed, "", VERDICT_PASS},
    {"more than allowed", tell_more_than_allowed, "lost=2 ", VERDICT_VIOLATED},
};

const struct story_cases stories_verdicts = {cases, sizeof cases / sizeof *cases};
