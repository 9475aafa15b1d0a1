// Tests which cuts are tried, with a small conversation.
#include "base/unit.h"
#include "run/cuts/points.h"

struct conversation {
    unsigned counts[2][256];
    unsigned recovery[2];
};

static struct conversation small(void)
{
    struct conversation c = {.recovery = {3, 4}};

    c.counts[MESSAGE_CLIENT]['Q'] = 3;
    c.counts[MESSAGE_CLIENT]['X'] = 1;
    c.counts[MESSAGE_SERVER]['Z'] = 2;
    return c;
}

static void test_singles(void **state)
{
    struct conversation c = small();
    struct points p;
    struct err e;
    char text[POINTS_TEXT];

    assert_true(points_make(&p, c.counts, NULL, &e));
    assert_int_equal(p.count, 12);
    assert_string_equal(points_text(&p.items[0], text), "before client Query number 1");
    assert_string_equal(points_text(&p.items[11], text), "after server ReadyForQuery number 2");
    points_fini(&p);
}

static void test_only_one_kind(void **state)
{
    struct conversation c = small();
    struct message_kind any_server = {.sender = MESSAGE_SERVER, .type = MESSAGE_ANY};
    struct message_kind none = {.sender = MESSAGE_CLIENT, .type = 'B'};
    struct points p;
    struct err e;

    assert_true(points_make(&p, c.counts, &any_server, &e));
    assert_int_equal(p.count, 4);
    points_fini(&p);
    assert_false(points_make(&p, c.counts, &none, &e));
    assert_string_equal(e.text, "the collector exchanged no such message");
}

static void test_pairs(void **state)
{
    struct conversation c = small();
    struct points p, again;
    struct err e;

    assert_true(points_make(&p, c.counts, NULL, &e));
    assert_true(points_add_pairs(&p, 200, 7, c.recovery, &e));
    assert_int_equal(p.count, 212);
    assert_int_equal(p.singles, 12);
    for (size_t i = p.singles; i < p.count; i++) {
        const struct cut_point *first = &p.items[i].at[0], *second = &p.items[i].at[1];
        assert_int_equal(p.items[i].count, 2);
        // No collector recovers from a cut at the Terminate.
        assert_int_not_equal(first->type, 'X');
        assert_false(first->type == 'Q' && first->n == 3);
        assert_false(first->type == 'Z' && first->n == 2);
        assert_int_equal(second->type, MESSAGE_ANY);
        assert_true(second->n >= 1 && second->n <= (int)c.recovery[second->sender]);
    }
    assert_true(points_make(&again, c.counts, NULL, &e));
    assert_true(points_add_pairs(&again, 200, 7, c.recovery, &e));
    assert_memory_equal(p.items, again.items, p.count * sizeof *p.items);
    points_fini(&p);
    points_fini(&again);
}

// The second cuts are in both directions, on both sides of a message, and at all distances.
static void test_pairs_reach_everything(void **state)
{
    struct conversation c = small();
    unsigned seen[2][2][8] = {0};
    struct points p;
    struct err e;

    assert_true(points_make(&p, c.counts, NULL, &e));
    assert_true(points_add_pairs(&p, 500, 1, c.recovery, &e));
    for (size_t i = p.singles; i < p.count; i++) {
        const struct cut_point *second = &p.items[i].at[1];
        seen[second->sender][second->side][second->n]++;
    }
    for (int sender = 0; sender < 2; sender++) {
        for (unsigned n = 1; n <= c.recovery[sender]; n++)
            assert_true(seen[sender][CUT_BEFORE][n] > 0 && seen[sender][CUT_AFTER][n] > 0);
    }
    points_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_singles),
        cmocka_unit_test(test_only_one_kind),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pairs_reach_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
