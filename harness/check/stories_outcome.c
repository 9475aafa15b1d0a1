// Stories of leased mode: what the sender answered, what came again, and what the
// collector has recorded.
#include "check/stories.h"

#include "base/clock.h"

// Allows three attempts, a delay of at most 200 ms before a retry, and a second for an answer.
static void tell_leases(struct story *s)
{
    static struct setting leased[] = {{"MAILROOM_ATTEMPTS", "3"}, {"MAILROOM_RETRY_BASE", "100"},
        {"MAILROOM_RETRY_MAX", "200"}, {"MAILROOM_ANSWER_TIMEOUT", "1000"}};

    s->scenario.collector.dequeue = DEQUEUE_LEASED;
    s->scenario.collector.env = (struct settings){leased, sizeof leased / sizeof *leased};
}

// Tells a line of `count` tokens, and one answer for all of them `after_ms` later.
static void tell_attempt(
    struct story *s, int64_t read_ms, uint32_t first, int count, enum reply reply, int64_t after_ms)
{
    struct line_record *line = story_line(s, read_ms, first, count);

    for (int i = 0; i < count; i++) {
        struct delivery *d = &s->deliveries[line->first_delivery + (uint32_t)i];
        d->reply = (uint8_t)reply;
        d->replied_ns = reply == REPLY_NEVER ? 0 : line->read_ns + after_ms * NS_PER_MS;
    }
}

static void tell_sent(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_SENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
}

static void tell_tried_again(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    tell_attempt(s, 300, 0, 1, REPLY_NEVER, 0);
    tell_attempt(s, 1500, 0, 1, REPLY_SENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
}

// The second attempt begins before the first was answered.
static void tell_double_leased(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_SENT, 250);
    tell_attempt(s, 200, 0, 1, REPLY_SENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
}

// The first attempt was written while the reader was paused, and given up before it was read.
static void tell_given_up_unread(struct story *s)
{
    tell_double_leased(s);
    story_session(s, -990);
    story_fault(s, "pause-reader", 100, 149);
}

// The answer that the token was sent got through, and yet the token comes again.
static void tell_resurrected(struct story *s)
{
    tell_sent(s);
    tell_attempt(s, 400, 0, 1, REPLY_SENT, 10);
}

// An old snapshot harms nobody, and the other collector's death excuses nothing.
static void tell_resurrected_beside_faults(struct story *s)
{
    tell_resurrected(s);
    story_second(s);
    story_session(s, -990);
    story_fault(s, "old-snapshot", 100, 3000);
    story_fault(s, "kill-collector", 200, 210);
    s->specs[1].instance = 1;
}

// The session ended just after the answer, which may be unrecorded.
static void tell_session_ended_with_the_answer(struct story *s)
{
    tell_resurrected(s);
    story_session(s, -990);
    story_fault(s, "terminate-backend", 161, 162);
    story_session(s, 200);
}

// The collector died with an answer that it had not recorded.
static void tell_died_with_the_answer(struct story *s)
{
    tell_sent(s);
    story_death(s, 170, true);
    story_fault(s, "kill-collector", 169, 170);
    tell_attempt(s, 700, 0, 1, REPLY_SENT, 10);
}

// The attempt gets no answer; with REPLY_DIED the sender dies of it at 400 ms. The collector ends
// 50 ms later. A token that came meanwhile waits for the next collector.
static void tell_unanswered(struct story *s, enum reply reply)
{
    tell_leases(s);
    s->scenario.collector.sender.dies = 0.01;
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, reply, 250);
    uint32_t next = story_txn(s, 420, 1);
    story_death(s, 450, true);
    s->processes[0].status = 74 << 8;
    story_session(s, -900);
    story_session(s, 800);
    tell_attempt(s, 810, 0, 1, REPLY_SENT, 10);
    tell_attempt(s, 820, next, 1, REPLY_SENT, 10);
    s->outcomes[0] = s->outcomes[next] = OUTCOME_SENT;
}

static void tell_sender_died(struct story *s)
{
    tell_unanswered(s, REPLY_DIED);
}

// The same story, without the death of the sender that would explain it.
static void tell_nobody_died(struct story *s)
{
    tell_unanswered(s, REPLY_NEVER);
}

// The collector lives on long after its sender died, and never gives the token back.
static void tell_outlived(struct story *s)
{
    tell_leases(s);
    s->scenario.collector.sender.dies = 0.01;
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_DIED, 50);
    story_session(s, -900);
}

