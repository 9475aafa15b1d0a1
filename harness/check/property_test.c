// Random histories of a good collector, into some of which violations are planted. The checks must
// find exactly those, each as often as it was planted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "check/inside.h"
#include "check/story.h"
#include "plan/rng.h"

enum { HISTORIES = 100000, STEPS_MAX = 12, STEP_MS = 400 };

struct random_story {
    struct story s;
    struct rng rng;
    int64_t now_ms;
    uint64_t planted[METRIC_COUNT];
};

// Writes a line as a good collector does: at once when it is full, else after the timeout.
static void deliver(struct random_story *r, uint32_t first, int rows)
{
    story_line(&r->s, r->now_ms + (rows == 3 ? 2 : 101), first, rows);
}

static int some_rows(struct random_story *r)
{
    return 1 + (int)rng_below(&r->rng, 3);
}

// --- what a good collector does ---------------------------------------------------

static void good(struct random_story *r)
{
    int rows = some_rows(r);

    deliver(r, story_txn(&r->s, r->now_ms, rows), rows);
}

static void good_short(struct random_story *r)
{
    deliver(r, story_txn(&r->s, r->now_ms, 1), 1);
}

static void good_unknown(struct random_story *r)
{
    uint32_t token = story_txn(&r->s, r->now_ms, 1);

    story_last(&r->s)->outcome = TXN_UNKNOWN;
    if (rng_below(&r->rng, 2)) {
        r->s.token_flags[token] = TOKEN_SETTLED;
        deliver(r, token, 1);
    }
}

static void good_rollback(struct random_story *r)
{
    story_txn(&r->s, r->now_ms, some_rows(r));
    story_last(&r->s)->outcome = TXN_ROLLED_BACK;
}

static void good_passed(struct random_story *r)
{
    r->s.kinds[story_txn(&r->s, r->now_ms, 1)] = TOKEN_CONSUMED;
}

static void good_dead_letter(struct random_story *r)
{
    r->s.kinds[story_txn(&r->s, r->now_ms, 1)] = TOKEN_WITHOUT_CODE;
}

// The first transaction stays open and holds the horizon. Both tokens go out after its end.
static void good_held(struct random_story *r)
{
    uint32_t held = story_txn(&r->s, r->now_ms, 1);

    story_last(&r->s)->commit_ns += 150 * NS_PER_MS;
    story_last(&r->s)->ended_ns += 150 * NS_PER_MS;
    story_txn(&r->s, r->now_ms + 10, 1);
    story_line(&r->s, r->now_ms + 255, held, 2);
}

// Tokens that are committed after a fault must come out, too.
static void good_after(struct random_story *r)
{
    r->now_ms += STEP_MS;
    good_short(r);
}

// The collector is killed just after its line, before it could confirm it. The line comes again.
static void good_killed(struct random_story *r)
{
    int rows = some_rows(r);
    uint32_t first = story_txn(&r->s, r->now_ms, rows);

    deliver(r, first, rows);
    story_fault(&r->s, "kill-collector", r->now_ms + 103, r->now_ms + 104);
    story_death(&r->s, r->now_ms + 104, true);
    story_session(&r->s, r->now_ms + 210);
    story_line(&r->s, r->now_ms + 215, first, rows);
    good_after(r);
}

// The session ends while a token waits. The token goes out at once in the next session.
static void good_reconnect(struct random_story *r)
{
    story_fault(&r->s, "terminate-backend", r->now_ms + 5, r->now_ms + 6);
    story_session(&r->s, r->now_ms + 40);
    story_line(&r->s, r->now_ms + 45, story_txn(&r->s, r->now_ms, 1), 1);
    good_after(r);
}

static bool has_room(const struct random_story *r)
{
    return r->s.log.process_count < 6 && r->s.ledger.fault_count < 14;
}

// --- what a bad one does ------------------------------------------------------------

static void plant_lost(struct random_story *r)
{
    int rows = some_rows(r);

    story_txn(&r->s, r->now_ms, rows);
    r->planted[METRIC_LOST] += (uint64_t)rows;
}

