// The words of a cell follow from what the subject promises: a promise that it does not make, or a
// wait that it documents, convicts nobody.
#include "base/unit.h"
#include "field/outcome.h"

#include <math.h>

#include "scenario/promises.h"

#define MOST (PROMISE_NO_LOSS | PROMISE_RECONNECT)

static void one_run_says_what_was_seen(void **state)
{
    static const struct {
        struct seen seen;
        struct terms terms;
        const char *text;
        enum cell_mark mark;
    } cases[] = {
        {{0, 0, 0, 0, NAN, .judged = true}, {MOST, 0, NULL}, "kept", CELL_KEPT},
        {{0, 0, NAN, 0, 230, .judged = true}, {MOST, 0, NULL}, "kept; back in 0.2 s", CELL_KEPT},
        {{0, 0, 4, 0, NAN, .judged = true}, {MOST, 0, NULL}, "kept; 4 again", CELL_KEPT},
        {{0, 0, 4, 0, NAN, .judged = true}, {MOST | PROMISE_ONCE, 0, NULL},
            "doubtful 1 of 1: 4 again", CELL_DOUBTFUL},
        {{0, 0, 0, 0, NAN, .judged = false}, {MOST, 0, NULL}, "doubtful: inconclusive",
            CELL_DOUBTFUL},
        // The jobs that a dead worker held wait as long as the queue's documentation says.
        {{1, 2, 0, 0, NAN, 2, .judged = true, .died = true}, {MOST, 14400, NULL},
            "as documented: 2 jobs wait for a retry (240 min)", CELL_OTHER},
        // No worker died, and a job that its worker took is still not finished.
        {{1, 0, 0, 0, NAN, 1, .judged = true}, {MOST, 14400, "1 h"},
            "held: 1 job of a living worker until a retry (240 min; by default 1 h)", CELL_OTHER},
        // No worker took the other jobs, so they do not wait for a retry.
        {{9, 11, 0, 0, NAN, 2, .judged = true}, {MOST, 14400, NULL},
            "doubtful 1 of 1: 7 missing, 9 left", CELL_DOUBTFUL},
        {{9, 11, 0, 0, NAN, 2, .judged = true, .died = true}, {0, 14400, NULL},
            "as documented: 2 jobs wait for a retry (240 min); not promised: 7 missing, 9 left",
            CELL_OTHER},
        // The number of taken jobs is not known, so neither is why jobs are missing.
        {{1, 2, 0, 0, NAN, NAN, .judged = true}, {MOST, 14400, NULL}, "doubtful: inconclusive",
            CELL_DOUBTFUL},
        {{1, 0, 0, 2, NAN, 1, .judged = true}, {MOST, 14400, NULL}, "doubtful 1 of 1: 2 exits",
            CELL_DOUBTFUL},
        {{1, 0, 0, 2, NAN, 1, .judged = true, .died = true}, {PROMISE_NO_LOSS, 14400, NULL},
            "as documented: 1 job waits for a retry (240 min); not promised: 2 exits", CELL_OTHER},
        {{0, 0, 2, 1, 1800, .judged = true}, {PROMISE_NO_LOSS, 0, NULL},
            "not promised: 1 exit; 2 again; back in 1.8 s", CELL_OTHER},
        {{3, 0, 0, 0, NAN, .judged = true}, {0, 0, NULL}, "not promised: 3 missing", CELL_OTHER},
        {{NAN, NAN, NAN, NAN, NAN, .missed = true}, {MOST, 0, NULL}, "not asked: no target",
            CELL_EMPTY},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o = OUTCOME_INIT;
        struct cell c = {0};
        outcome_add(&o, &cases[i].seen, &cases[i].terms);
        outcome_cell(&o, &cases[i].terms, &c);
        assert_string_equal(c.text, cases[i].text);
        assert_int_equal(c.mark, cases[i].mark);
    }
}

static void add(
    struct outcome *o, int promises, double lost, double again, double exits, bool judged)
{
    struct terms terms = {promises, 0, NULL};
    struct seen seen = {
        .lost = lost, .again = again, .exits = exits, .recovery_ms = 1000, .judged = judged};

    outcome_add(o, &seen, &terms);
}

// A broken cell shows only what broke a promise, over all runs, and in how many of them.
static void several_runs_convict_by_their_number(void **state)
{
    struct terms terms = {MOST, 0, NULL};
    struct outcome o = OUTCOME_INIT;
    struct cell c = {0};

    add(&o, MOST, 0, 5, 3, true);
    outcome_cell(&o, &terms, &c);
    assert_string_equal(c.text, "doubtful 1 of 1: 3 exits");
    add(&o, MOST, 0, 0, 0, true);
    outcome_cell(&o, &terms, &c);
    assert_string_equal(c.text, "doubtful 1 of 2: 3 exits");
    add(&o, MOST, 2, 7, 1, true);
    add(&o, MOST, 9, 9, 9, false); // an inconclusive run counts for nothing
    outcome_cell(&o, &terms, &c);
    assert_string_equal(c.text, "broken 2 of 3: 2 missing, 1 to 3 exits");
    assert_int_equal(c.broken, MOST);
    assert_int_equal(c.mark, CELL_BROKEN);
}

