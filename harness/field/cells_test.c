#include "base/unit.h"
#include "field/asking.h"
#include "field/rates.h"

// Stores a good answer to a question, so that no run is made for it.
static void store_answer(struct field_run *f, const struct question *q)
{
    const struct experiment x = asking_experiment(f, 0, q, 1);
    const struct answer good = {.p99 = 5, .judged = 1, .planned = 1, .struck = 1, .in_hand = 1};
    char key[ANSWERS_KEY_MAX];
    struct err e;

    experiment_key(&x, key);
    assert_true(answer_file_store(&f->answers, key, &good, &e));
}

// Otherwise the progress would say "18/16", and that no time is left.
static void no_run_counts_twice(void **state)
{
    const struct options o = {.field.quick = true, .quiet = true};
    struct manner manner = {.rate = EXPERIMENT_RATE, .drain_s = 15, .claim_s = 5};
    struct field_run f = {.options = &o, .manners = &manner};
    struct err e;

    grid_init(&f.grid, NULL, question_count + cells_speeds, 1);
    assert_true(answer_file_open(&f.answers, NULL, &e));
    store_answer(&f, question_paced);
    for (size_t i = 0; i < question_count; i++)
        store_answer(&f, &questions[i]);
    assert_true(cells_fill(&f, &e));
    assert_int_equal(f.planned, question_count + 1);
    assert_int_equal(f.done, f.planned);
    assert_string_equal(f.grid.rows[0].cells[0].text, "kept; back in under 0.1 s");
    assert_string_equal(cell_of_speed(&f, 0, SPEED_P99)->text, "5.0 ms");
    answer_file_close(&f.answers);
    grid_fini(&f.grid);
}

// A round of the paced run that cannot be made costs its queue the speeds, as other runs do, and
// not the whole table of hours.
static void a_failed_round_ends_no_table(void **state)
{
    const struct options o = {.quiet = true};
    struct manner manner = {.rate = EXPERIMENT_RATE, .drain_s = 15, .claim_s = 5};
    struct field_run f = {.options = &o, .manners = &manner};
    struct err e;

    grid_init(&f.grid, NULL, question_count + cells_speeds, 1);
    snprintf(f.grid.rows[0].name, sizeof f.grid.rows[0].name, "no-such-queue");
    assert_true(answer_file_open(&f.answers, NULL, &e));
    store_answer(&f, question_paced);
    for (size_t i = 0; i < question_count; i++)
        store_answer(&f, &questions[i]);
    assert_true(cells_fill(&f, &e));
    assert_ptr_equal(strstr(cell_of_speed(&f, 0, SPEED_P50)->text, "not run: "),
        cell_of_speed(&f, 0, SPEED_P50)->text);
    assert_string_equal(cell_of_speed(&f, 0, SPEED_P99)->text, "not measured");
    assert_string_equal(cell_of_speed(&f, 0, SPEED_RATE)->text, "not asked");
    answer_file_close(&f.answers);
    grid_fini(&f.grid);
}

// The search for the highest rate may fail after a rate was sustained. The page then shows the
// reason, and must not colour it as a figure.
static void a_failure_is_no_figure(void **state)
{
    struct cell c = {.mark = CELL_FIGURE, .text = "100/s"};
    struct err e;

    err_set(&e, ERR_SKIP, "its shard did not finish");
    assert_true(cell_note_failure(&c, &e));
    assert_string_equal(c.text, "not asked: its shard did not finish");
    assert_int_equal(c.mark, CELL_EMPTY);
}

// Stores that the queue is asked for this many jobs a second, and leaves some of them.
static void store_rate(struct field_run *f, int rate, int seed, double left)
{
    const struct answer a = {.p99 = 5, .judged = 1, .planned = 1, .left = left};
    struct experiment x = asking_experiment(f, 0, question_burst, seed);
    char key[ANSWERS_KEY_MAX];
    struct err e;

    x.rate = rate;
    x.drain_s = 3;
    experiment_key(&x, key);
    assert_true(answer_file_store(&f->answers, key, &a, &e));
}

// An upper bound was measured, whether or not the first seed sustained a lower rate.
static void a_bound_is_a_figure(void **state)
{
    const struct options o = {.quiet = true};
    struct manner manner = {.rate = EXPERIMENT_RATE, .drain_s = 15, .claim_s = 5};
    struct err e;

    for (int sustained = 0; sustained < 2; sustained++) {
        struct field_run f = {.options = &o, .manners = &manner};
        grid_init(&f.grid, NULL, question_count + cells_speeds, 1);
        assert_true(answer_file_open(&f.answers, NULL, &e));
        store_rate(&f, 100, 1, sustained ? 0 : 9);
        for (int rate = 400; rate > 100; rate = 100 + (rate - 100) / 2)
            store_rate(&f, rate, 1, 9);
        store_rate(&f, 100, 2, 9);
        assert_true(rates_fill(&f, &e));
        assert_string_equal(cell_of_speed(&f, 0, SPEED_RATE)->text, "below 100/s");
        assert_int_equal(cell_of_speed(&f, 0, SPEED_RATE)->mark, CELL_FIGURE);
        answer_file_close(&f.answers);
        grid_fini(&f.grid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_run_counts_twice),
        cmocka_unit_test(a_failed_round_ends_no_table),
        cmocka_unit_test(a_failure_is_no_figure),
        cmocka_unit_test(a_bound_is_a_figure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
