#include "timing/window.h"

#include "base/unit.h"

#define MS NS_PER_MS

static void init(struct window *w, int limit, int64_t timeout_ms)
{
    struct err e;

    assert_true(window_init(w, limit, timeout_ms * MS, &e));
    window_restart(w, 0);
}

static void announce(struct window *w, int64_t first, int64_t last, int64_t now_ns)
{
    for (int64_t id = first; id <= last; id++)
        window_announce(w, id, now_ns);
}

// A read that was sent at sent_ns shows everything: the tokens first to last.
static void shows(struct window *w, int64_t first, int64_t last, int64_t sent_ns, int64_t now_ns)
{
    window_read_sent(w, sent_ns);
    window_shown_all(w, now_ns);
    for (int64_t id = first; id <= last; id++)
        window_shown(w, id);
}

static void taken(struct window *w, int64_t first, int64_t last, int64_t now_ns)
{
    for (int64_t id = first; id <= last; id++)
        window_taken(w, id, now_ns);
}

static void nothing_waits(void **state)
{
    struct window w;

    init(&w, 3, 100);
    assert_int_equal(window_due_ns(&w), CLOCK_NEVER);
    assert_int_equal(window_timeout_ns(&w), CLOCK_NEVER);
    window_fini(&w);
    window_fini(&w);
}

static void fires_at_the_limit_or_the_timeout_of_the_first(void **state)
{
    struct window w;

    init(&w, 3, 100);
    window_announce(&w, 1, 10 * MS);
    window_announce(&w, 2, 50 * MS);
    assert_int_equal(window_due_ns(&w), 110 * MS);
    window_announce(&w, 3, 60 * MS);
    assert_int_equal(window_due_ns(&w), 0);
    assert_int_equal(window_timeout_ns(&w), 110 * MS);
    window_fini(&w);
}

static void timeout_zero_is_at_once(void **state)
{
    struct window w;

    init(&w, 3, 0);
    window_announce(&w, 1, 10 * MS);
    assert_true(window_due_ns(&w) <= 10 * MS);
    shows(&w, 5, 5, 11 * MS, 12 * MS);
    assert_true(window_due_ns(&w) <= 12 * MS);
    window_fini(&w);
}

// Only a read shows whether a token is eligible.
static void a_read_corrects_the_count(void **state)
{
    struct window w;

    init(&w, 3, 100);
    announce(&w, 1, 3, 10 * MS);
    shows(&w, 3, 3, 11 * MS, 12 * MS);
    assert_int_equal(window_due_ns(&w), 110 * MS);
    shows(&w, 1, 0, 13 * MS, 14 * MS);
    assert_int_equal(window_due_ns(&w), CLOCK_NEVER);
    window_fini(&w);
}

static void announced_during_the_read_stays(void **state)
{
    struct window w;

    init(&w, 3, 100);
    window_announce(&w, 1, 10 * MS);
    window_read_sent(&w, 20 * MS);
    window_announce(&w, 2, 21 * MS);
    window_shown_all(&w, 22 * MS);
    window_shown(&w, 1);
    assert_int_equal(window_due_ns(&w), 110 * MS);
    taken(&w, 1, 1, 23 * MS);
    assert_int_equal(window_due_ns(&w), 121 * MS);
    window_fini(&w);
}

static void shown_and_announced_counts_once(void **state)
{
    struct window w;

    init(&w, 3, 100);
    window_read_sent(&w, 20 * MS);
    announce(&w, 1, 2, 21 * MS);
    window_shown_all(&w, 22 * MS);
    window_shown(&w, 1);
    window_shown(&w, 2);
    assert_int_equal(window_due_ns(&w), 121 * MS);
    window_fini(&w);
}

// A full batch may hold tokens whose announcements are still on their way.
static void taken_before_announced_starts_no_timeout(void **state)
{
    struct window w;

    init(&w, 3, 100);
    announce(&w, 1, 2, 10 * MS);
    taken(&w, 1, 3, 20 * MS);
    shows(&w, 1, 0, 20 * MS, 21 * MS);
    window_announce(&w, 3, 22 * MS);
    assert_int_equal(window_due_ns(&w), CLOCK_NEVER);
    // Much later the same id is another token.
    window_announce(&w, 3, 5000 * MS);
    assert_int_equal(window_due_ns(&w), 5100 * MS);
    window_fini(&w);
}

static void the_rest_of_a_full_batch_keeps_its_own_time(void **state)
{
    struct window w;

    init(&w, 3, 100);
    announce(&w, 1, 2, 10 * MS);
    announce(&w, 3, 4, 40 * MS);
    taken(&w, 1, 3, 50 * MS);
    shows(&w, 4, 4, 50 * MS, 51 * MS);
    assert_int_equal(window_due_ns(&w), 140 * MS);
    window_fini(&w);
}