// 51 retries, each a millisecond after its error; full jitter would be 100 ms.
static void tell_early_retries(struct story *s)
{
    tell_leases(s);
    for (int i = 0; i < 17; i++) {
        uint32_t first = story_txn(s, 50 + 100 * i, 3);
        tell_attempt(s, 60 + 100 * i, first, 3, REPLY_TRANSIENT, 10);
        tell_attempt(s, 71 + 100 * i, first, 3, REPLY_SENT, 10);
        for (uint32_t t = first; t < first + 3; t++)
            s->outcomes[t] = OUTCOME_SENT;
    }
}

// The token waits in the database for its retry, and nobody tries it again.
static void tell_never_retried(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    s->token_flags[0] = TOKEN_UNMARKED;
}

static void tell_given_up_soon(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    s->outcomes[0] = OUTCOME_DEAD;
}

// A line comes before the timeout of 100 ms, namely 50 ms after the first announcement in it. It is
// in time if it holds a retry that was due, and early if it does not.
static void tell_short_line(struct story *s, bool retry)
{
    tell_leases(s);
    tell_attempt(s, 160, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    uint32_t next = story_txn(s, 400, 1);
    struct line_record *line = story_line(s, 450, next, 1);
    s->deliveries[line->first_delivery].reply = REPLY_SENT;
    s->deliveries[line->first_delivery].replied_ns = line->read_ns + NS_PER_MS;
    if (retry) {
        s->deliveries[s->log.delivery_count++] =
            (struct delivery){.token = 0, .line = 1, .fingerprint = 1000, .reply = REPLY_SENT};
        s->deliveries[line->first_delivery + 1].replied_ns = line->read_ns + NS_PER_MS;
        line->tokens = 2;
    } else {
        tell_attempt(s, 600, 0, 1, REPLY_SENT, 10);
    }
    s->outcomes[0] = s->outcomes[next] = OUTCOME_SENT;
}

static void tell_due(struct story *s)
{
    tell_short_line(s, true);
}

static void tell_early(struct story *s)
{
    tell_short_line(s, false);
}

static void tell_over_attempts(struct story *s)
{
    tell_leases(s);
    story_txn(s, 50, 1);
    for (int i = 0; i < 4; i++)
        tell_attempt(s, 150 + 150 * i, 0, 1, REPLY_TRANSIENT, 10);
    s->outcomes[0] = OUTCOME_DEAD;
}

static void tell_misrecorded(struct story *s)
{
    tell_sent(s);
    s->outcomes[0] = OUTCOME_DEAD;
}

static void tell_recorded_unsent(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_PERMANENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
}

// The token was answered, but has no end in the database when the run is over.
static void tell_stuck(struct story *s)
{
    tell_sent(s);
    s->outcomes[0] = OUTCOME_NONE;
}

// Adds an attempt of the first token to those that the database holds.
static void tell_recorded(struct story *s, int number, enum attempt_end end)
{
    s->attempts[s->attempt_count++] =
        (struct attempt_record){.number = (uint16_t)number, .end = (uint8_t)end};
}

// The database holds a lease that never became a line, an error, an answer that came too late, a
// silence, and the end.
static void tell_history(struct story *s)
{
    tell_tried_again(s);
    tell_recorded(s, 1, ATTEMPT_RETURNED);
    tell_recorded(s, 2, ATTEMPT_TRANSIENT);
    tell_recorded(s, 3, ATTEMPT_LATE);
    tell_recorded(s, 3, ATTEMPT_TRANSIENT);
    tell_recorded(s, 4, ATTEMPT_SENT);
}

static void tell_number_left_out(struct story *s)
{
    tell_sent(s);
    tell_recorded(s, 2, ATTEMPT_SENT);
}

// The sender answered that the attempt failed, but the database has it as given back.
static void tell_error_excused(struct story *s)
{
    tell_tried_again(s);
    tell_recorded(s, 1, ATTEMPT_RETURNED);
    tell_recorded(s, 2, ATTEMPT_TRANSIENT);
    tell_recorded(s, 3, ATTEMPT_SENT);
}

static void tell_attempt_invented(struct story *s)
{
    tell_sent(s);
    tell_recorded(s, 1, ATTEMPT_TRANSIENT);
    tell_recorded(s, 2, ATTEMPT_SENT);
}

static void tell_attempt_forgotten(struct story *s)
{
    tell_tried_again(s);
    tell_recorded(s, 1, ATTEMPT_TRANSIENT);
    tell_recorded(s, 2, ATTEMPT_SENT);
}

// The database holds an answer to a token that was in no line.
static void tell_answer_invented(struct story *s)
{
    tell_leases(s);
    story_txn(s, 50, 1);
    s->token_flags[0] = TOKEN_UNMARKED;
    tell_recorded(s, 1, ATTEMPT_DEAD);
}

// The retry opens the window at 300 ms and goes out in the full line. Two tokens stay behind it.
static void tell_rest_behind_a_retry(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    story_txn(s, 370, 4);
    tell_attempt(s, 375, 0, 3, REPLY_SENT, 10);
    tell_attempt(s, 400, 3, 2, REPLY_SENT, 10);
    for (uint32_t t = 0; t < 5; t++)
        s->outcomes[t] = OUTCOME_SENT;
}

// The collector dies before the first error is answered. Then three errors are answered.
static void tell_error_unanswered(struct story *s)
{
    tell_leases(s);
    tell_attempt(s, 150, story_txn(s, 50, 1), 1, REPLY_TRANSIENT, 10);
    s->deliveries[0].replied_ns = 0;
    story_death(s, 155, true);
    story_fault(s, "kill-collector", 154, 155);
    story_session(s, -990);
    story_session(s, 300);
    for (int i = 0; i < 3; i++)
        tell_attempt(s, 900 + 250 * i, 0, 1, REPLY_TRANSIENT, 10);
    s->outcomes[0] = OUTCOME_DEAD;
    tell_recorded(s, 1, ATTEMPT_LOST);
    tell_recorded(s, 2, ATTEMPT_TRANSIENT);
    tell_recorded(s, 3, ATTEMPT_TRANSIENT);
    tell_recorded(s, 4, ATTEMPT_DEAD);
}

// The reader of the first of two collectors is paused, and the attempt in its pipe is given up. The
// other one tries the token, which is answered or not. Then the pipe is read.
static void tell_read_late(struct story *s, enum reply reply, int64_t paused_ms, int64_t tried_ms)
{
    tell_leases(s);
    s->scenario.collector.batch_limit = 1;
    story_txn(s, 50, 1);
    story_second(s);
    story_session(s, -990);
    story_fault(s, "pause-reader", paused_ms, 1600);
    s->specs[0].instance = 0;
    tell_attempt(s, tried_ms, 0, 1, reply, 10);
    tell_attempt(s, 1601, 0, 1, REPLY_SENT, 10);
    story_by(s, 0);
    s->outcomes[0] = OUTCOME_SENT;
}

static void tell_read_after_sent(struct story *s)
{
    tell_read_late(s, REPLY_SENT, 100, 1300);
}

static void tell_read_after_silence(struct story *s)
{
    tell_read_late(s, REPLY_NEVER, 100, 1300);
}

// The pause began when the token had been sent.
static void tell_written_after_sent(struct story *s)
{
    tell_read_late(s, REPLY_SENT, 1400, 150);
}

// The line lay unread until 1050 ms, and is answered 70 ms later. The collector had given it up a
// second after it had written it, and tries the token again.
static void tell_answered_too_late(struct story *s, int64_t paused_ms)
{
    tell_leases(s);
    story_session(s, -990);
    story_fault(s, "pause-reader", paused_ms, 1050);
    tell_attempt(s, 1051, story_txn(s, 30, 1), 1, REPLY_SENT, 70);
    tell_attempt(s, 1200, 0, 1, REPLY_SENT, 10);
    s->outcomes[0] = OUTCOME_SENT;
    tell_recorded(s, 1, ATTEMPT_TRANSIENT);
    tell_recorded(s, 1, ATTEMPT_LATE);
    tell_recorded(s, 2, ATTEMPT_SENT);
}

static void tell_given_up_before_the_answer(struct story *s)
{
    tell_answered_too_late(s, 40);
}

// The reader was paused for half a second, so the answer came in time.
static void tell_answered_in_time(struct story *s)
{
    tell_answered_too_late(s, 550);
}

// Nobody answers four attempts, and after each the collector waits twice as long as before. The
// fifth would come after the end.
static void tell_waits_long(struct story *s)
{
    static struct setting leased[] = {
        {"MAILROOM_RETRY_BASE", "500"}, {"MAILROOM_ANSWER_TIMEOUT", "100"}};

    s->scenario.collector.dequeue = DEQUEUE_LEASED;
    s->scenario.collector.env = (struct settings){leased, sizeof leased / sizeof *leased};
    story_txn(s, 50, 1);
    tell_attempt(s, 150, 0, 1, REPLY_NEVER, 0);
    tell_attempt(s, 1000, 0, 1, REPLY_NEVER, 0);
    tell_attempt(s, 3000, 0, 1, REPLY_NEVER, 0);
    tell_attempt(s, 7000, 0, 1, REPLY_NEVER, 0);
    s->token_flags[0] = TOKEN_UNMARKED;
}

static const struct story_case cases[] = {
    {"sent", tell_sent, "", VERDICT_PASS},
    {"tried again after an error and after silence", tell_tried_again, "", VERDICT_PASS},
    {"leased twice at once", tell_double_leased, "double_leased=1 ", VERDICT_VIOLATED},
    {"given up before it was read", tell_given_up_unread, "", VERDICT_PASS},
    {"read late, when it had been sent", tell_read_after_sent, "", VERDICT_PASS},
    {"read late, when it had been leased again", tell_read_after_silence, "", VERDICT_PASS},
    {"written when it had been sent", tell_written_after_sent, "resurrected=1 ", VERDICT_VIOLATED},
    {"sent, and tried again", tell_resurrected, "resurrected=1 ", VERDICT_VIOLATED},
    {"sent, and tried again beside faults that are not its own", tell_resurrected_beside_faults,
        "resurrected=1 ", VERDICT_VIOLATED},
    {"sent, and its session ended", tell_session_ended_with_the_answer, "", VERDICT_PASS},
    {"died before the answer was recorded", tell_died_with_the_answer, "", VERDICT_PASS},
    {"the sender died of it", tell_sender_died, "", VERDICT_PASS},
    {"late, and no sender died", tell_nobody_died, "late=1 ", VERDICT_VIOLATED},
    {"never given back", tell_outlived, "never_retried=1 ", VERDICT_VIOLATED},
    {"retried at once", tell_early_retries, "early_retry=51 ", VERDICT_VIOLATED},
    {"failed, and forgotten", tell_never_retried, "never_retried=1 ", VERDICT_VIOLATED},
    {"a retry that is due fires the window", tell_due, "", VERDICT_PASS},
    {"the rest behind a full line with a retry", tell_rest_behind_a_retry, "", VERDICT_PASS},
    {"no retry in a line that fires early", tell_early, "early=1 ", VERDICT_VIOLATED},
    {"answered when it had been given up", tell_given_up_before_the_answer, "", VERDICT_PASS},
    {"answered in time, and tried again", tell_answered_in_time,
        "late=1 resurrected=1 misrecorded=1 ", VERDICT_VIOLATED},
    {"waits long for its retry", tell_waits_long, "", VERDICT_INCONCLUSIVE},
    {"tried once more than errors were answered", tell_error_unanswered, "", VERDICT_PASS},
    {"tried too often", tell_over_attempts, "over_attempts=1 ", VERDICT_VIOLATED},
    {"sent, and recorded as dead", tell_misrecorded, "misrecorded=1 ", VERDICT_VIOLATED},
    {"refused, and recorded as sent", tell_recorded_unsent, "misrecorded=1 ", VERDICT_VIOLATED},
    {"failed once, and recorded as dead", tell_given_up_soon, "misrecorded=1 ", VERDICT_VIOLATED},
    {"a history of attempts", tell_history, "", VERDICT_PASS},
    {"an attempt's number left out", tell_number_left_out, "misrecorded=1 ", VERDICT_VIOLATED},
    {"failed, and recorded as given back", tell_error_excused, "misrecorded=1 ", VERDICT_VIOLATED},
    {"an attempt without a line", tell_attempt_invented, "misrecorded=1 ", VERDICT_VIOLATED},
    {"a line without an attempt", tell_attempt_forgotten, "misrecorded=1 ", VERDICT_VIOLATED},
    {"never in a line, and dead", tell_answer_invented, "lost=1 misrecorded=1 ", VERDICT_VIOLATED},
    {"answered, and never recorded", tell_stuck, "lost=1 ", VERDICT_VIOLATED},
};

const struct story_cases stories_outcome = {cases, sizeof cases / sizeof *cases};
