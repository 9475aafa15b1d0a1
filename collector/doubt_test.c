#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "doubt.h"

#include <stdio.h>
#include <string.h>

#define MANY 100000

static char secret[SIGN_SECRET_LEN];

// The secret is the same static bytes for all, but for its first ones.
static struct token token(int64_t id, const char *begin)
{
    memset(secret, 0, sizeof secret);
    memcpy(secret, begin, strlen(begin));
    return (struct token){.id = id, .secret = {.data = secret, .len = sizeof secret}};
}

static void add(struct doubt *d, int64_t id, const char *begin)
{
    struct err e;
    struct token t = token(id, begin);

    assert_true(doubt_add(d, &t, &e));
}

static bool has(const struct doubt *d, int64_t id, const char *begin)
{
    struct token t = token(id, begin);

    return doubt_has(d, &t);
}

static void a_token_is_known_by_id_and_secret(void **state)
{
    (void)state;
    struct doubt d = {0};

    assert_false(has(&d, 10, "a"));
    add(&d, 12, "c");
    add(&d, 10, "a");
    doubt_close(&d, (struct doubt_move){0});
    add(&d, 11, "b");
    add(&d, 10, "the other's id, used again");
    doubt_close(&d, (struct doubt_move){0});
    assert_int_equal(d.batches, 2);
    assert_true(has(&d, 10, "a"));
    assert_true(has(&d, 10, "the other's id, used again"));
    assert_true(has(&d, 11, "b"));
    assert_false(has(&d, 11, "a"));
    assert_false(has(&d, 9, "a"));
    struct token short_secret = token(12, "c");
    short_secret.secret.len--;
    assert_false(doubt_has(&d, &short_secret));
    doubt_clear(&d);
    assert_false(has(&d, 10, "a"));
    assert_int_equal(d.batches, 0);
}

// One batch was read under epoch 3 at n 7, so its move makes n 8, and the claim
// behind that 9.
static struct doubt of_one_batch(void)
{
    struct doubt d = {0};

    add(&d, 10, "a");
    doubt_close(&d, (struct doubt_move){.epoch = 3, .n = 8});
    return d;
}

static void the_next_claim_shows_a_move_that_was_done(void **state)
{
    (void)state;
    struct doubt d = of_one_batch();

    doubt_claimed(&d, 4, 9);
    assert_false(has(&d, 10, "a"));
    assert_int_equal(d.batches, 0);
}

// The session may have ended between the line and its move.
static void the_next_claim_shows_a_move_that_was_not_done(void **state)
{
    (void)state;
    struct doubt d = of_one_batch();

    doubt_claimed(&d, 4, 8);
    assert_true(has(&d, 10, "a"));
    doubt_clear(&d);
}

// The session of the first claim ended before it passed anything, or passed
// something else; or the answer to that claim was lost.
static void a_later_claim_shows_nothing(void **state)
{
    (void)state;
    struct doubt d = of_one_batch();

    doubt_claimed(&d, 4, 8);
    doubt_claimed(&d, 5, 9);
    doubt_claimed(&d, 6, 10);
    doubt_claimed(&d, 6, 9);
    assert_true(has(&d, 10, "a"));
    doubt_clear(&d);
}

// The last batch was passed, which tells nothing of the one before.
static void a_claim_shows_nothing_of_two_batches(void **state)
{
    (void)state;
    struct doubt d = of_one_batch();

    doubt_claimed(&d, 4, 8);
    add(&d, 20, "b");
    doubt_close(&d, (struct doubt_move){.epoch = 4, .n = 9});
    doubt_claimed(&d, 5, 10);
    assert_true(has(&d, 10, "a"));
    assert_true(has(&d, 20, "b"));
    doubt_clear(&d);
}

static void a_delivery_shows_nothing(void **state)
{
    (void)state;
    struct doubt d = {0};

    add(&d, 10, "a");
    doubt_close(&d, (struct doubt_move){.epoch = 3});
    doubt_claimed(&d, 4, 1);
    assert_true(has(&d, 10, "a"));
    doubt_clear(&d);
}

// Comparing each with each would take longer than a test may.
static void a_large_batch_is_no_matter(void **state)
{
    (void)state;
    struct doubt d = {0};

    // 7919 has no factor in common with MANY: each id once, in no order.
    for (int64_t i = 0; i < MANY; i++)
        add(&d, i * 7919 % MANY, "x");
    doubt_close(&d, (struct doubt_move){0});
    for (int64_t i = 0; i < MANY; i++) {
        assert_true(has(&d, i, "x"));
        assert_false(has(&d, MANY + i, "x"));
    }
    doubt_clear(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_known_by_id_and_secret),
        cmocka_unit_test(the_next_claim_shows_a_move_that_was_done),
        cmocka_unit_test(the_next_claim_shows_a_move_that_was_not_done),
        cmocka_unit_test(a_later_claim_shows_nothing),
        cmocka_unit_test(a_claim_shows_nothing_of_two_batches),
        cmocka_unit_test(a_delivery_shows_nothing),
        cmocka_unit_test(a_large_batch_is_no_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