// The window waits a moment for the announcement of a token that a read shows.
static void missed_announcements_are_bounded_by_the_last_view(void **state)
{
    struct window w;

    init(&w, 3, 100);
    shows(&w, 1, 0, 1000 * MS, 1001 * MS);
    shows(&w, 7, 7, 1050 * MS, 1051 * MS);
    assert_int_equal(window_due_ns(&w), 1100 * MS);
    // A second look does not make the token younger.
    shows(&w, 7, 7, 1060 * MS, 1061 * MS);
    assert_int_equal(window_due_ns(&w), 1100 * MS);
    taken(&w, 7, 7, 1100 * MS);
    shows(&w, 8, 8, 5000 * MS, 5000 * MS);
    assert_int_equal(window_due_ns(&w), 5000 * MS + WINDOW_SETTLE_NS);
    window_announce(&w, 8, 5001 * MS);
    assert_int_equal(window_due_ns(&w), 5101 * MS);
    window_fini(&w);
}

// A full read makes the producers silent. What it leaves is younger than that read if each token
// was announced until then, and not as old as the last read that saw everything.
static void what_a_full_read_leaves_keeps_its_timeout(void **state)
{
    struct window w;

    init(&w, 3, 100);
    shows(&w, 1, 1, 10 * MS, 11 * MS);
    announce(&w, 1, 3, 70 * MS);
    window_read_sent(&w, 71 * MS);
    window_shown_full(&w, true);
    taken(&w, 1, 3, 72 * MS);
    shows(&w, 4, 4, 73 * MS, 74 * MS);
    assert_int_equal(window_timeout_ns(&w), 173 * MS);
    window_fini(&w);
}

// While it looks by itself, a batch fills up between two looks that are close together. A backlog
// is read in many full reads, and its last token may have come long before the last of them.
static void of_many_full_reads_the_first_bounds_the_rest(void **state)
{
    struct window w;

    init(&w, 3, 100);
    shows(&w, 1, 1, 50 * MS, 51 * MS);
    for (int i = 0; i < 3; i++) {
        window_read_sent(&w, (60 + 20 * i) * MS);
        window_shown_full(&w, false);
        taken(&w, 3 * i + 1, 3 * i + 3, (61 + 20 * i) * MS);
    }
    shows(&w, 10, 10, 120 * MS, 121 * MS);
    assert_int_equal(window_timeout_ns(&w), 160 * MS);
    window_fini(&w);

    init(&w, 3, 100);
    shows(&w, 1, 1, 20 * MS, 21 * MS);
    window_read_sent(&w, 96 * MS); // nobody knows what came in 76 ms
    window_shown_full(&w, false);
    taken(&w, 1, 3, 97 * MS);
    shows(&w, 4, 4, 98 * MS, 99 * MS);
    assert_int_equal(window_timeout_ns(&w), 124 * MS); // as long as an announcement may take
    window_fini(&w);
}

// Announcements have become frequent, so the producers announce no more, and the next look is the
// first for a long time.
static void what_comes_when_nobody_announces_is_young(void **state)
{
    struct window w;

    init(&w, 20, 400);
    shows(&w, 1, 0, 20 * MS, 21 * MS);
    window_announce(&w, 1, 216 * MS);
    window_all_announced(&w, 230 * MS);
    shows(&w, 1, 5, 280 * MS, 281 * MS);
    assert_int_equal(window_timeout_ns(&w), 616 * MS);
    taken(&w, 1, 1, 282 * MS);
    shows(&w, 2, 5, 290 * MS, 291 * MS);
    assert_int_equal(window_timeout_ns(&w), 630 * MS);
    window_fini(&w);
}

// Tokens behind the horizon are announced, but reads do not show them until the horizon has moved.
static void held_back_tokens_keep_their_time(void **state)
{
    struct window w;

    init(&w, 3, 100);
    window_announce(&w, 1, 10 * MS);
    shows(&w, 1, 0, 50 * MS, 51 * MS);
    assert_int_equal(window_due_ns(&w), CLOCK_NEVER);
    shows(&w, 1, 1, 90 * MS, 91 * MS);
    assert_int_equal(window_due_ns(&w), 110 * MS);
    window_fini(&w);
}

static void false_announcements_cost_one_read_per_limit(void **state)
{
    struct window w;

    init(&w, 3, 100);
    window_announce(&w, 5, 10 * MS);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++)
            window_announce(&w, i ? 0 : 5, 20 * MS);
        assert_int_equal(window_due_ns(&w), 0);
        shows(&w, 5, 5, 30 * MS, 31 * MS);
        assert_int_equal(window_due_ns(&w), 110 * MS);
    }
    window_fini(&w);
}

// More ids are announced than the memory holds. The count stays right; only ids are forgotten.
static void a_flood_does_not_grow_it(void **state)
{
    struct window w;

    init(&w, 3, 100);
    size_t mask = w.mask;
    announce(&w, 1, 100000, 10 * MS);
    assert_int_equal(window_due_ns(&w), 0);
    assert_int_equal(w.mask, mask);
    shows(&w, 99999, 100000, 20 * MS, 21 * MS);
    assert_int_equal(window_due_ns(&w), 110 * MS);
    window_restart(&w, 30 * MS);
    assert_int_equal(window_due_ns(&w), CLOCK_NEVER);
    window_fini(&w);
}

