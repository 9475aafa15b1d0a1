#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "batch.h"
#include "column.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

// An answer to a read, made by hand: the columns of read.sql in binary.
enum { WHAT, PART, TO_XID, XID, ID, EMAIL, LOGIN, SECRET, CODE, SEEN, EXPIRED, CONSUMED, COLUMNS };

static char secret[SIGN_SECRET_LEN];

static void put32(PGresult *r, int row, int column, int32_t n)
{
    uint32_t big = htobe32((uint32_t)n);

    assert_int_equal(PQsetvalue(r, row, column, (char *)&big, sizeof big), 1);
}

static void put64(PGresult *r, int row, int column, int64_t n)
{
    uint64_t big = htobe64((uint64_t)n);

    assert_int_equal(PQsetvalue(r, row, column, (char *)&big, sizeof big), 1);
}

static void put(PGresult *r, int row, int column, const char *text, int len)
{
    assert_int_equal(PQsetvalue(r, row, column, (char *)(uintptr_t)text, len), 1);
}

static PGresult *answer(void)
{
    static char name[] = "x";
    PGresult *r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc columns[COLUMNS] = {0};

    for (int i = 0; i < COLUMNS; i++)
        columns[i].name = name;
    assert_non_null(r);
    assert_int_equal(PQsetResultAttrs(r, COLUMNS, columns), 1);
    return r;
}

static int row(PGresult *r, int what, int part, int64_t xid, int64_t id, int64_t seen)
{
    int n = PQntuples(r);

    put32(r, n, WHAT, what);
    put32(r, n, PART, part);
    put64(r, n, TO_XID, 99);
    put64(r, n, XID, xid);
    put64(r, n, ID, id);
    put64(r, n, SEEN, seen);
    put(r, n, EXPIRED, NULL, -1);
    put(r, n, CONSUMED, NULL, -1);
    return n;
}

static void head(PGresult *r, int64_t n, const char *now)
{
    put(r, row(r, 3, 0, 0, n, 0), EMAIL, now, (int)strlen(now));
}

static void token(PGresult *r, int part, int64_t xid, int64_t id, int64_t seen, const char *email)
{
    int n = row(r, TOKEN_ACTIVATION, part, xid, id, seen);

    put(r, n, EMAIL, email, (int)strlen(email));
    put(r, n, LOGIN, "login", 5);
    memset(secret, (int)id, sizeof secret);
    put(r, n, SECRET, secret, sizeof secret);
    put(r, n, CODE, "12345", 5);
}

static bool decode(struct batch *b, PGresult *r, int wanted, int examine, const struct doubt *d)
{
    struct err e;

    err_clear(&e);
    return batch_decode(b, r, BATCH_CURSOR, wanted, examine, d, &e);
}

static void a_full_batch_ends_with_its_last_token(void **state)
{
    (void)state;
    struct doubt none = {0};
    struct batch b;
    PGresult *r = answer();

    batch_init(&b, 2);
    head(r, 7, "10:20:15");
    token(r, 1, 12, 5, 2, "a@x"); // one token was passed over before it
    token(r, 1, 13, 4, 3, "b,@x");
    token(r, 2, 21, 6, 4, "c@x");
    token(r, 2, 21, 7, 5, "d@x");
    assert_true(decode(&b, r, 4, 100, &none));
    assert_int_equal(b.number, 7);
    assert_string_equal(b.now, "10:20:15");
    assert_int_equal(b.n, 3);
    assert_int_equal(b.sendable, 2);
    assert_string_equal(b.rows[1].unsendable, "comma in email");
    assert_int_equal(b.part, 2);
    assert_int_equal(b.end.xid, 21);
    assert_int_equal(b.end.id, 6);
    assert_int_equal(b.stretch, 99);
    assert_int_equal(b.passed.status, 1);
    assert_false(b.all);
    assert_false(b.more);
    batch_fini(&b);
}

static void a_short_batch_saw_everything_or_enough(void **state)
{
    (void)state;
    struct doubt none = {0};
    struct batch b;

    batch_init(&b, 2);
    for (int examine = 10; examine >= 3; examine -= 7) {
        PGresult *r = answer();
        head(r, 7, "10:20:");
        token(r, 1, 12, 5, 1, "a@x");
        row(r, 0, 2, 22, 9, 3);
        assert_true(decode(&b, r, 2, examine, &none));
        assert_int_equal(b.all, examine == 10);
        assert_int_equal(b.more, examine == 3);
        assert_int_equal(b.end.id, 9);
        assert_int_equal(b.passed.status, 2);
    }
    batch_fini(&b);
}

