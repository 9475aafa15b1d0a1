// Stories of what becomes of a token.
#include "check/stories.h"

#include "base/clock.h"

static void tell_good(struct story *s)
{
    story_good_token(s);
}

void tell_lost(struct story *s)
{
    story_good_token(s);
    story_txn(s, 200, 2);
}

static void tell_lost_unknown(struct story *s)
{
    story_good_token(s);
    s->token_flags[story_txn(s, 200, 1)] = TOKEN_SETTLED;
    story_last(s)->outcome = TXN_UNKNOWN;
}

static void tell_unknown_not_there(struct story *s)
{
    story_good_token(s);
    story_txn(s, 200, 1);
    story_last(s)->outcome = TXN_UNKNOWN;
}

static void tell_named_when_torn(struct story *s)
{
    story_good_token(s);
    struct line_record *line = story_line(s, 350, story_txn(s, 250, 1), 1);
    line->state = LINE_TORN;
    line->tokens = 0;
    s->deliveries[1].flags = DELIVERY_NAMED;
}

void tell_dead_letter(struct story *s)
{
    story_good_token(s);
    s->kinds[story_txn(s, 200, 1)] = TOKEN_SHORT_SECRET;
}

static void tell_no_dead_letter(struct story *s)
{
    story_good_token(s);
    uint32_t t = story_txn(s, 200, 1);
    s->kinds[t] = TOKEN_SHORT_SECRET;
    s->token_flags[t] = TOKEN_DEAD_LETTER; // the story then leaves it out
}

static void tell_phantom(struct story *s)
{
    story_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    story_last(s)->outcome = TXN_ROLLED_BACK;
}

static void tell_never_attempted(struct story *s)
{
    story_good_token(s);
    struct line_record *line = story_line(s, 150, 0, 1);
    s->deliveries[line->first_delivery].token = TOKEN_UNKNOWN;
}

static void tell_premature(struct story *s)
{
    story_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    story_last(s)->commit_ns += 200 * NS_PER_MS;
    story_last(s)->ended_ns += 200 * NS_PER_MS;
    // Nothing is announced before this line either, but a fault window covers it.
    story_fault(s, "terminate-backend", 340, 341);
}

static void tell_before_acknowledgement(struct story *s)
{
    story_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    story_last(s)->ended_ns += 200 * NS_PER_MS;
}

static void tell_ineligible(struct story *s)
{
    story_good_token(s);
    uint32_t t = story_txn(s, 250, 1);
    s->kinds[t] = TOKEN_SUSPENDED;
    story_line(s, 350, t, 1);
}

static void tell_passed(struct story *s)
{
    story_good_token(s);
    s->kinds[story_txn(s, 250, 1)] = TOKEN_EXPIRED;
}

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

// It ended with 0, which says that all it wrote is confirmed.
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

// The second line confirmed the first one, at 170 ms at the earliest and at 250 ms at the latest.
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
    s->token_flags[story_txn(s, 290, 1)] = TOKEN_PRESENT; // the story then leaves it out
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
    s->token_flags[story_txn(s, 200, 1)] = TOKEN_PRESENT; // the story then leaves it out
}

// An upsert that found its account made no token.
static void tell_conflict(struct story *s)
{
    story_good_token(s);
    uint32_t t = story_txn(s, 250, 1);
    s->kinds[t] = TOKEN_CONFLICT;
    s->token_flags[t] = TOKEN_PRESENT; // the story then leaves it out
}

static void tell_conflict_delivered(struct story *s)
{
    tell_conflict(s);
    story_line(s, 350, 1, 1);
}

// A token changes 10 ms after its commit and goes out with the n-th line after that. Ahead of each
// of these lines the reader found the pipe empty.
static struct change_record *tell_changed(struct story *s, enum change_kind kind, int lines)
{
    story_good_token(s);
    uint32_t changed = story_txn(s, 200, 1);
    struct change_record *record = story_change(s, changed, kind, 210, 211);
    for (int i = 0; i < lines; i++)
        story_line(s, 300 + 100 * i, story_txn(s, 200 + 100 * i, 1), 1);
    story_line(s, 300 + 100 * lines, changed, 1);
    return record;
}

