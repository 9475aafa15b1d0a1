// Stories of causes: what one fault, batch or stall explains, and what it does not.
#include "check/stories.h"

#include "base/clock.h"

// --- duplicated -------------------------------------------------------------------

// The collector is killed five times, each time with a line that comes again. Each death explains
// its line.
static void tell_many_deaths(struct story *s)
{
    story_good_token(s);
    for (int i = 0; i < 5; i++) {
        int64_t at_ms = 200 + 400 * i;
        uint32_t token = story_txn(s, at_ms, 1);
        story_line(s, at_ms + 101, token, 1);
        story_death(s, at_ms + 102, true);
        story_fault(s, "kill-collector", at_ms + 102, at_ms + 102);
        story_line(s, at_ms + 250, token, 1);
    }
}

// The collector is killed as often, but each line that comes again is not the last of its process.
// Checks that only counted deaths would excuse these repeats; the check of causes does not.
static void tell_twice_beside_deaths(struct story *s)
{
    story_good_token(s);
    for (int i = 0; i < 5; i++) {
        int64_t at_ms = 200 + 400 * i;
        uint32_t token = story_txn(s, at_ms, 1);
        story_line(s, at_ms + 101, token, 1);
        story_line(s, at_ms + 105, token, 1);
        uint32_t last = story_txn(s, at_ms + 50, 1);
        story_line(s, at_ms + 151, last, 1);
        story_death(s, at_ms + 152, true);
        story_fault(s, "kill-collector", at_ms + 152, at_ms + 152);
    }
}

// The last line of a collector that died comes again, and then once more.
static void tell_again_and_again(struct story *s)
{
    story_good_token(s);
    story_death(s, 160, true);
    story_line(s, 270, 0, 1);
    story_line(s, 280, 0, 1);
}

// The line comes again before its writer dies, so no cause excuses it.
static void tell_again_before_the_death(struct story *s)
{
    story_good_token(s);
    story_second(s);
    story_line(s, 300, 0, 1);
    s->processes[0].ended_ns = s->lines[1].read_ns + NS_PER_S;
    s->processes[0].status = 9;
}

// --- late, by the sessions --------------------------------------------------------

// The session ends every 300 ms and is back after 20 ms. Tokens that are committed meanwhile come
// `wait_ms` later.
static void tell_storm(struct story *s, int64_t wait_ms)
{
    story_good_token(s);
    story_session(s, -990);
    for (int i = 0; i < 9; i++) {
        story_fault(s, "terminate-backend", 400 + 300 * i, 402 + 300 * i);
        story_session(s, 420 + 300 * i);
    }
    for (int i = 0; i < 6; i++)
        story_txn(s, 450 + 300 * i, 1);
    for (uint32_t i = 0; i < 6; i++)
        story_line(s, 451 + 300 * i + wait_ms, i + 1, 1);
}

static void tell_good_in_storm(struct story *s)
{
    tell_storm(s, 101);
}

static void tell_held_back_in_storm(struct story *s)
{
    tell_storm(s, 700);
}

static void tell_barely_in_time_in_storm(struct story *s)
{
    tell_storm(s, 149);
}

// The session is back 600 ms after the fault's end. The fault excuses this time and no more.
static void tell_slowly_back(struct story *s)
{
    story_good_token(s);
    story_session(s, -990);
    story_fault(s, "restart-server", 200, 300);
    story_session(s, 900);
    story_line(s, 910, story_txn(s, 190, 1), 1);
}

static void tell_late_after_its_return(struct story *s)
{
    tell_slowly_back(s);
    s->lines[1].read_ns += 200 * NS_PER_MS;
}

// The session survives the pause, so nothing after the pause is excused.
static void tell_late_after_a_pause(struct story *s)
{
    story_good_token(s);
    story_session(s, -990);
    story_fault(s, "pause-server", 200, 300);
    story_line(s, 800, story_txn(s, 350, 1), 1);
}

// The faults interrupt a chain of full lines.
static void tell_busy_in_storm(struct story *s)
{
    story_session(s, -990);
    uint32_t first = story_txn(s, 300, 60);
    for (int i = 0; i < 20; i++)
        story_line(s, 340 + 40 * i + 60 * (i / 5), first + 3 * (uint32_t)i, 3);
    for (int i = 0; i < 4; i++) {
        story_fault(s, "terminate-backend", 505 + 260 * i, 506 + 260 * i);
        story_session(s, 560 + 260 * i);
    }
}