static void a_written_token_is_not_sendable(void **state)
{
    (void)state;
    struct doubt doubt = {0};
    struct err e;
    struct batch b;
    PGresult *r = answer();
    struct token t = {.id = 5, .secret = {.data = secret, .len = sizeof secret}};

    memset(secret, 5, sizeof secret);
    assert_true(doubt_add(&doubt, &t, &e));
    doubt_close(&doubt);
    batch_init(&b, 2);
    head(r, 7, "10:20:");
    token(r, 1, 12, 4, 1, "a@x");
    token(r, 1, 12, 5, 2, "b@x");
    row(r, 0, 1, 12, 5, 2);
    assert_true(decode(&b, r, 3, 100, &doubt));
    assert_int_equal(b.n, 2);
    assert_int_equal(b.sendable, 1);
    assert_false(b.rows[0].written);
    assert_true(b.rows[1].written);
    doubt_clear(&doubt);
    batch_fini(&b);
}

// The xid of a row is the number of its delivery.
static void a_line_may_end_within_a_delivery(void **state)
{
    (void)state;
    struct doubt none = {0};
    struct err e;
    struct batch b;
    PGresult *r = answer();

    err_clear(&e);
    batch_init(&b, 2);
    head(r, 0, "");
    token(r, 0, 7, 5, 1, "a@x");
    token(r, 0, 7, 4, 2, "b,@x");
    token(r, 0, 8, 6, 3, "c@x");
    token(r, 0, 8, 7, 4, "d@x");
    row(r, 0, 0, 8, 7, 4);
    assert_true(batch_decode(&b, r, BATCH_DELIVERY, 100, 100, &none, &e));
    assert_int_equal(b.n, 3);
    assert_int_equal(b.number, 8);
    assert_int_equal(b.end.id, 6);
    assert_false(b.all);
    batch_fini(&b);
}

// It ends as if it had been full there, and what comes after it waits on.
static void a_batch_may_be_cut(void **state)
{
    (void)state;
    struct doubt none = {0};
    struct batch b;
    PGresult *r = answer();

    batch_init(&b, 4);
    head(r, 7, "10:20:15");
    token(r, 1, 12, 5, 2, "a@x"); // one token was passed over before it
    token(r, 1, 13, 4, 3, "b,@x");
    token(r, 2, 21, 6, 5, "c@x"); // and one before this
    token(r, 2, 21, 7, 6, "d@x");
    row(r, 0, 2, 22, 9, 8);
    assert_true(decode(&b, r, 5, 100, &none));
    assert_int_equal(b.sendable, 3);
    assert_true(b.all);
    batch_cut(&b, 2);
    assert_int_equal(b.n, 3);
    assert_int_equal(b.sendable, 2);
    assert_int_equal(b.end.id, 6);
    assert_int_equal(b.examined, 5);
    assert_int_equal(b.passed.status, 2);
    assert_false(b.all);
    batch_cut(&b, 1);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.part, 1);
    assert_int_equal(b.end.id, 5);
    assert_int_equal(b.number, 7);
    batch_fini(&b);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct doubt none = {0};
    struct batch b;
    PGresult *r = answer();

    batch_init(&b, 2);
    assert_false(decode(&b, r, 2, 100, &none)); // the answer has no row at all
    r = answer();
    head(r, 7, "10:20:");
    for (int i = 1; i < 5; i++)
        token(r, 1, 12, i, i, "a,@x");
    assert_false(decode(&b, r, 3, 100, &none)); // it has more tokens than were asked for
    batch_fini(&b);
}

// A server that does not keep to the protocol must not make us read past what it sent.
static void a_number_of_another_size_is_none(void **state)
{
    PGresult *r = answer();

    (void)state;
    put(r, 0, ID, "abc", 3);
    put(r, 0, WHAT, "abcdefghij", 10);
    assert_int_equal(column_int64(r, 0, ID), 0);
    assert_int_equal(column_int32(r, 0, WHAT), 0);
    assert_int_equal(column_int64(r, 0, XID), 0);
    PQclear(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_of_another_size_is_none),
        cmocka_unit_test(a_full_batch_ends_with_its_last_token),
        cmocka_unit_test(a_short_batch_saw_everything_or_enough),
        cmocka_unit_test(a_written_token_is_not_sendable),
        cmocka_unit_test(a_line_may_end_within_a_delivery),
        cmocka_unit_test(a_batch_may_be_cut),
        cmocka_unit_test(nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