// When several runs keep all promises, the cell shows their number, without runs whose fault found
// no target.
static void several_runs_that_keep_are_counted(void **state)
{
    const struct terms terms = {MOST, 0, NULL};
    struct seen missed = {.missed = true};
    struct outcome o = OUTCOME_INIT;
    struct cell c = {0};

    add(&o, MOST, 0, 0, 0, true);
    add(&o, MOST, 0, 0, 0, true);
    outcome_add(&o, &missed, &terms);
    outcome_cell(&o, &terms, &c);
    assert_string_equal(c.text, "kept 2 of 2; back in 1.0 s");
    assert_int_equal(c.mark, CELL_KEPT);
}

// The cell tells in how many runs the consumer lived on and took no job.
static void a_deaf_consumer_is_told(void **state)
{
    const struct terms terms = {MOST, 0, NULL};
    struct seen seen = {.lost = 9, .recovery_ms = NAN, .judged = true, .deaf = true};
    struct outcome o = OUTCOME_INIT;
    struct cell c = {0};

    outcome_add(&o, &seen, &terms);
    outcome_add(&o, &seen, &terms);
    seen.taken = 9; // a dead worker holds them all
    outcome_add(&o, &seen, &terms);
    seen.taken = 0;
    seen.exits = 1; // it ended by itself
    outcome_add(&o, &seen, &terms);
    outcome_cell(&o, &terms, &c);
    assert_non_null(strstr(c.text, "broken 4 of 4: 9 missing"));
    assert_non_null(strstr(c.text, "; alive but deaf in 2"));
}

// The answer to what the question asks besides stands behind the verdict.
static void a_cell_tells_what_its_question_asks(void **state)
{
    static const struct {
        enum asks asks;
        struct seen seen;
        const char *text;
    } cases[] = {
        {ASKS_RERUN, {.rerun_ms = 6150}, "kept; again after 6.2 s (by default 15 min)"},
        {ASKS_RERUN, {.rerun_ms = NAN}, "kept"},
        {ASKS_AT_ONCE, {.again = 3, .at_once = 2},
            "kept; 3 again; 2 at once with another of the same job"},
        {ASKS_AT_ONCE, {.at_once = 0}, "kept"},
        {ASKS_ATTEMPTS,
            {.attempts = 4, .gap_min_ms = 1000, .gap_max_ms = 4000, .failing = 2, .failed = 2},
            "kept; 4 attempts, 1.0 to 4.0 s apart, then kept as failed"},
        {ASKS_ATTEMPTS,
            {.attempts = 3, .gap_min_ms = 2, .gap_max_ms = 2, .failing = 2, .failed = 0},
            "kept; 3 attempts, 0.0 s apart, then gone"},
        {ASKS_ATTEMPTS,
            {.attempts = 2, .gap_min_ms = NAN, .gap_max_ms = NAN, .failing = 1, .failed = 1},
            "kept; 2 attempts, then kept as failed"},
        {ASKS_ATTEMPTS, {.attempts = 1, .failing = 2, .failed = NAN, .retried = 2},
            "kept; 1 attempt; still tried at the end of the run"},
        {ASKS_ATTEMPTS, {.attempts = 1, .failing = 2, .failed = NAN, .retried = NAN},
            "kept; 1 attempt; what became of them is not known"},
    };
    const struct terms terms = {PROMISE_NO_LOSS, 0, "15 min"};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o = OUTCOME_INIT;
        struct seen seen = cases[i].seen;
        struct cell c = {0};
        o.asks = cases[i].asks;
        seen.judged = true;
        seen.recovery_ms = 100;
        outcome_add(&o, &seen, &terms);
        outcome_cell(&o, &terms, &c);
        assert_string_equal(c.text, cases[i].text);
    }
}

static void a_run_tells_only_what_convicts(void **state)
{
    struct seen seen = {.lost = 1, .left = 2, .again = 3, .exits = 1, .taken = 2, .judged = true};
    char text[100] = "";

    outcome_tell(&seen, &(struct terms){MOST, 0, NULL}, text, sizeof text);
    assert_string_equal(text, "1 missing, 2 left, 1 exit");
    *text = '\0';
    outcome_tell(&seen, &(struct terms){PROMISE_NO_LOSS, 14400, NULL}, text, sizeof text);
    assert_string_equal(text, "kept");
    seen.taken = NAN; // nobody knows whether the missing ones wait for that retry
    *text = '\0';
    outcome_tell(&seen, &(struct terms){PROMISE_NO_LOSS, 14400, NULL}, text, sizeof text);
    assert_string_equal(text, "inconclusive");
    seen.judged = false;
    *text = '\0';
    outcome_tell(&seen, &(struct terms){MOST, 0, NULL}, text, sizeof text);
    assert_string_equal(text, "inconclusive");
    seen = (struct seen){.judged = true, .missed = true};
    *text = '\0';
    outcome_tell(&seen, &(struct terms){MOST, 0, NULL}, text, sizeof text);
    assert_string_equal(text, "no target");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_says_what_was_seen),
        cmocka_unit_test(several_runs_convict_by_their_number),
        cmocka_unit_test(several_runs_that_keep_are_counted),
        cmocka_unit_test(a_deaf_consumer_is_told),
        cmocka_unit_test(a_cell_tells_what_its_question_asks),
        cmocka_unit_test(a_run_tells_only_what_convicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