// --- late, by two faults in a row -------------------------------------------------

// Two faults with 500 ms between them; the limit is 1 s. The session is back at `back_ms`, and then
// the token comes that was committed between the faults.
static void tell_two_faults(struct story *s, const char *first, const char *second, int64_t back_ms)
{
    story_good_token(s);
    story_session(s, -990);
    story_fault(s, first, 200, 1000);
    story_fault(s, second, 1500, 1500 + (verb_find(second)->params & PARAM_FOR ? 800 : 1));
    story_session(s, back_ms);
    story_line(s, back_ms + 10, story_txn(s, 1050, 1), 1);
}

static void tell_half_open_twice(struct story *s)
{
    tell_two_faults(s, "half-open", "half-open", 2400);
}

// The session is due at 3800 ms: 500 ms of the limit pass between the faults, the second fault
// lasts 800 ms, the limit begins anew with 1 s, and the other 500 ms of the first limit follow.
static void tell_half_open_twice_and_long(struct story *s)
{
    tell_two_faults(s, "half-open", "half-open", 3850);
}

static void tell_half_open_then_killed_backend(struct story *s)
{
    tell_two_faults(s, "half-open", "terminate-backend", 1900);
}

static void tell_restart_then_half_open(struct story *s)
{
    tell_two_faults(s, "restart-server", "half-open", 2400);
}

// Nothing wanted to pass during the second fault, so it was left out at its end. The collector was
// silent all the time, and reconnects afterwards.
static void tell_half_open_and_one_left_out(struct story *s)
{
    tell_half_open_twice(s);
    s->faults[1].left_out = LEFT_OUT_BUSY;
}

// A line with a token that was committed between the faults shows that the session had survived the
// first.
static void tell_survived_the_first(struct story *s)
{
    story_good_token(s);
    story_session(s, -990);
    story_fault(s, "pause-server", 200, 300);
    story_line(s, 800, story_txn(s, 350, 1), 1);
    story_fault(s, "pause-server", 900, 1000);
    story_fault(s, "terminate-backend", 1200, 1201);
    story_session(s, 1220);
}

// The server accepts a session while its answers are lost, so the collector does not have that
// session.
static void tell_session_of_half_open(struct story *s)
{
    tell_half_open_twice(s);
    s->sessions[2] = s->sessions[1];
    s->sessions[1] = s->faults[0].ended_ns - 300 * NS_PER_MS;
    s->ledger.session_count = 3;
}

// The session never comes back, so tokens that were committed since are lost.
static void tell_never_back_from_two(struct story *s)
{
    tell_half_open_twice(s);
    s->ledger.session_count = 1;
    s->log.line_count--;
    s->log.delivery_count--;
    story_txn(s, 3000, 1);
}

// The collector stays away during a storm of short pauses, and is back at its end. The pauses
// excuse 200 ms of each 500 ms.
static void tell_away_in_a_storm(struct story *s)
{
    story_good_token(s);
    story_session(s, -990);
    for (int i = 0; i < 12; i++)
        story_fault(s, "pause-server", 200 + 500 * i, 300 + 500 * i);
    story_session(s, 5850);
    story_line(s, 5860, story_txn(s, 350, 1), 1);
}

// --- early ------------------------------------------------------------------------

static void tell_sent_at_reconnect(struct story *s)
{
    story_good_token(s);
    story_session(s, -990);
    story_fault(s, "terminate-backend", 380, 381);
    story_session(s, 400);
    story_line(s, 410, story_txn(s, 390, 1), 1);
}

// The session opened long before the line, so it does not excuse the early line.
static void tell_early_in_storm(struct story *s)
{
    story_good_token(s);
    story_session(s, -990);
    story_fault(s, "terminate-backend", 380, 381);
    story_session(s, 400);
    story_line(s, 650, story_txn(s, 600, 1), 1);
}

// --- stalls -----------------------------------------------------------------------

static void tell_late_by(struct story *s, int64_t beyond_ms)
{
    story_good_token(s);
    story_line(s, 351 + beyond_ms, story_txn(s, 200, 1), 1);
}