static void plant_phantom(struct random_story *r)
{
    good(r);
    story_last(&r->s)->outcome = TXN_ROLLED_BACK;
    r->planted[METRIC_PHANTOM] += r->s.plan_txns[r->s.plan.txn_count - 1].rows;
}

static void plant_premature(struct random_story *r)
{
    deliver(r, story_txn(&r->s, r->now_ms, 3), 3);
    story_last(&r->s)->commit_ns += 50 * NS_PER_MS;
    story_last(&r->s)->ended_ns += 50 * NS_PER_MS;
    r->planted[METRIC_PREMATURE] += 3;
}

static void plant_ineligible(struct random_story *r)
{
    good_short(r);
    r->s.kinds[r->s.plan.token_count - 1] = TOKEN_SUSPENDED;
    r->planted[METRIC_INELIGIBLE]++;
}

static void plant_duplicated(struct random_story *r)
{
    int rows = some_rows(r);
    uint32_t first = story_txn(&r->s, r->now_ms, rows);

    deliver(r, first, rows);
    deliver(r, first, rows);
    r->planted[METRIC_DUPLICATED] += (uint64_t)rows;
}

// Plants a line that comes again after a death, although it was not the last line before the death.
static void plant_again_after_death(struct random_story *r)
{
    uint32_t old = story_txn(&r->s, r->now_ms, 3);

    deliver(r, old, 3);
    r->now_ms += STEP_MS;
    good_killed(r);
    story_line(&r->s, r->now_ms + 150, old, 3);
    r->planted[METRIC_DUPLICATED] += 3;
}

// Plants tokens that are held back for longer than a fault and the slack excuse.
static void plant_held_back(struct random_story *r)
{
    story_fault(&r->s, "terminate-backend", r->now_ms + 5, r->now_ms + 6);
    story_session(&r->s, r->now_ms + 20);
    story_line(&r->s, r->now_ms + 225, story_txn(&r->s, r->now_ms, 2), 2);
    good_after(r);
    r->planted[METRIC_LATE] += 2;
}

static void plant_vanished(struct random_story *r)
{
    good_short(r);
    r->s.token_flags[r->s.plan.token_count - 1] = TOKEN_PRESENT;
    r->planted[METRIC_VANISHED]++;
}

static void plant_over_limit(struct random_story *r)
{
    story_line(&r->s, r->now_ms + 2, story_txn(&r->s, r->now_ms, 5), 5);
    r->planted[METRIC_OVER_LIMIT]++;
}

// The line before is short, so this one is certainly early.
static void plant_early(struct random_story *r)
{
    good_short(r);
    r->now_ms += STEP_MS;
    story_line(&r->s, r->now_ms + 30, story_txn(&r->s, r->now_ms, 2), 2);
    r->planted[METRIC_EARLY]++;
}

static void plant_late(struct random_story *r)
{
    story_line(&r->s, r->now_ms + 155, story_txn(&r->s, r->now_ms, 2), 2);
    r->planted[METRIC_LATE] += 2;
}

static void plant_out_of_order(struct random_story *r)
{
    uint32_t first = story_txn(&r->s, r->now_ms, 3);

    story_line(&r->s, r->now_ms + 7, story_txn(&r->s, r->now_ms + 5, 3), 3);
    story_line(&r->s, r->now_ms + 8, first, 3);
    r->planted[METRIC_OUT_OF_ORDER] += 3;
}

static void plant_torn(struct random_story *r)
{
    story_line(&r->s, r->now_ms, 0, 0)->state = LINE_TORN;
    r->planted[METRIC_TORN]++;
}

static void plant_forged(struct random_story *r)
{
    good(r);
    r->s.deliveries[r->s.log.delivery_count - 1].fingerprint ^= 1;
    r->planted[METRIC_FORGED]++;
}

static void plant_end_state(struct random_story *r)
{
    good(r);
    r->s.token_flags[r->s.plan.token_count - 1] = TOKEN_WAITING;
    r->planted[METRIC_END_STATE]++;
}

