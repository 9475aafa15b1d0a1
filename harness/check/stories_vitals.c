// Stories of what the samples of the processes show, and of what the tables hold at the end.
#include "check/stories.h"

#include <signal.h>

#include "base/clock.h"

static void make_idle(struct story *s)
{
    story_good_token(s);
    s->phases[0].for_ns = NS_PER_S;
    s->phases[1].for_ns = 3 * NS_PER_S;
    s->scenario.load_count = 2;
}

static void tell_idle(struct story *s)
{
    make_idle(s);
    story_samples(s, 0, 10, 1);
}

static void tell_spinning(struct story *s)
{
    make_idle(s);
    story_samples(s, 0, 500, 0);
}

static void tell_waking(struct story *s)
{
    make_idle(s);
    story_samples(s, 0, 0, 25);
}

// The window of the fault ends at 2101 ms, in the middle of the rest.
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
    story_good_token(s);
    story_samples(s, 0, 500, 1000);
}

static void tell_leak(struct story *s)
{
    story_good_token(s);
    story_samples(s, 200, 0, 0);
}

static void tell_buffer_that_grew(struct story *s)
{
    story_good_token(s);
    story_samples(s, 0, 0, 0);
    for (int i = 4; i < 8; i++)
        s->samples[i].rss_kb += 4000;
}

static void tell_cursor_behind(struct story *s)
{
    story_good_token(s);
    s->token_flags[0] = TOKEN_WAITING;
}

// The last line was read 20 ms before TERM. The timeout is not promised, so the line is not late.
static void tell_cursor_behind_unconfirmed(struct story *s)
{
    story_good_token(s);
    uint32_t last = story_txn(s, 3900, 1);
    story_line(s, 9980, last, 1);
    s->scenario.collector.promises &= ~PROMISE_TIMEOUT;
    s->token_flags[last] = TOKEN_WAITING;
    s->processes[0].status = 75 << 8;
}

// The collector says that its line is unconfirmed, though it had the time to confirm it.
static void tell_never_confirms(struct story *s)
{
    tell_cursor_behind(s);
    s->processes[0].status = 75 << 8;
}

// Only code 75 says that the last line is unconfirmed. An end with another code, or by TERM, does
// not.
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

static void tell_needless_dead_letter(struct story *s)
{
    story_good_token(s);
    s->token_flags[0] = TOKEN_DEAD_LETTER;
}

static void tell_two_dead_letters(struct story *s)
{
    tell_dead_letter(s);
    s->token_flags[s->plan.token_count - 1] = TOKEN_BURIED_AGAIN;
}

static void tell_dead_letter_still_waiting(struct story *s)
{
    tell_dead_letter(s);
    s->token_flags[s->plan.token_count - 1] = TOKEN_WAITING;
}

// In a shared queue the cursor does not move.
static void tell_shared(struct story *s)
{
    story_share(s);
    s->token_flags[0] = TOKEN_WAITING;
}

static void tell_no_mark(struct story *s)
{
    story_share(s);
    s->token_flags[0] = TOKEN_UNMARKED;
}

static void tell_no_mark_unconfirmed(struct story *s)
{
    tell_cursor_behind_unconfirmed(s);
    s->scenario.collector.dequeue = DEQUEUE_SHARED;
    s->token_flags[1] = TOKEN_UNMARKED;
}

// The collector was killed before it could mark its line as written.
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

static void tell_dead_letter_without_mark(struct story *s)
{
    story_share(s);
    s->kinds[story_txn(s, 200, 1)] = TOKEN_SHORT_SECRET;
    s->token_flags[s->plan.token_count - 1] = TOKEN_UNMARKED;
}

static const struct story_case cases[] = {
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
    {"cursor behind for long, and says so", tell_never_confirms, "end_state=1 ", VERDICT_VIOLATED},
    {"cursor behind, exit code 70", tell_cursor_behind_at_error, "unplanned_exit=1 end_state=1 ",
        VERDICT_VIOLATED},
    {"cursor behind, TERM not caught", tell_cursor_behind_at_term, "end_state=1 ",
        VERDICT_VIOLATED},
    {"cursor behind, and crashed", tell_cursor_behind_after_crash, "unplanned_exit=1 ",
        VERDICT_VIOLATED},
    {"a dead letter that the wire can carry", tell_needless_dead_letter, "end_state=1 ",
        VERDICT_VIOLATED},
    {"two dead letters of one token", tell_two_dead_letters, "end_state=1 ", VERDICT_VIOLATED},
    {"a dead letter that the cursor has not passed", tell_dead_letter_still_waiting, "end_state=1 ",
        VERDICT_VIOLATED},
    {"a shared queue", tell_shared, "", VERDICT_PASS},
    {"no mark", tell_no_mark, "end_state=1 ", VERDICT_VIOLATED},
    {"no mark, and says so", tell_no_mark_unconfirmed, "", VERDICT_PASS},
    {"killed between line and mark", tell_killed_before_mark, "", VERDICT_PASS},
    {"killed long after the line, and no mark", tell_killed_long_after, "end_state=1 ",
        VERDICT_VIOLATED},
    {"a dead letter without a mark", tell_dead_letter_without_mark, "end_state=1 ",
        VERDICT_VIOLATED},
};

const struct story_cases stories_vitals = {cases, sizeof cases / sizeof *cases};
