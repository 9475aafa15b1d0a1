// Tests that a merge takes trials from a record, and refuses one that this program cannot have
// written.
#include "base/unit.h"
#include "run/cuts/cutrecord.h"

#define ITEM 7

static const struct trial_cuts cuts = {.at = {{MESSAGE_CLIENT, 'B', 1, CUT_BEFORE}}, .count = 1};
static struct trial_result result; // too large for the stack

// Makes a record of the trial without a cut and of one trial, and takes both from it.
static bool take(struct cutrecord *taken, struct err *e)
{
    struct transcript none;
    const struct environment where = {.mailproof = "0"};
    struct record record = {.lines = json_array()};

    transcript_init(&none);
    json_array_append_new(
        record.lines, cutrecord_uncut(ITEM, &(struct trial_result){0}, &none, &where));
    json_array_append_new(record.lines, cutrecord_trial(ITEM, &cuts, &cuts, &result));
    *taken = (struct cutrecord){0};
    bool ok = cutrecord_take(taken, &record, ITEM, e);
    transcript_fini(&none);
    json_decref(record.lines);
    return ok;
}

static void give_back(struct cutrecord *taken)
{
    points_fini(&taken->points);
    free(taken->results);
    transcript_fini(&taken->transcript);
}

static void test_trial_comes_back(void **state)
{
    struct cutrecord taken;
    struct err e = {0};

    result = (struct trial_result){.reached = 1, .cut_ns = {5}, .took_ns = 9};
    if (!take(&taken, &e))
        fail_msg("%s", e.text);
    assert_int_equal(taken.points.count, 1);
    assert_int_equal(taken.points.singles, 1);
    assert_int_equal(taken.results[0].reached, 1);
    assert_int_equal(taken.results[0].cut_ns[0], 5);
    assert_int_equal(taken.took_ns, 9);
    give_back(&taken);
}

// A trial has room for the times of POINTS_CUTS_MAX cuts.
static void test_impossible_number_of_cuts_is_refused(void **state)
{
    static const int reached[] = {-1, POINTS_CUTS_MAX + 1, 1000000};

    for (size_t i = 0; i < sizeof reached / sizeof *reached; i++) {
        struct cutrecord taken;
        struct err e = {0};
        result = (struct trial_result){.reached = reached[i]};
        assert_false(take(&taken, &e));
        assert_int_equal(e.kind, ERR_USAGE);
        give_back(&taken);
    }
}

// A trial of which the record has only broken lines is tried again, with the cuts as they were.
static void test_broken_line_is_not_found(void **state)
{
    struct record record = {.lines = json_array()};
    struct trial_cuts found = cuts;
    const struct trial_cuts none = {0};

    result = (struct trial_result){.reached = POINTS_CUTS_MAX + 1};
    json_array_append_new(record.lines, cutrecord_trial(ITEM, &cuts, &cuts, &result));
    json_array_append_new(record.lines, cutrecord_trial(ITEM, &cuts, &none, &result));
    assert_false(cutrecord_find(&record, ITEM, &cuts, &found, &result));
    assert_memory_equal(&found, &cuts, sizeof cuts);
    assert_false(result.ran);

    result = (struct trial_result){.reached = 1};
    json_array_append_new(record.lines, cutrecord_trial(ITEM, &cuts, &cuts, &result));
    assert_true(cutrecord_find(&record, ITEM, &cuts, &found, &result));
    assert_true(result.ran && result.reached == 1);
    json_decref(record.lines);
}

// Adds the line of a shard's trial without any cut.
static void add_uncut(struct record *record, const char *folder, enum verdict verdict)
{
    struct transcript messages;
    const struct environment where = {.mailproof = "0"};

    result = (struct trial_result){.verdict = verdict};
    transcript_init(&messages);
    assert_true(transcript_add(
        &messages, 1, MESSAGE_CLIENT, 'B', 1, verdict == VERDICT_PASS ? "passed" : "failed"));
    json_t *line = cutrecord_uncut(ITEM, &result, &messages, &where);
    json_object_set_new(line, "in", json_string(folder));
    json_array_append_new(record->lines, line);
    transcript_fini(&messages);
}

// A shard whose collector fails without any cut tries none of its points, so the merge must not
// pass because of another shard.
static void test_worst_trial_without_a_cut_counts(void **state)
{
    static const struct {
        enum verdict first, again, second, worst; // of the first shard, twice, and of the second
    } cases[] = {
        {VERDICT_PASS, VERDICT_PASS, VERDICT_PASS, VERDICT_PASS},
        {VERDICT_PASS, VERDICT_PASS, VERDICT_VIOLATED, VERDICT_VIOLATED},
        {VERDICT_VIOLATED, VERDICT_VIOLATED, VERDICT_PASS, VERDICT_VIOLATED},
        {VERDICT_PASS, VERDICT_INCONCLUSIVE, VERDICT_PASS, VERDICT_INCONCLUSIVE},
        {VERDICT_PASS, VERDICT_PASS, VERDICT_INCONCLUSIVE, VERDICT_INCONCLUSIVE},
        {VERDICT_INCONCLUSIVE, VERDICT_PASS, VERDICT_PASS, VERDICT_PASS},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct record record = {.lines = json_array()};
        struct cutrecord taken = {0};
        struct err e = {0};
        add_uncut(&record, "one", cases[i].first);
        add_uncut(&record, "one", cases[i].again);
        add_uncut(&record, "two", cases[i].second);
        if (!cutrecord_take(&taken, &record, ITEM, &e))
            fail_msg("%s", e.text);
        assert_int_equal(taken.uncut.verdict, cases[i].worst);
        assert_int_equal(taken.transcript.count, 1);
        assert_string_equal(transcript_find(&taken.transcript, MESSAGE_CLIENT, 'B', 1), "passed");
        give_back(&taken);
        json_decref(record.lines);
    }
}

// --retry-inconclusive makes an undecided trial again. Its last line counts, once.
static void test_last_line_of_a_trial_counts(void **state)
{
    struct record record = {.lines = json_array()};
    struct cutrecord taken = {0};
    struct trial_cuts found;
    struct err e = {0};

    add_uncut(&record, "one", VERDICT_PASS);
    for (int took_ns = 1; took_ns <= 3; took_ns++) {
        result = (struct trial_result){.took_ns = took_ns};
        json_array_append_new(record.lines, cutrecord_trial(ITEM, &cuts, &cuts, &result));
    }
    assert_true(cutrecord_find(&record, ITEM, &cuts, &found, &result));
    assert_int_equal(result.took_ns, 3);
    if (!cutrecord_take(&taken, &record, ITEM, &e))
        fail_msg("%s", e.text);
    assert_int_equal(taken.points.count, 1);
    assert_int_equal(taken.results[0].took_ns, 3);
    give_back(&taken);
    json_decref(record.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trial_comes_back),
        cmocka_unit_test(test_impossible_number_of_cuts_is_refused),
        cmocka_unit_test(test_broken_line_is_not_found),
        cmocka_unit_test(test_worst_trial_without_a_cut_counts),
        cmocka_unit_test(test_last_line_of_a_trial_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