// Plants one of the ways in which a dead letter contradicts the rest.
static void plant_bad_dead_letter(struct random_story *r)
{
    static const uint32_t ways[] = {
        TOKEN_BURIED_AGAIN, TOKEN_WAITING, TOKEN_BURIED_AGAIN | TOKEN_WAITING};
    uint64_t way = rng_below(&r->rng, 4);

    if (way < 3)
        good_dead_letter(r);
    else
        good_short(r);
    r->s.token_flags[r->s.plan.token_count - 1] = way < 3 ? ways[way] : TOKEN_DEAD_LETTER;
    r->planted[METRIC_END_STATE]++;
}

static void plant_unplanned_exit(struct random_story *r)
{
    story_death(&r->s, r->now_ms, false);
    r->now_ms += STEP_MS;
    good_short(r);
    r->planted[METRIC_UNPLANNED_EXIT]++;
}

typedef void step_function(struct random_story *r);

// Steps with faults. A story has room for only a few of them.
static step_function *const faulty_steps[] = {good_killed, good_reconnect};
static step_function *const bad_faulty_steps[] = {plant_again_after_death, plant_held_back};

static step_function *const good_steps[] = {good, good, good, good_short, good_unknown,
    good_rollback, good_passed, good_dead_letter, good_held};

static step_function *const bad_steps[] = {plant_lost, plant_phantom, plant_premature,
    plant_ineligible, plant_duplicated, plant_vanished, plant_over_limit, plant_early, plant_late,
    plant_out_of_order, plant_torn, plant_forged, plant_end_state, plant_bad_dead_letter,
    plant_unplanned_exit};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void tell(struct random_story *r, uint64_t seed, bool with_bad)
{
    rng_init(&r->rng, seed, 0);
    memset(r->planted, 0, sizeof r->planted);
    story_init(&r->s);
    r->now_ms = 0;
    story_session(&r->s, -990);
    good_short(r);
    uint64_t steps = rng_below(&r->rng, STEPS_MAX);
    for (uint64_t i = 0; i < steps; i++) {
        r->now_ms += STEP_MS + (int64_t)rng_below(&r->rng, 50);
        // A story has room for eight processes.
        bool faulty = has_room(r) && rng_below(&r->rng, 5) == 0;
        if (faulty && with_bad && rng_below(&r->rng, 2))
            bad_faulty_steps[rng_below(&r->rng, COUNT(bad_faulty_steps))](r);
        else if (faulty)
            faulty_steps[rng_below(&r->rng, COUNT(faulty_steps))](r);
        else if (with_bad && r->s.log.process_count < 7 && rng_below(&r->rng, 4) == 0)
            bad_steps[rng_below(&r->rng, COUNT(bad_steps))](r);
        else
            good_steps[rng_below(&r->rng, COUNT(good_steps))](r);
    }
}

static void expect_planted(struct random_story *r, uint64_t seed)
{
    struct result *result = &r->s.result;
    struct err e = {0};

    story_settle(&r->s);
    result->recovery_ms = calloc(r->s.ledger.fault_count + 1, sizeof *result->recovery_ms);
    assert_non_null(result->recovery_ms);
    if (!check_findings(result, &r->s.ledger, &r->s.input, &e))
        fail_msg("%s", e.text);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (metrics[id].invariant && result->findings[id].count != r->planted[id])
            fail_msg("history %llu: %s found %llu times, planted %llu times: %s",
                (unsigned long long)seed, metrics[id].name,
                (unsigned long long)result->findings[id].count, (unsigned long long)r->planted[id],
                result->findings[id].examples[0]);
    }
    story_fini(&r->s);
}

static void clean_histories(void **state)
{
    static struct random_story r;

    (void)state;
    for (uint64_t seed = 0; seed < HISTORIES / 2; seed++) {
        tell(&r, seed, false);
        expect_planted(&r, seed);
    }
}

static void planted_violations(void **state)
{
    static struct random_story r;

    (void)state;
    for (uint64_t seed = 0; seed < HISTORIES / 2; seed++) {
        tell(&r, seed, true);
        expect_planted(&r, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_histories),
        cmocka_unit_test(planted_violations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
