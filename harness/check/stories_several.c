// Stories of several collectors that take turns, or that are away together.
#include "check/stories.h"

#include "base/clock.h"

static struct setting lease[] = {{"MAILROOM_LEASE", "1000"}};

static struct fault_record *hit_first(
    struct story *s, const char *verb, int64_t began_ms, int64_t ended_ms)
{
    struct fault_record *f = story_fault(s, verb, began_ms, ended_ms);

    s->specs[s->ledger.fault_count - 1].instance = 0;
    return f;
}

// --- taking turns -----------------------------------------------------------------

// The first collector is killed for good at 500 ms. The second one writes all later tokens from
// `read_ms` on.
static void tell_killed_for_good(struct story *s, int64_t read_ms)
{
    story_good_token(s);
    story_session(s, -990);
    story_second(s);
    hit_first(s, "kill-collector", 500, 501);
    s->specs[0].for_ns = FOR_REST;
    s->processes[0].ended_ns = s->faults[0].ended_ns;
    s->processes[0].status = 9;
    uint32_t first = story_txn(s, 600, 1);
    story_line(s, read_ms, first, 1);
    for (int i = 0; i < 5; i++) {
        uint32_t token = story_txn(s, 700 + 100 * i, 1);
        story_line(s, read_ms + i + 1, token, 1);
    }
}

static void tell_takes_over(struct story *s)
{
    tell_killed_for_good(s, 1900);
}

// The takeover is due at 2000 ms, which is the grace and one second after the death. Fresh tokens
// are due one second later. In this story they come at 4 s.
static void tell_takes_over_late(struct story *s)
{
    tell_killed_for_good(s, 4000);
    for (int i = 0; i < 5; i++) {
        uint32_t token = story_txn(s, 2300 + 100 * i, 1);
        story_line(s, 4006 + i, token, 1);
    }
}

static void tell_never_takes_over(struct story *s)
{
    tell_killed_for_good(s, 4000);
    s->log.line_count = 1;
    s->log.delivery_count = 1;
    for (int i = 0; i < 5; i++)
        story_txn(s, 2300 + 100 * i, 1);
}

// The killed collector starts again after 3 s and does the work itself, which is no takeover.
static void tell_first_does_it_again(struct story *s)
{
    tell_takes_over_late(s);
    s->specs[0].for_ns = 3 * NS_PER_S;
    s->faults[0].ended_ns = s->faults[0].began_ns + 3 * NS_PER_S;
    story_session(s, 3600);
    s->processes[2] = s->processes[0];
    s->processes[2].pid = 300;
    s->processes[2].status = 0;
    s->processes[2].started_ns = s->faults[0].ended_ns;
    s->processes[2].ended_ns = s->processes[1].ended_ns;
    s->log.process_count = 3;
    for (size_t i = 1; i < s->log.line_count; i++)
        s->lines[i].process = 2;
}

// The holder hangs for 3 s. The other may take its turn after the lease.
static void tell_hangs(struct story *s, int64_t read_ms)
{
    story_good_token(s);
    story_session(s, -990);
    story_second(s);
    s->scenario.collector.env = (struct settings){lease, 1};
    hit_first(s, "pause-collector", 500, 3500);
    for (int i = 0; i < 12; i++)
        story_txn(s, 600 + 200 * i, 1);
    for (uint32_t i = 0; i < 12; i++) {
        int64_t timely_ms = 702 + 200 * i;
        story_line(s, timely_ms > read_ms ? timely_ms : read_ms + i, i + 1, 1);
    }
}

static void tell_takes_over_from_hung(struct story *s)
{
    tell_hangs(s, 1400);
}

static void tell_nobody_takes_over_from_hung(struct story *s)
{
    tell_hangs(s, 3550);
    for (size_t i = 1; i < s->log.line_count; i++)
        s->lines[i].process = 0;
}

// A holder that hung writes one line whose tokens another had taken over. That is allowed once.
static void tell_late_line(struct story *s)
{
    tell_takes_over_from_hung(s);
    story_line(s, 3510, 1, 1);
    story_by(s, 0);
}

static void tell_two_late_lines(struct story *s)
{
    tell_late_line(s);
    story_line(s, 3520, 2, 1);
    story_by(s, 0);
}

// The pause is too short for a takeover, so the line is duplicated.
static void tell_late_line_of_short_pause(struct story *s)
{
    story_good_token(s);
    story_second(s);
    hit_first(s, "pause-collector", 100, 200);
    story_line(s, 210, 0, 1);
}

