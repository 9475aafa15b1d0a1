// Stories of exits and of recovery.
#include "check/stories.h"

#include <signal.h>

#include "base/clock.h"

static void tell_unplanned_exit(struct story *s)
{
    story_good_token(s);
    story_death(s, 1000, false);
}

static void tell_killed_at_the_end(struct story *s)
{
    story_good_token(s);
    s->processes[0].status = 9;
    s->processes[0].asked = false;
}

// TERM comes at 900 ms. The process ends at 1000 ms, or when the test says.
static void tell_stopped(struct story *s)
{
    story_good_token(s);
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

// 70 says that something inside of the collector failed.
static void tell_fails_at_term(struct story *s)
{
    tell_stopped(s);
    s->processes[0].status = 70 << 8;
}

static void tell_fails_at_the_end(struct story *s)
{
    story_good_token(s);
    s->processes[0].status = 1 << 8;
}

// A shell tells the signal that ended its program.
static void tell_shell_dies_of_term(struct story *s)
{
    tell_stopped(s);
    s->processes[0].status = (128 + SIGTERM) << 8;
}

static void tell_leaves_its_last_line(struct story *s)
{
    tell_stopped(s);
    s->processes[0].status = 75 << 8;
}

// While it ends, the server goes away.
static void tell_fails_without_its_server(struct story *s)
{
    tell_fails_at_term(s);
    story_fault(s, "crash-server", 950, 1100);
}

static void tell_fails_without_its_reader(struct story *s)
{
    tell_stopped(s);
    story_fault(s, "close-reader", 800, 810);
    s->processes[0].status = 74 << 8;
}

static void tell_queue_fails_at_term(struct story *s)
{
    static char queue[] = "queue";

    tell_fails_at_term(s);
    s->scenario.collector.subject = queue;
    s->scenario.collector.layout = LAYOUT_FOREIGN;
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

static void tell_lingers_at_the_end(struct story *s)
{
    story_good_token(s);
    s->processes[0].ended_ns += 1100 * NS_PER_MS;
}

// The shell dies of TERM, and the collector that it started goes on for a while.
static void tell_lingers_behind_its_shell(struct story *s)
{
    tell_lingers_at_the_end(s);
    s->processes[0].status = 15;
}

static void tell_unrecovered(struct story *s)
{
    story_good_token(s);
    story_fault(s, "terminate-backend", 200, 210);
    story_line(s, 1400, story_txn(s, 300, 1), 1);
}

// The first fresh token comes 90 ms too late. Before it, others kept the processors from the
// collector for 110 ms, or for 66 ms, which is too little to explain it.
static void tell_recovers_late_without_processor(struct story *s)
{
    tell_unrecovered(s);
    story_starved(s, 5, 1, 0, 1);
}

static void tell_recovers_late_with_processor(struct story *s)
{
    tell_unrecovered(s);
    story_starved(s, 3, 1, 0, 1);
}

// The reader stood still when the first fresh token was written, or at an earlier time.
static void tell_recovers_in_a_stall(struct story *s, int64_t from_ms)
{
    static struct stall stall;
    static struct stalls stalls = {.kept = &stall, .kept_count = 1};

    tell_unrecovered(s);
    stall.from_ns = s->faults[0].ended_ns + (from_ms - 210) * NS_PER_MS;
    stall.until_ns = stall.from_ns + 100 * NS_PER_MS;
    s->input.reader_stalls = &stalls;
}

static void tell_recovers_unread(struct story *s)
{
    tell_recovers_in_a_stall(s, 1300);
}

static void tell_recovers_after_stall(struct story *s)
{
    tell_recovers_in_a_stall(s, 150);
}

// A backlog comes out behind the fault, two tokens a fifth of a second. That is all that a budget
// of 10 a second allows, and a quarter of a budget of 40. The fresh token is behind the backlog.
static void tell_backlog_two_by_two(struct story *s, struct setting *budget)
{
    s->scenario.collector.env = (struct settings){budget, 1};
    story_good_token(s);
    uint32_t token = story_txn(s, 100, 20);
    story_fault(s, "terminate-backend", 200, 210);
    uint32_t fresh = story_txn(s, 300, 1);
    for (int64_t at_ms = 300; at_ms < 2300; at_ms += 200, token += 2)
        story_line(s, at_ms, token, 2);
    story_line(s, 2300, fresh, 1);
}

static void tell_recovers_behind_budget(struct story *s)
{
    static struct setting budget[] = {{"MAILROOM_BUDGET", "10/s"}};

    tell_backlog_two_by_two(s, budget);
}

static void tell_recovers_with_budget_left(struct story *s)
{
    static struct setting budget[] = {{"MAILROOM_BUDGET", "40/s"}};

    tell_backlog_two_by_two(s, budget);
}

static void tell_recovered(struct story *s)
{
    story_good_token(s);
    story_fault(s, "terminate-backend", 200, 210);
    story_line(s, 900, story_txn(s, 300, 1), 1);
}

// The collector is killed six times, every 300 ms. A fresh token comes out after the last kill.
static void tell_kill_storm(struct story *s, int64_t session_after_ms)
{
    story_session(s, -990);
    story_good_token(s);
    uint32_t token = story_txn(s, 210, 1);
    for (int64_t at_ms = 200; at_ms <= 1700; at_ms += 300) {
        story_fault(s, "kill-collector", at_ms, at_ms);
        story_death(s, at_ms, true);
        story_session(s, at_ms + session_after_ms);
    }
    story_line(s, 1960, token, 1);
}

// Each start takes most of the time until the next kill.
static void tell_storm_of_slow_starts(struct story *s)
{
    tell_kill_storm(s, 250);
}

static void tell_storm_with_time_enough(struct story *s)
{
    tell_kill_storm(s, 110);
}

static const struct story_case cases[] = {
    {"unplanned exit", tell_unplanned_exit, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"does not end at TERM", tell_killed_at_the_end, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"ends at TERM", tell_stopped, "", VERDICT_PASS},
    {"crashes at TERM", tell_crashes_at_term, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"does not catch TERM", tell_does_not_catch_term, "", VERDICT_PASS},
    {"fails at TERM", tell_fails_at_term, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"fails at the run's end", tell_fails_at_the_end, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"a shell whose program TERM ended", tell_shell_dies_of_term, "", VERDICT_PASS},
    {"ends at TERM, its last line unconfirmed", tell_leaves_its_last_line, "", VERDICT_PASS},
    {"fails at TERM while the server goes away", tell_fails_without_its_server, "", VERDICT_PASS},
    {"ends at TERM after its reader", tell_fails_without_its_reader, "", VERDICT_PASS},
    {"a queue that fails at TERM", tell_queue_fails_at_term, "", VERDICT_PASS},
    {"lingers at TERM", tell_lingers, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"lingers while it is paused", tell_lingers_while_paused, "", VERDICT_PASS},
    {"lingers while nobody looks", tell_lingers_while_nobody_looks, "", VERDICT_INCONCLUSIVE},
    {"lingers at the end", tell_lingers_at_the_end, "unplanned_exit=1 ", VERDICT_VIOLATED},
    {"lingers behind its shell", tell_lingers_behind_its_shell, "unplanned_exit=1 ",
        VERDICT_VIOLATED},
    {"unrecovered", tell_unrecovered, "unrecovered=1 ", VERDICT_VIOLATED},
    {"recovers late, without a processor", tell_recovers_late_without_processor, "", VERDICT_PASS},
    {"recovers behind a budget that is spent", tell_recovers_behind_budget, "", VERDICT_PASS},
    {"recovers slowly, with budget left", tell_recovers_with_budget_left, "late=9 unrecovered=1 ",
        VERDICT_VIOLATED},
    {"recovers in a stall", tell_recovers_unread, "", VERDICT_PASS},
    {"recovers long after a stall", tell_recovers_after_stall, "unrecovered=1 ", VERDICT_VIOLATED},
    {"recovers late, with a processor", tell_recovers_late_with_processor, "unrecovered=1 ",
        VERDICT_VIOLATED},
    {"killed before it could recover, again and again", tell_storm_of_slow_starts, "",
        VERDICT_PASS},
    {"the same, with time enough", tell_storm_with_time_enough, "late=1 unrecovered=1 ",
        VERDICT_VIOLATED},
    {"recovered", tell_recovered, "", VERDICT_PASS},
};

const struct story_cases stories_processes = {cases, sizeof cases / sizeof *cases};
