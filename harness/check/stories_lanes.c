// Stories of lanes: which lane went first, and in which order the tokens of a lane came.
#include "check/stories.h"

#include "base/clock.h"

// Recoveries go first, and activations age after a tenth of a second. Lines have one token, and one
// of them is in flight.
static void tell_lanes(struct story *s, enum dequeue dequeue)
{
    static struct setting lanes[] = {{"MAILROOM_LANES", "password_recovery,activation"},
        {"MAILROOM_AGEING", "100"}, {"MAILROOM_IN_FLIGHT", "1"}};

    s->scenario.collector.dequeue = dequeue;
    s->scenario.collector.batch_limit = 1;
    s->scenario.collector.env = (struct settings){lanes, sizeof lanes / sizeof *lanes};
}

// The sender answers for the line's one token after 10 ms.
static void tell_line(struct story *s, int64_t read_ms, uint32_t token)
{
    struct line_record *line = story_line(s, read_ms, token, 1);
    struct delivery *d = &s->deliveries[line->first_delivery];

    d->reply = REPLY_SENT;
    d->replied_ns = line->read_ns + 10 * NS_PER_MS;
    s->outcomes[token] = OUTCOME_SENT;
}

// 37 recoveries and five activations. One activation follows each eighth recovery, or all follow at
// the end.
static void tell_queue(struct story *s, bool share)
{
    int64_t read_ms = 60;

    tell_lanes(s, DEQUEUE_LEASED);
    uint32_t higher = story_txn(s, 50, 37), lower = story_txn(s, 55, 5), next = lower;
    for (uint32_t t = higher; t < lower; t++)
        s->kinds[t] = TOKEN_RECOVERY;
    for (uint32_t t = higher; t < lower; t++) {
        tell_line(s, read_ms += 40, t);
        if (share && t % 8 == 7)
            tell_line(s, read_ms += 1, next++);
    }
    while (next < lower + 5)
        tell_line(s, read_ms += 40, next++);
}

static void tell_share(struct story *s)
{
    tell_queue(s, true);
}

static void tell_starved(struct story *s)
{
    tell_queue(s, false);
}

// The recovery waits from 60 ms on, and three activations that have not aged go before it.
static void tell_overtaken(struct story *s)
{
    tell_lanes(s, DEQUEUE_LEASED);
    uint32_t lower = story_txn(s, 50, 3), higher = story_txn(s, 60, 1);
    s->kinds[higher] = TOKEN_RECOVERY;
    for (uint32_t t = lower; t < higher; t++)
        tell_line(s, 120 + 10 * (int64_t)(t - lower), t);
    tell_line(s, 150, higher);
}

// In cursor mode lines go out one by one. Each activation comes 60 ms after the recovery was
// acknowledged, or later.
static void tell_overtaken_in_turn(struct story *s, int activations)
{
    tell_lanes(s, DEQUEUE_CURSOR);
    uint32_t lower = story_txn(s, 50, activations), higher = story_txn(s, 60, 1);
    s->kinds[higher] = TOKEN_RECOVERY;
    for (uint32_t t = lower; t < higher; t++)
        story_line(s, 121 + 10 * (int64_t)(t - lower), t, 1);
    story_line(s, 160, higher, 1);
}

static void tell_three_before_a_recovery(struct story *s)
{
    tell_overtaken_in_turn(s, 3);
}

// When the recovery was acknowledged, one of the two activations was in hand. The other was taken
// meanwhile.
static void tell_two_before_a_recovery(struct story *s)
{
    tell_overtaken_in_turn(s, 2);
}

// The second token comes before the first, of the same lane or of another.
static void tell_second_first(struct story *s, enum token_kind first, enum token_kind second)
{
    tell_lanes(s, DEQUEUE_CURSOR);
    s->kinds[story_txn(s, 50, 1)] = (uint8_t)first;
    s->kinds[story_txn(s, 60, 1)] = (uint8_t)second;
    story_line(s, 64, 1, 1);
    story_line(s, 66, 0, 1);
}

static void tell_recovery_first(struct story *s)
{
    tell_second_first(s, TOKEN_ACTIVATION, TOKEN_RECOVERY);
}

