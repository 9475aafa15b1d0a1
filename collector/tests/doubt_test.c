#include "base/unit.h"
#include "queue/doubt.h"

#define MANY 100000

static char secret[SIGN_SECRET_LEN];

// The secret begins with these bytes. It lies in a static buffer, which the next call overwrites.
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
    struct doubt d = {0};

    assert_false(has(&d, 10, "a"));
    add(&d, 12, "c");
    add(&d, 10, "a");
    doubt_close(&d);
    add(&d, 11, "b");
    add(&d, 10, "the other's id, used again");
    doubt_close(&d);
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
}

// After a reconnect the server tells which of the tokens in doubt still wait.
static void a_token_that_does_not_wait_is_passed(void **state)
{
    struct doubt d = {0};
    struct token waits = token(10, "a");

    add(&d, 10, "a");
    add(&d, 11, "b");
    add(&d, 10, "its id, used again");
    doubt_close(&d);
    waits = token(10, "a");
    doubt_mark(&d, &waits);
    waits = token(12, "nobody asked for it");
    doubt_mark(&d, &waits);
    doubt_keep_marked(&d);
    assert_int_equal(d.n, 1);
    assert_true(has(&d, 10, "a"));
    doubt_keep_marked(&d); // after the next reconnect no token waits
    assert_int_equal(d.n, 0);
    assert_null(d.all);
}

// A batch with some of the tokens in doubt is passed, and later one with the rest.
static void a_doubt_ends_with_its_last_token(void **state)
{
    struct doubt d = {0};
    struct token t;

    add(&d, 10, "a");
    add(&d, 11, "b");
    doubt_close(&d);
    t = token(11, "b");
    doubt_mark(&d, &t);
    doubt_drop_marked(&d);
    assert_true(has(&d, 10, "a"));
    assert_false(has(&d, 11, "b"));
    doubt_drop_marked(&d); // the batch had none of the tokens in doubt
    assert_int_equal(d.n, 1);
    t = token(10, "a");
    doubt_mark(&d, &t);
    doubt_drop_marked(&d);
    assert_int_equal(d.n, 0);
}

static void ids_go_into_an_array(void **state)
{
    struct doubt d = {0};
    struct buf b;

    buf_init(&b, 100);
    buf_append_char(&b, '{');
    doubt_add_ids(&d, &b);
    assert_string_equal(buf_str(&b), "{");
    add(&d, 11, "b");
    add(&d, 10, "a");
    doubt_close(&d);
    doubt_add_ids(&d, &b);
    assert_string_equal(buf_str(&b), "{10,11");
    doubt_add_ids(&d, &b);
    assert_string_equal(buf_str(&b), "{10,11,10,11");
    buf_fini(&b);
    doubt_clear(&d);
}

// If each token were compared with each other, the test would run into its timeout.
static void a_large_batch_takes_no_longer(void **state)
{
    struct doubt d = {0};

    // 7919 has no factor in common with MANY, so this adds each id once, in no order.
    for (int64_t i = 0; i < MANY; i++)
        add(&d, i * 7919 % MANY, "x");
    doubt_close(&d);
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
        cmocka_unit_test(a_token_that_does_not_wait_is_passed),
        cmocka_unit_test(a_doubt_ends_with_its_last_token),
        cmocka_unit_test(ids_go_into_an_array),
        cmocka_unit_test(a_large_batch_takes_no_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