static void tell_changed_just_before(struct story *s)
{
    tell_changed(s, CHANGE_CONSUME, 2);
}

static void tell_changed_long_before(struct story *s)
{
    tell_changed(s, CHANGE_CONSUME, 3);
}

// The change may have happened or not.
static void tell_perhaps_changed(struct story *s)
{
    tell_changed(s, CHANGE_SUSPEND, 3)->outcome = TXN_UNKNOWN;
}

static void tell_active_again(struct story *s)
{
    struct change_record *record = tell_changed(s, CHANGE_REACTIVATE, 3);

    record->back_sent_ns = record->ended_ns + 50 * NS_PER_MS;
}

static void tell_active_again_later(struct story *s)
{
    struct change_record *record = tell_changed(s, CHANGE_REACTIVATE, 3);

    record->back_sent_ns = record->ended_ns + NS_PER_S;
}

// Expiry is judged by the server's clock, which may be 2 s off.
static void tell_expired_just_now(struct story *s)
{
    tell_changed(s, CHANGE_EXPIRE, 3);
}

// It changes at 210 ms. The next process starts later, and its first line holds it.
static void tell_changed_before_the_start(struct story *s, int64_t died_ms)
{
    story_good_token(s);
    uint32_t changed = story_txn(s, 200, 1);
    story_change(s, changed, CHANGE_CONSUME, 210, 211);
    story_session(s, -990);
    story_fault(s, "kill-collector", died_ms, died_ms + 1);
    story_death(s, died_ms, true);
    story_session(s, died_ms + 120);
    story_line(s, died_ms + 150, changed, 1);
}

static void tell_known_at_the_start(struct story *s)
{
    tell_changed_before_the_start(s, 205);
}

static void tell_unknown_at_the_start(struct story *s)
{
    tell_changed_before_the_start(s, 105);
}

// The server has lost the change, and the token is eligible again.
static void tell_change_forgotten(struct story *s)
{
    tell_changed_long_before(s);
    story_fault(s, "cut-power", 400, 450);
    s->scenario.postgres.durability = DURABILITY_WAIVE;
}

static void tell_changed_and_passed(struct story *s)
{
    story_good_token(s);
    story_change(s, story_txn(s, 200, 1), CHANGE_SUSPEND, 210, 211);
}

static void tell_deleted(struct story *s)
{
    story_good_token(s);
    uint32_t deleted = story_txn(s, 200, 1);
    s->token_flags[deleted] = TOKEN_PRESENT; // the story then leaves it out
    story_change(s, deleted, CHANGE_DELETE, 210, 211);
}

// The token changed only when it had had all the time to be delivered, so it is lost.
static void tell_changed_too_late(struct story *s)
{
    story_good_token(s);
    story_change(s, story_txn(s, 200, 1), CHANGE_CONSUME, 3000, 3001);
}

static const struct story_case cases[] = {
    {"changed just before", tell_changed_just_before, "", VERDICT_PASS},
    {"changed long before", tell_changed_long_before, "ineligible=1 ", VERDICT_VIOLATED},
    {"changed before the process started", tell_known_at_the_start, "ineligible=1 ",
        VERDICT_VIOLATED},
    {"changed after the process started", tell_unknown_at_the_start, "", VERDICT_PASS},
    {"changed, and the server has lost it", tell_change_forgotten, "", VERDICT_PASS},
    {"perhaps changed", tell_perhaps_changed, "", VERDICT_PASS},
    {"active again before it was read", tell_active_again, "", VERDICT_PASS},
    {"active again after it was read", tell_active_again_later, "ineligible=1 ", VERDICT_VIOLATED},
    {"expired just now", tell_expired_just_now, "", VERDICT_PASS},
    {"changed and passed", tell_changed_and_passed, "", VERDICT_PASS},
    {"deleted and passed", tell_deleted, "", VERDICT_PASS},
    {"changed too late to be passed", tell_changed_too_late, "lost=1 ", VERDICT_VIOLATED},
    {"a conflict", tell_conflict, "", VERDICT_PASS},
    {"a conflict, delivered", tell_conflict_delivered, "phantom=1 ", VERDICT_VIOLATED},
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

const struct story_cases stories_tokens = {cases, sizeof cases / sizeof *cases};