static void tell_recoveries_turned_round(struct story *s)
{
    tell_second_first(s, TOKEN_RECOVERY, TOKEN_RECOVERY);
}

static void tell_activations_turned_round(struct story *s)
{
    tell_second_first(s, TOKEN_ACTIVATION, TOKEN_ACTIVATION);
}

// The reader stands still until the last line.
static void tell_stall(struct story *s, int64_t stalled_ms)
{
    static struct stall stall;
    static struct stalls stalls = {.kept = &stall, .kept_count = 1};
    int64_t read_ns = s->lines[s->log.line_count - 1].read_ns;

    stall = (struct stall){read_ns - stalled_ms * NS_PER_MS, read_ns};
    s->input.reader_stalls = &stalls;
}

// Five activations and a recovery that was acknowledged after them are read together. The reader
// had stood still for `stalled_ms`.
static void tell_read_together(struct story *s, int64_t stalled_ms)
{
    tell_lanes(s, DEQUEUE_CURSOR);
    s->scenario.slack_ns = 100 * NS_PER_MS;
    uint32_t lower = story_txn(s, 50, 5), higher = story_txn(s, 150, 1);
    s->kinds[higher] = TOKEN_RECOVERY;
    for (uint32_t t = lower; t < higher; t++)
        story_line(s, 280, t, 1);
    story_line(s, 280, higher, 1);
    tell_stall(s, stalled_ms);
}

static void tell_behind_a_stall(struct story *s)
{
    tell_read_together(s, 140);
}

// The stall began when the recovery had waited for 60 ms.
static void tell_before_a_stall(struct story *s)
{
    tell_read_together(s, 70);
}

// 26 recoveries follow each other every 40 ms, and eight more are read together at 1400 ms. Then
// comes an activation that counts as aged from 1151 ms on.
static void tell_aged(struct story *s, int64_t stalled_ms)
{
    tell_lanes(s, DEQUEUE_CURSOR);
    uint32_t lower = story_txn(s, 50, 1), higher = story_txn(s, 52, 34);
    for (uint32_t t = higher; t < higher + 34; t++) {
        s->kinds[t] = TOKEN_RECOVERY;
        story_line(s, t < higher + 26 ? 80 + 40 * (int64_t)t : 1400, t, 1);
    }
    tell_stall(s, stalled_ms);
    story_line(s, 1410, lower, 1);
}

static void tell_aged_in_a_stall(struct story *s)
{
    tell_aged(s, 290);
}

static void tell_aged_before_a_stall(struct story *s)
{
    tell_aged(s, 240);
}

static const struct story_case cases[] = {
    {"a lower lane gets its share", tell_share, "", VERDICT_PASS},
    {"a lower lane starves", tell_starved, "starved=1 ", VERDICT_VIOLATED},
    {"a higher lane is overtaken", tell_overtaken, "starved=1 ", VERDICT_VIOLATED},
    {"lanes in turn, three lines too early", tell_three_before_a_recovery, "starved=1 ",
        VERDICT_VIOLATED},
    {"lanes in turn, two lines taken before", tell_two_before_a_recovery, "", VERDICT_PASS},
    {"lanes in turn, read together behind a stall", tell_behind_a_stall, "", VERDICT_PASS},
    {"lanes in turn, a stall too late", tell_before_a_stall, "starved=1 ", VERDICT_VIOLATED},
    {"a lower lane's turn comes in a stall", tell_aged_in_a_stall, "", VERDICT_PASS},
    {"a lower lane's turn came before a stall", tell_aged_before_a_stall, "starved=1 ",
        VERDICT_VIOLATED},
    {"lanes in turn, another lane is overtaken", tell_recovery_first, "", VERDICT_PASS},
    {"lanes in turn, a recovery is overtaken", tell_recoveries_turned_round, "out_of_order=1 ",
        VERDICT_VIOLATED},
    {"lanes in turn, an activation is overtaken", tell_activations_turned_round, "out_of_order=1 ",
        VERDICT_VIOLATED},
};

const struct story_cases stories_lanes = {cases, sizeof cases / sizeof *cases};