static struct probe_sample slow_flush = {0};

static void flush(struct story *s, int64_t at_ms, int64_t took_ms)
{
    slow_flush.due_ns = s->processes[0].started_ns + (1000 + at_ms) * NS_PER_MS;
    slow_flush.took_ns = took_ms * NS_PER_MS;
    s->ledger.flushes = &slow_flush;
    s->ledger.flush_count = 1;
}

static void tell_slow_flush(struct story *s)
{
    tell_late_by(s, 200);
    flush(s, 210, 150);
}

static void tell_later_than_its_stall(struct story *s)
{
    tell_late_by(s, 900);
    flush(s, 210, 150);
}

static void tell_slow_flush_before(struct story *s)
{
    tell_late_by(s, 200);
    flush(s, -500, 150);
}

static void tell_late_after_many_stalls(struct story *s)
{
    static struct stalls reader;

    tell_late_by(s, 100);
    stalls_fini(&reader);
    for (int i = 0; i < 1000; i++)
        stalls_note(&reader, i * NS_PER_MS * 100, i * NS_PER_MS * 100 + 60 * NS_PER_MS);
    stalls_note(&reader, s->processes[0].started_ns + 1250 * NS_PER_MS, s->lines[1].read_ns);
    s->input.reader_stalls = &reader;
}

static const struct story_case cases[] = {
    {"killed often, a line again each time", tell_many_deaths, "", VERDICT_PASS},
    {"killed often, other lines again", tell_twice_beside_deaths, "duplicated=5 ",
        VERDICT_VIOLATED},
    {"again after a death, and again", tell_again_and_again, "duplicated=1 ", VERDICT_VIOLATED},
    {"again before the death", tell_again_before_the_death, "duplicated=1 ", VERDICT_VIOLATED},
    {"good while sessions are ended all the time", tell_good_in_storm, "", VERDICT_PASS},
    {"held back while sessions are ended all the time", tell_held_back_in_storm, "late=6 ",
        VERDICT_VIOLATED},
    {"barely in time while sessions are ended all the time", tell_barely_in_time_in_storm, "",
        VERDICT_PASS},
    {"slowly back", tell_slowly_back, "", VERDICT_PASS},
    {"late after its return", tell_late_after_its_return, "late=1 ", VERDICT_VIOLATED},
    {"late after a pause that its session survived", tell_late_after_a_pause, "late=1 ",
        VERDICT_VIOLATED},
    {"full lines between faults", tell_busy_in_storm, "", VERDICT_PASS},
    {"two half-open connections", tell_half_open_twice, "", VERDICT_PASS},
    {"two half-open connections, and back too late", tell_half_open_twice_and_long,
        "late=1 unrecovered=1 ", VERDICT_VIOLATED},
    {"half-open, and then its backend is ended", tell_half_open_then_killed_backend, "",
        VERDICT_PASS},
    {"a restart, and then half-open", tell_restart_then_half_open, "", VERDICT_PASS},
    {"half-open, and a fault that was left out", tell_half_open_and_one_left_out, "", VERDICT_PASS},
    {"late between two pauses", tell_survived_the_first, "late=1 ", VERDICT_VIOLATED},
    {"a session that opened while half-open", tell_session_of_half_open, "", VERDICT_PASS},
    {"never back from two half-open connections", tell_never_back_from_two, "lost=2 unrecovered=2 ",
        VERDICT_VIOLATED},
    {"away in a storm of short pauses", tell_away_in_a_storm, "late=1 unrecovered=1 ",
        VERDICT_VIOLATED},
    {"sent at once after a reconnect", tell_sent_at_reconnect, "", VERDICT_PASS},
    {"early between two faults", tell_early_in_storm, "early=1 ", VERDICT_VIOLATED},
    {"late beside a slow flush", tell_slow_flush, "", VERDICT_PASS},
    {"later than a slow flush explains", tell_later_than_its_stall, "late=1 ", VERDICT_VIOLATED},
    {"late after a slow flush", tell_slow_flush_before, "late=1 ", VERDICT_VIOLATED},
    {"late beside the reader's thousandth stall", tell_late_after_many_stalls, "", VERDICT_PASS},
};

const struct story_cases stories_causes = {cases, sizeof cases / sizeof *cases};
