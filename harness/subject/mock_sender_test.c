// The sender that the harness plays: what it answers, and when it dies.
#include "base/unit.h"
#include "subject/mock_sender.h"

// A sender that dies at an attempt has given the answers that were due before. It gives none after.
static void a_sender_dies_of_an_attempt(void **state)
{
    struct delivery deliveries[3] = {{.token = 0}, {.token = 1}, {.token = 2}};
    struct subject_log log = {.deliveries = deliveries, .delivery_count = 3};
    struct scenario_sender manner = {.dies = 1};
    uint8_t tries[3] = {0};
    struct mock_sender s;
    int ends[2];
    char said[64];

    assert_int_equal(pipe(ends), 0);
    mock_sender_init(&s, &manner, false, 1, tries, 3);
    mock_sender_begin(&s, ends[1]);
    for (uint32_t i = 0; i < 3; i++) {
        struct line_record line = {
            .read_ns = INT64_C(10) * (i + 1), .tokens = 1, .first_delivery = i};
        log.lines = &line;
        manner.dies = i == 1;
        mock_sender_line(&s, &log, 0, SENDER_WORKS);
    }
    assert_int_equal(deliveries[1].reply, REPLY_DIED);
    assert_false(mock_sender_say(&s, &log, SENDER_WORKS, 5));
    assert_true(mock_sender_say(&s, &log, SENDER_WORKS, 50));
    assert_int_equal(read(ends[0], said, sizeof said), strlen("1.1 sent\n"));
    assert_memory_equal(said, "1.1 sent\n", strlen("1.1 sent\n"));
    assert_int_equal(read(ends[0], said, sizeof said), 0); // the sender has closed its end
    assert_int_equal(deliveries[1].replied_ns, 50);
    assert_int_equal(deliveries[2].replied_ns, 0);
    assert_false(mock_sender_say(&s, &log, SENDER_WORKS, 60));
    mock_sender_fini(&s);
    close(ends[0]);
}

// A job whose process dies before its handler's answer must come again. One that fails each time
// need not.
static void a_handler_without_an_answer_is_refused(void **state)
{
    struct delivery deliveries[4] = {{.token = 0}, {.token = 1}, {.token = 1}, {.token = 2}};
    struct subject_log log = {.deliveries = deliveries, .delivery_count = 4};
    struct scenario_sender manner = {0};
    uint8_t tries[3] = {0};
    struct mock_sender s;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    mock_sender_init(&s, &manner, true, 1, tries, 3);
    mock_sender_begin(&s, ends[1]);
    for (uint32_t i = 0; i < 4; i++) {
        struct line_record line = {.read_ns = 10, .tokens = 1, .first_delivery = i};
        log.lines = &line;
        manner.permanent = i == 1 || i == 2;
        manner.delay_from_ns = manner.delay_to_ns = i == 3 ? 1000 : 0;
        mock_sender_line(&s, &log, 0, SENDER_WORKS);
    }
    assert_false(mock_sender_say(&s, &log, SENDER_WORKS, 20));
    mock_sender_abandon(&s, &log);
    assert_int_equal(deliveries[0].flags, 0);
    assert_int_equal(deliveries[1].reply, REPLY_PERMANENT);
    assert_int_equal(deliveries[1].flags, 0);
    assert_int_equal(deliveries[2].flags, DELIVERY_REFUSED);
    assert_int_equal(deliveries[3].flags, DELIVERY_REFUSED);
    mock_sender_fini(&s);
    close(ends[0]);
}

// The sender dies at about the share of attempts that the scenario names. The seed decides at
// which, for a second attempt anew. The answers to all other attempts are those of a sender that
// never dies.
static void deaths_are_drawn_by_seed(void **state)
{
    const struct scenario_sender manner = {.error = 0.2, .dies = 0.1}, calm = {.error = 0.2};
    int deaths = 0, both = 0;

    for (uint32_t token = 0; token < 10000; token++) {
        struct sender_reply r = mock_sender_draw(&manner, 7, token, 0);
        bool died = r.reply == REPLY_DIED;
        assert_int_equal(r.reply, mock_sender_draw(&manner, 7, token, 0).reply);
        if (!died)
            assert_int_equal(r.reply, mock_sender_draw(&calm, 7, token, 0).reply);
        deaths += died;
        both += died && mock_sender_draw(&manner, 7, token, 1).reply == REPLY_DIED;
    }
    assert_in_range(deaths, 800, 1200);
    assert_in_range(both, 30, 250);
}

#define BINS 64
#define DRAWS 16384

// Chi-square of delays that should be uniform in [0, BINS).
static double chi_square(const int counts[BINS])
{
    const double expected = (double)DRAWS / BINS;
    double sum = 0;

    for (int i = 0; i < BINS; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    return sum;
}

// The first draws of neighbouring seeds, tokens and attempts are as good as any: 64 bins have 63
// degrees of freedom, for which chi-square exceeds 130 in one of a million samples. For numbers
// that take turns it is near 0, so it must exceed 20, too.
static void first_draws_are_uniform(void **state)
{
    const struct scenario_sender manner = {.delay_to_ns = BINS};

    for (uint32_t fixed = 0; fixed < 8; fixed++) {
        int by_seed[BINS] = {0}, by_token[BINS] = {0}, by_attempt[BINS] = {0};
        for (uint32_t i = 0; i < DRAWS; i++) {
            by_seed[mock_sender_draw(&manner, i, fixed, 0).delay_ns]++;
            by_token[mock_sender_draw(&manner, fixed, i, 0).delay_ns]++;
            by_attempt[mock_sender_draw(&manner, fixed, i / 256, i % 256).delay_ns]++;
        }
        assert_true(chi_square(by_seed) > 20 && chi_square(by_seed) < 130);
        assert_true(chi_square(by_token) > 20 && chi_square(by_token) < 130);
        assert_true(chi_square(by_attempt) > 20 && chi_square(by_attempt) < 130);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sender_dies_of_an_attempt),
        cmocka_unit_test(a_handler_without_an_answer_is_refused),
        cmocka_unit_test(deaths_are_drawn_by_seed),
        cmocka_unit_test(first_draws_are_uniform),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
