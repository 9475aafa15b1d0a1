#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 100000

static struct batch batch_of(int rows_max)
{
    struct batch b;
    struct err e;

    assert_true(batch_init(&b, rows_max, rows_max, &e));
    return b;
}

// The secret must outlive the batch.
static struct row *add(struct batch *b, int64_t id, const char *secret)
{
    struct row *row = &b->rows[b->n++];

    *row = (struct row){.token = {.id = id, .secret = {.data = secret, .len = strlen(secret)}}};
    return row;
}

static void finds_the_last_of_what_was_written(void **state)
{
    (void)state;
    struct batch written = batch_of(8), read = batch_of(8);
    int matched;

    assert_int_equal(batch_find_written(&read, &written, &matched), 0);
    // In the order of their transactions, not of their ids.
    add(&written, 12, "c");
    add(&written, 10, "a");
    add(&written, 11, "b")->unsendable = "comma in email";
    add(&written, 15, "d");
    assert_int_equal(batch_find_written(&read, &written, &matched), 0);

    add(&read, 9, "x");
    add(&read, 11, "b")->unsendable = "comma in email";
    assert_int_equal(batch_find_written(&read, &written, &matched), 0);
    add(&read, 10, "a");
    add(&read, 12, "c");
    add(&read, 15, "the id was used again");
    assert_int_equal(batch_find_written(&read, &written, &matched), 4);
    assert_int_equal(matched, 2);
    batch_clear(&written);
    assert_int_equal(batch_find_written(&read, &written, &matched), 0);
    batch_fini(&written);
    batch_fini(&read);
}

// Comparing each with each would take longer than a test may.
static void a_large_batch_is_no_matter(void **state)
{
    (void)state;
    struct batch written = batch_of(MANY), read = batch_of(MANY);
    char(*secrets)[24] = calloc(MANY, sizeof *secrets);
    int matched;

    assert_non_null(secrets);
    for (int i = 0; i < MANY; i++) {
        // 7919 has no factor in common with MANY: each id once, in no order.
        int64_t id = (int64_t)i * 7919 % MANY;
        snprintf(secrets[i], sizeof *secrets, "%" PRId64, id);
        add(&written, id, secrets[i]);
    }
    // The move was committed: what is read stands behind all that was written.
    for (int i = 0; i < MANY; i++)
        add(&read, MANY + i, secrets[i]);
    for (int times = 0; times < 20; times++)
        assert_int_equal(batch_find_written(&read, &written, &matched), 0);
    assert_int_equal(matched, 0);
    // It was not, and something stands before it.
    for (int i = 1; i < MANY; i++)
        read.rows[i].token = written.rows[i].token;
    assert_int_equal(batch_find_written(&read, &written, &matched), MANY);
    assert_int_equal(matched, MANY - 1);
    free(secrets);
    batch_fini(&written);
    batch_fini(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_last_of_what_was_written),
        cmocka_unit_test(a_large_batch_is_no_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
