// Stories of tokens that come again, and of tokens that the server has lost.
#include "check/stories.h"

#include "base/clock.h"

static void tell_duplicated(struct story *s)
{
    story_good_token(s);
    story_line(s, 151, 0, 1);
    story_line(s, 152, 0, 1);
}

static void tell_duplicated_after_death(struct story *s)
{
    story_good_token(s);
    story_death(s, 160, true);
    story_line(s, 270, 0, 1);
}

// The collector ends with 0, which says that all it wrote is confirmed.
static void tell_duplicated_though_confirmed(struct story *s)
{
    tell_duplicated_after_death(s);
    s->processes[0].status = 0;
}

static void tell_duplicated_and_said_so(struct story *s)
{
    tell_duplicated_after_death(s);
    s->processes[0].status = 75 << 8;
}

static void tell_too_many_after_death(struct story *s)
{
    story_line(s, 150, story_txn(s, 150, 3), 3);
    story_line(s, 151, story_txn(s, 150, 3), 3);
    story_death(s, 160, true);
    story_line(s, 270, 0, 3);
    story_line(s, 271, 3, 1);
}

// One of two collectors is paused from 300 to 1300 ms, and its session ends at 400 ms.
static void tell_session_lost(struct story *s)
{
    story_good_token(s);
    story_second(s);
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

// Only the last line can be unconfirmed, because the second line confirmed the first.
static void tell_sessions_lost_with_server(struct story *s)
{
    story_line(s, 50, story_txn(s, 50, 3), 3);
    story_line(s, 80, story_txn(s, 80, 3), 3);
    story_second(s);
    story_fault(s, "crash-server", 100, 700);
    story_line(s, 1001, 3, 3);
}

static void tell_too_many_with_server(struct story *s)
{
    tell_sessions_lost_with_server(s);
    story_line(s, 1002, 0, 1);
}

// The paused collector repeats its own line, although it knows that it wrote it.
static void tell_again_by_itself(struct story *s)
{
    tell_session_lost(s);
    story_by(s, 0);
}

// A line is read at 150 ms, and again after the power is back.
static void tell_forgotten(struct story *s)
{
    story_good_token(s);
    story_fault(s, "cut-power", 300, 800);
    s->scenario.postgres.durability = DURABILITY_WAIVE;
    story_line(s, 900, 0, 1);
}

static void tell_forgotten_by_standby(struct story *s)
{
    story_good_token(s);
    story_fault(s, "promote-standby", 300, 800);
    s->scenario.postgres.standby = STANDBY_ASYNC;
    story_line(s, 900, 0, 1);
}

// Fails over to a leader that has no commit of the old leader from `left_ms` on.
static void fail_over(struct story *s, int64_t left_ms)
{
    struct fault_record *f = story_fault(s, "kill-leader", 300, 800);

    s->scenario.postgres.standby = STANDBY_ASYNC;
    f->left_known = true;
    f->left_ns = f->began_ns + (left_ms - 300) * NS_PER_MS;
}

// The second line shows that the first one is confirmed, at some time from 170 to 250 ms.
static void fail_over_behind_a_line(struct story *s, int64_t left_ms)
{
    story_good_token(s);
    story_line(s, 250, story_txn(s, 140, 1), 1);
    fail_over(s, left_ms);
    story_line(s, 900, 0, 1);
}

static void tell_again_after_failover(struct story *s)
{
    fail_over_behind_a_line(s, 200);
}

static void tell_again_though_confirmed(struct story *s)
{
    fail_over_behind_a_line(s, 260);
}

static void tell_again_though_nothing_left(struct story *s)
{
    fail_over_behind_a_line(s, 200);
    s->faults[0].left_ns = 0;
}

// A commit that was acknowledged at 291 ms is gone, which the scenario allows.
static void fail_over_behind_a_commit(struct story *s, int64_t left_ms)
{
    story_good_token(s);
    s->token_flags[story_txn(s, 290, 1)] = TOKEN_PRESENT; // toggled: absent at the end
    fail_over(s, left_ms);
    s->allow[0] = (struct allowance){.invariant = (char *)"vanished", .most = INT64_MAX};
    s->scenario.allow_count = 1;
}

static void tell_left_behind(struct story *s)
{
    fail_over_behind_a_commit(s, 280);
}

static void tell_vanished_before_failover(struct story *s)
{
    fail_over_behind_a_commit(s, 295);
}

static void tell_vanished_after_failover(struct story *s)
{
    fail_over_behind_a_commit(s, 280);
    story_line(s, 950, story_txn(s, 850, 1), 1);
    s->token_flags[story_txn(s, 1000, 1)] = TOKEN_PRESENT;
}

static void tell_forgotten_by_nobody(struct story *s)
{
    tell_forgotten(s);
    s->scenario.postgres.durability = DURABILITY_PROVE;
}

// The power cut explains the second line. Nothing was lost between the second line and the third.
static void tell_forgotten_and_twice(struct story *s)
{
    tell_forgotten(s);
    story_line(s, 901, 0, 1);
}

static void tell_unknown_and_forgotten(struct story *s)
{
    story_good_token(s);
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
    story_good_token(s);
    s->token_flags[story_txn(s, 200, 1)] = TOKEN_PRESENT; // toggled: absent at the end
}

// The first of two collectors hangs from 500 ms to 3500 ms, and the other takes its turn after a
// second. The reader of one of them is paused from `paused_ms` to 3600 ms.
static void tell_hangs_unread(struct story *s, int reader, int64_t paused_ms)
{
    static struct setting lease[] = {{"MAILROOM_LEASE", "1000"}};

    s->scenario.collector.env = (struct settings){lease, 1};
    story_good_token(s);
    story_session(s, -990);
    story_second(s);
    story_fault(s, "pause-reader", paused_ms, 3600);
    s->specs[0].instance = reader;
    story_fault(s, "pause-collector", 500, 3500);
    s->specs[1].instance = 0;
}

// The hanging one's two lines are read when the other has written the second one again.
static void tell_first_is_read_last(struct story *s)
{
    tell_hangs_unread(s, 0, 300);
    story_txn(s, 310, 1);
    story_txn(s, 390, 1);
    story_line(s, 1510, 2, 1);
    story_line(s, 3601, 1, 1);
    story_by(s, 0);
    story_line(s, 3601, 2, 1);
    story_by(s, 0);
}

// The other's line is read when the hanging one has returned and has written another.
static void tell_again_is_read_late(struct story *s, int64_t paused_ms)
{
    tell_hangs_unread(s, 1, paused_ms);
    story_line(s, 410, story_txn(s, 300, 1), 1);
    story_by(s, 0);
    story_line(s, 3510, story_txn(s, 3400, 1), 1);
    story_by(s, 0);
    story_line(s, 3601, 1, 1);
}

static void tell_again_in_its_turn(struct story *s)
{
    tell_again_is_read_late(s, 1000);
}

static void tell_again_out_of_turn(struct story *s)
{
    tell_again_is_read_late(s, 3550);
}

// The first one's line comes again when it has returned and written another. The other had taken
// the line over, but died before it wrote it.
static void tell_heir_died(struct story *s)
{
    tell_again_is_read_late(s, 3550);
    story_fault(s, "kill-collector", 1509, 1510);
    s->specs[2].instance = 1;
    s->log.line_count--;
    s->log.delivery_count--;
    story_death(s, 1510, true);
    story_line(s, 3700, 1, 1);
}

static const struct story_case cases[] = {
    {"taken over by one that died", tell_heir_died, "", VERDICT_PASS},
    {"taken over, and read before the first", tell_first_is_read_last, "", VERDICT_PASS},
    {"taken over, and read when the first was back", tell_again_in_its_turn, "", VERDICT_PASS},
    {"again, when the first was back", tell_again_out_of_turn, "duplicated=1 ", VERDICT_VIOLATED},
    {"duplicated", tell_duplicated, "duplicated=2 ", VERDICT_VIOLATED},
    {"one batch again per death", tell_duplicated_after_death, "", VERDICT_PASS},
    {"a batch again, though it said that it was confirmed", tell_duplicated_though_confirmed,
        "duplicated=1 ", VERDICT_VIOLATED},
    {"a batch again that it said was unconfirmed", tell_duplicated_and_said_so, "", VERDICT_PASS},
    {"more than a batch again", tell_too_many_after_death, "duplicated=3 ", VERDICT_VIOLATED},
    {"again after a lost session", tell_session_lost, "", VERDICT_PASS},
    {"again, though soon back", tell_session_soon_back, "duplicated=1 ", VERDICT_VIOLATED},
    {"again, within a longer grace", tell_session_with_grace, "duplicated=1 ", VERDICT_VIOLATED},
    {"the load's session", tell_session_of_the_load, "duplicated=1 ", VERDICT_VIOLATED},
    {"a session of the only one", tell_session_of_the_only_one, "duplicated=1 ", VERDICT_VIOLATED},
    {"all sessions lost", tell_sessions_lost_with_server, "", VERDICT_PASS},
    {"more than all sessions", tell_too_many_with_server, "duplicated=1 ", VERDICT_VIOLATED},
    {"again by the one that lost its session", tell_again_by_itself, "duplicated=1 ",
        VERDICT_VIOLATED},
    {"again after a loss of power", tell_forgotten, "", VERDICT_PASS},
    {"again after a failover", tell_forgotten_by_standby, "", VERDICT_PASS},
    {"again after a failover of a cluster", tell_again_after_failover, "", VERDICT_PASS},
    {"again, though the timeline has it", tell_again_though_confirmed, "duplicated=1 ",
        VERDICT_VIOLATED},
    {"again, though the failover left nothing", tell_again_though_nothing_left, "duplicated=1 ",
        VERDICT_VIOLATED},
    {"left on the old timeline", tell_left_behind, "", VERDICT_PASS},
    {"gone, though the timeline has it", tell_vanished_before_failover, "vanished=1 ",
        VERDICT_VIOLATED},
    {"gone after the failover", tell_vanished_after_failover, "vanished=2 ", VERDICT_VIOLATED},
    {"again, though nothing is lost", tell_forgotten_by_nobody, "duplicated=1 ", VERDICT_VIOLATED},
    {"twice after a loss of power", tell_forgotten_and_twice, "duplicated=1 ", VERDICT_VIOLATED},
    {"unknown, read, and lost by the server", tell_unknown_and_forgotten, "", VERDICT_PASS},
    {"unknown, and never there", tell_unknown_after_loss, "phantom=1 ", VERDICT_VIOLATED},
    {"vanished", tell_vanished, "vanished=1 ", VERDICT_VIOLATED},
};

const struct story_cases stories_repeats = {cases, sizeof cases / sizeof *cases};