// --- both away --------------------------------------------------------------------

// Both are paused: the first until `until_ms`, the second until 3900 ms. The token is committed
// while both are paused.
static void tell_both_away(struct story *s, bool share, int64_t until_ms, int64_t read_ms)
{
    story_good_token(s);
    story_session(s, -990);
    story_second(s);
    s->scenario.collector.env = (struct settings){lease, 1};
    s->scenario.collector.dequeue = share ? DEQUEUE_SHARED : DEQUEUE_CURSOR;
    hit_first(s, "pause-collector", 500, until_ms);
    story_fault(s, "pause-collector", 900, 3900);
    s->specs[1].instance = 1;
    story_line(s, read_ms, story_txn(s, 1000, 1), 1);
    story_by(s, 0);
}

static void tell_both_away_by_turns(struct story *s)
{
    tell_both_away(s, false, 3500, 3600);
}

static void tell_both_away_sharing(struct story *s)
{
    tell_both_away(s, true, 3500, 3600);
}

// The first collector is back at 1500 ms. From then on it has the grace and one second to take over
// the tokens of the second.
static void tell_one_is_back(struct story *s)
{
    tell_both_away(s, true, 1500, 3800);
}

// --- what a hung one has taken ----------------------------------------------------

// Six batches at once. The second collector is paused while it has the last of them, which is read
// at `read_ms`.
static void tell_taken(struct story *s, int64_t read_ms)
{
    story_session(s, -990);
    story_second(s);
    s->scenario.collector.dequeue = DEQUEUE_SHARED;
    uint32_t first = story_txn(s, 50, 18);
    for (uint32_t i = 0; i < 5; i++) {
        story_line(s, 80 + 40 * i, first + 3 * i, 3);
        story_by(s, i % 2);
    }
    story_fault(s, "pause-collector", 250, 3500);
    s->specs[0].instance = 1;
    story_line(s, read_ms, first + 15, 3);
}

static void tell_writes_on_return(struct story *s)
{
    tell_taken(s, 3510);
}

static void tell_writes_long_after_return(struct story *s)
{
    tell_taken(s, 5500);
}

// A fault ends the paused collector's session, so the first collector writes the tokens that the
// paused one had.
static void tell_freed_by_another_fault(struct story *s)
{
    tell_taken(s, 3010);
    story_by(s, 0);
    story_fault(s, "terminate-backend", 2500, 2501);
    story_session(s, 2520);
}

// Nothing ended the paused collector's session, so it kept what it had taken. The tokens that the
// first collector writes so late were free, and it could have written them at any time.
static void tell_written_by_another(struct story *s)
{
    tell_taken(s, 3010);
    story_by(s, 0);
}

static const struct story_case cases[] = {
    {"takes over from the dead", tell_takes_over, "", VERDICT_PASS},
    {"takes over late", tell_takes_over_late, "late=11 unrecovered=1 ", VERDICT_VIOLATED},
    {"never takes over", tell_never_takes_over, "lost=11 unrecovered=1 ", VERDICT_VIOLATED},
    {"the killed one does the work when it is back", tell_first_does_it_again,
        "late=11 unrecovered=1 ", VERDICT_VIOLATED},
    {"takes over from one that hangs", tell_takes_over_from_hung, "", VERDICT_PASS},
    {"nobody takes over from one that hangs", tell_nobody_takes_over_from_hung,
        "late=12 unrecovered=1 ", VERDICT_VIOLATED},
    {"one late line", tell_late_line, "", VERDICT_PASS},
    {"two late lines", tell_two_late_lines, "duplicated=1 ", VERDICT_VIOLATED},
    {"a late line after a short pause", tell_late_line_of_short_pause, "duplicated=1 ",
        VERDICT_VIOLATED},
    {"both are away, and take turns", tell_both_away_by_turns, "", VERDICT_PASS},
    {"both are away, and share the work", tell_both_away_sharing, "", VERDICT_PASS},
    {"one is back, and does nothing", tell_one_is_back, "late=1 ", VERDICT_VIOLATED},
    {"writes on its return what it had taken", tell_writes_on_return, "", VERDICT_PASS},
    {"writes it long after its return", tell_writes_long_after_return, "late=3 ", VERDICT_VIOLATED},
    {"another writes it, when the session has ended", tell_freed_by_another_fault, "",
        VERDICT_PASS},
    {"another writes it late", tell_written_by_another, "late=3 ", VERDICT_VIOLATED},
};

const struct story_cases stories_several = {cases, sizeof cases / sizeof *cases};
