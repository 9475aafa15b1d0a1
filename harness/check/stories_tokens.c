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

static void tell_foreign_dead_letter(struct story *s)
{
    tell_dead_letter(s);
    s->scenario.collector.layout = LAYOUT_FOREIGN;
}

static void tell_no_dead_letter(struct story *s)
{
    story_good_token(s);
    uint32_t t = story_txn(s, 200, 1);
    s->kinds[t] = TOKEN_SHORT_SECRET;
    s->token_flags[t] = TOKEN_DEAD_LETTER; // toggled: the database has no dead letter
}

static void tell_no_foreign_dead_letter(struct story *s)
{
    tell_no_dead_letter(s);
    s->scenario.collector.layout = LAYOUT_FOREIGN;
}

static void tell_no_dead_letter_promised(struct story *s)
{
    tell_no_foreign_dead_letter(s);
    s->scenario.collector.promises &= ~PROMISE_DEAD_LETTERS;
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
    // The line would be early as well, but the fault excuses that.
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

// The upsert finds the account already there, so it makes no token.
static void tell_conflict(struct story *s)
{
    story_good_token(s);
    uint32_t t = story_txn(s, 250, 1);
    s->kinds[t] = TOKEN_CONFLICT;
    s->token_flags[t] = TOKEN_PRESENT; // toggled: absent at the end
}

static void tell_conflict_delivered(struct story *s)
{
    tell_conflict(s);
    story_line(s, 350, 1, 1);
}

// A token changes 10 ms after its commit. `lines` lines come out, and then the token. Before each
// line the reader finds the pipe empty.
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

// Nobody knows whether the change was made.
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

// A token changes at 210 ms. The collector dies at `died_ms`, and the first line of the next
// process holds the token.
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
    s->token_flags[deleted] = TOKEN_PRESENT; // toggled: absent at the end
    story_change(s, deleted, CHANGE_DELETE, 210, 211);
}

// The token had enough time to be delivered before it changed, so it is lost.
static void tell_changed_too_late(struct story *s)
{
    story_good_token(s);
    story_change(s, story_txn(s, 200, 1), CHANGE_CONSUME, 3000, 3001);
}

// Only the collector can have made this token expire after 1 s.
static void tell_expired_by_collector(struct story *s)
{
    story_good_token(s);
    s->expires_at_s[story_txn(s, 100, 1)] = 1;
}

// Four lines, and the last one holds a token that expires after 3 s.
static void tell_expires(struct story *s, const int64_t read_ms[4])
{
    uint32_t first = story_txn(s, 500, 4);

    s->expires_at_s[first + 3] = 3;
    for (uint32_t i = 0; i < 4; i++)
        story_line(s, read_ms[i], first + i, 1);
}

// All four were written in time, and lay unread until 8 s.
static void tell_expired_unread(struct story *s)
{
    tell_expires(s, (const int64_t[4]){8001, 8001, 8001, 8001});
    story_session(s, -990);
    story_fault(s, "pause-reader", 490, 8000);
}

static void tell_expired_long_ago(struct story *s)
{
    tell_expires(s, (const int64_t[4]){6100, 6500, 7000, 8001});
    s->scenario.slack_ns = 20 * NS_PER_S;
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
    {"expired while it lay unread", tell_expired_unread, "", VERDICT_PASS},
    {"expired long ago", tell_expired_long_ago, "ineligible=1 ", VERDICT_VIOLATED},
    {"made to expire by the collector", tell_expired_by_collector, "lost=1 ", VERDICT_VIOLATED},
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
    {"a dead letter, beside tables of its own", tell_foreign_dead_letter, "", VERDICT_PASS},
    {"no dead letter, beside tables of its own", tell_no_foreign_dead_letter, "lost=1 ",
        VERDICT_VIOLATED},
    {"no dead letter, and none promised", tell_no_dead_letter_promised, "", VERDICT_PASS},
    {"phantom", tell_phantom, "phantom=1 ", VERDICT_VIOLATED},
    {"never attempted", tell_never_attempted, "phantom=1 ", VERDICT_VIOLATED},
    {"premature", tell_premature, "premature=1 ", VERDICT_VIOLATED},
    {"before the acknowledgement", tell_before_acknowledgement, "", VERDICT_PASS},
    {"ineligible", tell_ineligible, "ineligible=1 ", VERDICT_VIOLATED},
    {"passed over", tell_passed, "", VERDICT_PASS},
};

const struct story_cases stories_tokens = {cases, sizeof cases / sizeof *cases};
