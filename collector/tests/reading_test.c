#include "base/unit.h"
#include "queue/reading.h"

#include <endian.h>

#include "loop/work.h"
#include "queue/lines_columns.h"

static void set_text(PGresult *r, int row, int column, const char *value)
{
    char text[200];

    snprintf(text, sizeof text, "%s", value);
    assert_true(PQsetvalue(r, row, column, text, (int)strlen(text)));
}

// Makes an answer with the head's place and no tokens.
static PGresult *answer(const char *place)
{
    PGresAttDesc columns[LINES_READ_COLUMNS];
    char name[] = "column";
    PGresult *r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

    memset(columns, 0, sizeof columns);
    for (int i = 0; i < LINES_READ_COLUMNS; i++)
        columns[i] = (PGresAttDesc){.name = name, .format = 1};
    assert_true(PQsetResultAttrs(r, LINES_READ_COLUMNS, columns));
    const uint32_t head = htobe32(LINES_HEAD);
    assert_true(PQsetvalue(r, 0, LINES_KIND, (char *)&head, sizeof head));
    set_text(r, 0, LINES_PLACE, place);
    for (int i = 0; i < LINES_READ_COLUMNS; i++)
        if (i != LINES_KIND && i != LINES_PLACE)
            assert_true(PQsetvalue(r, 0, i, NULL, -1));
    return r;
}

// Adds a token whose xid and id are 10 and 20 times `no`.
static void add(PGresult *r, int no, int part, const char *passed, const char *email)
{
    int row = PQntuples(r);
    const uint32_t kind = htobe32(passed ? LINES_PASSED_OVER : TOKEN_ACTIVATION),
                   part_ = htobe32((uint32_t)part);
    const uint64_t xid = htobe64(10 * (uint64_t)no), id = htobe64(20 * (uint64_t)no);

    for (int i = 0; i < LINES_READ_COLUMNS; i++)
        assert_true(PQsetvalue(r, row, i, NULL, -1));
    assert_true(PQsetvalue(r, row, LINES_KIND, (char *)&kind, sizeof kind));
    assert_true(PQsetvalue(r, row, LINES_PART, (char *)&part_, sizeof part_));
    assert_true(PQsetvalue(r, row, LINES_XID, (char *)&xid, sizeof xid));
    assert_true(PQsetvalue(r, row, LINES_TOKEN, (char *)&id, sizeof id));
    set_text(r, row, LINES_EMAIL, email);
    set_text(r, row, LINES_LOGIN, "login");
    set_text(r, row, LINES_SECRET, "0123456789abcdef0123456789abcdef");
    set_text(r, row, LINES_CODE, "12345");
    if (passed)
        set_text(r, row, LINES_PASSED, passed);
}

static void place_is(const PGresult *r, const struct reading *seen, bool more, const char *want)
{
    struct buf place;
    struct err e;

    buf_init(&place, SIZE_MAX);
    assert_true(reading_place(seen, r, more, &place, &e));
    assert_string_equal(place.data, want);
    buf_fini(&place);
}

static void the_place_is_that_of_the_last_row(void **state)
{
    PGresult *r = answer("7;100:100:;200:205:201,203;300:300:");

    add(r, 1, 1, NULL, "a@x");
    add(r, 2, 1, NULL, "b@x");
    add(r, 3, 2, NULL, "c@x");
    struct reading two = reading_count(r, 2), all = reading_count(r, 10);
    assert_int_equal(two.tokens, 2);
    place_is(r, &two, true, "7;100:100:;200:205:201,203;20;40");
    place_is(r, &all, true, "7;200:205:201,203;300:300:;30;60");
    place_is(r, &all, false, "7;300:300:;300:300:;30;60");
    PQclear(r);
}

static void a_place_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = {"", "7", "7;1:1:;2:2:", ";;"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        PGresult *r = answer(bad[i]);
        struct buf place;
        struct err e;
        add(r, 1, 1, NULL, "a@x");
        struct reading seen = reading_count(r, 10);
        buf_init(&place, SIZE_MAX);
        assert_false(reading_place(&seen, r, true, &place, &e));
        assert_int_equal(e.kind, ERR_INTERNAL);
        buf_fini(&place);
        PQclear(r);
    }
}

static void what_is_passed_over_is_counted_up_to_the_last_token(void **state)
{
    PGresult *r = answer("7;1:1:;2:2:;3:3:");

    add(r, 1, 1, "expired", "a@x");
    add(r, 2, 1, "consumed", "b@x");
    add(r, 3, 1, "the account is suspended", "c@x");
    add(r, 4, 1, NULL, "d@x");
    add(r, 5, 1, "expired", "e@x");
    struct reading one = reading_count(r, 1), all = reading_count(r, 2);
    assert_int_equal(one.rows, 5);
    assert_int_equal(one.passed.expired, 1);
    assert_int_equal(one.passed.consumed, 1);
    assert_int_equal(one.passed.status, 1);
    assert_int_equal(all.rows, 6);
    assert_int_equal(all.passed.expired, 2);
    place_is(r, &all, false, "7;3:3:;3:3:;50;100");
    PQclear(r);
}

static void a_token_that_no_line_can_carry_is_noticed(void **state)
{
    PGresult *r = answer("7;1:1:;2:2:;3:3:");

    add(r, 1, 1, NULL, "a@x");
    add(r, 2, 1, NULL, "comma,b@x");
    struct reading one = reading_count(r, 1), all = reading_count(r, 2);
    assert_false(one.unsendable);
    assert_true(all.unsendable);
    PQclear(r);
}

// Under a backlog of expired tokens takes and reads take turns. A read after a take must not grow
// with what the reads before it passed over.
static void a_read_after_a_take_is_small(void **state)
{
    struct collector c = {.queue = {.limit = 10, .policy = policy_find("cursor")},
        .take = {.asked = ASKED_READ, .expect_passed = 20000, .examine = 2}};
    PGresult *r = answer("7;1:1:;2:2:;3:3:");

    add(r, 1, 1, "expired", "a@x");
    add(r, 2, 1, "expired", "b@x");
    assert_true(take_on_answer(&c, r, &(struct err){0}));
    assert_true(c.take.must_take);
    assert_int_equal(c.take.expect_passed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_is_that_of_the_last_row),
        cmocka_unit_test(a_place_that_is_none_is_refused),
        cmocka_unit_test(what_is_passed_over_is_counted_up_to_the_last_token),
        cmocka_unit_test(a_token_that_no_line_can_carry_is_noticed),
        cmocka_unit_test(a_read_after_a_take_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