// 1000 tokens a second, of which none is announced, and a look every 20 ms: the window plans the
// next look, and tokens that are not announced count for the adaptive timeout as if they had come
// evenly.
static void unannounced_tokens_have_a_rate(void **state)
{
    struct window w;
    int64_t id = 0;

    init(&w, 50, 400);
    pace_init(&w.pace, 20 * MS, 400 * MS, 50);
    assert_true(window_look_ns(&w, true, 0) == CLOCK_NEVER);
    for (int64_t at = 20 * MS; at <= 10000 * MS; at += 20 * MS, id += 20) {
        shows(&w, id + 1, id + 20, at, at);
        window_look_ns(&w, true, at);
        taken(&w, id + 1, id + 20, at);
    }
    shows(&w, id + 1, id + 20, 10020 * MS, 10020 * MS);
    // A batch is full after 80 ms, so this is the longest timeout that is worth it.
    assert_int_equal(w.pace.level[w.pace.in_use].timeout_ns, 80 * MS);
    assert_true(window_look_ns(&w, true, 10020 * MS) == 10040 * MS);
    // Tokens come slowly now, so after a stretch no look is planned.
    shows(&w, id + 1, id + 20, 10050 * MS, 10050 * MS);
    shows(&w, id + 1, id + 20, 10150 * MS, 10150 * MS);
    window_look_ns(&w, true, 10150 * MS);
    shows(&w, id + 1, id + 20, 10260 * MS, 10260 * MS);
    assert_true(window_look_ns(&w, true, 10260 * MS) == CLOCK_NEVER);
    window_fini(&w);
}

// Two tokens are announced just after a read has shown them, and one is never announced.
static void a_late_announcement_counts_once(void **state)
{
    struct window w;

    init(&w, 50, 400);
    pace_init(&w.pace, 20 * MS, 400 * MS, 50);
    shows(&w, 1, 3, 20 * MS, 20 * MS);
    taken(&w, 1, 1, 20 * MS);
    announce(&w, 1, 2, 21 * MS);
    window_read_sent(&w, 40 * MS);
    assert_int_equal(w.pace.level[w.pace.levels - 1].count, 3);
    window_fini(&w);
}

// What the histogram of waiting times counts from.
static void a_taken_token_says_since_when_it_waits(void **state)
{
    struct window w;

    init(&w, 3, 100);
    // Nobody heard of what waited before the first look.
    shows(&w, 1, 1, 20 * MS, 22 * MS);
    assert_int_equal(window_taken(&w, 1, 30 * MS), CLOCK_NEVER);
    window_announce(&w, 2, 40 * MS);
    assert_int_equal(window_taken(&w, 2, 90 * MS), 40 * MS);
    // Taken again: its line was too old.
    assert_int_equal(window_taken(&w, 2, 500 * MS), 40 * MS);
    // Not announced: the look at 20 ms did not see it.
    window_read_sent(&w, 600 * MS);
    assert_int_equal(window_taken(&w, 3, 601 * MS), 20 * MS);
    window_shown_all(&w, 602 * MS);
    // Shown, and taken after further looks.
    shows(&w, 4, 4, 1000 * MS, 1001 * MS);
    shows(&w, 4, 4, 1100 * MS, 1101 * MS);
    assert_int_equal(window_taken(&w, 4, 1102 * MS), 600 * MS);
    // A lost session forgets the announcements, but not what was seen last.
    window_restart(&w, 5000 * MS);
    window_read_sent(&w, 5001 * MS);
    assert_int_equal(window_taken(&w, 5, 5002 * MS), 1100 * MS);
    window_restart(&w, 6000 * MS);
    window_stood_by(&w);
    window_read_sent(&w, 9000 * MS);
    assert_int_equal(window_taken(&w, 6, 9001 * MS), CLOCK_NEVER);
    window_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_waits),
        cmocka_unit_test(a_taken_token_says_since_when_it_waits),
        cmocka_unit_test(fires_at_the_limit_or_the_timeout_of_the_first),
        cmocka_unit_test(timeout_zero_is_at_once),
        cmocka_unit_test(a_read_corrects_the_count),
        cmocka_unit_test(announced_during_the_read_stays),
        cmocka_unit_test(shown_and_announced_counts_once),
        cmocka_unit_test(taken_before_announced_starts_no_timeout),
        cmocka_unit_test(the_rest_of_a_full_batch_keeps_its_own_time),
        cmocka_unit_test(missed_announcements_are_bounded_by_the_last_view),
        cmocka_unit_test(what_a_full_read_leaves_keeps_its_timeout),
        cmocka_unit_test(of_many_full_reads_the_first_bounds_the_rest),
        cmocka_unit_test(what_comes_when_nobody_announces_is_young),
        cmocka_unit_test(held_back_tokens_keep_their_time),
        cmocka_unit_test(false_announcements_cost_one_read_per_limit),
        cmocka_unit_test(a_flood_does_not_grow_it),
        cmocka_unit_test(unannounced_tokens_have_a_rate),
        cmocka_unit_test(a_late_announcement_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
