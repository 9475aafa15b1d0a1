#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lease/flight.h"

#include "column.h"

// A server that does not keep to the protocol leases more tokens than it was asked for.
static void no_line_has_more_tokens_than_there_is_room_for(void **state)
{
    (void)state;
    struct flight f;
    struct err e;

    assert_true(flight_init(&f, 4, 10, &e));
    struct flight_line *line = flight_new(&f, 1);
    for (int i = 0; i < 10; i++)
        assert_true(flight_add(line, (struct flight_token){.id = i}, &e));
    assert_false(flight_add(line, (struct flight_token){.id = 10}, &e));
    assert_int_equal(e.kind, ERR_INTERNAL);
    assert_int_equal(line->count, 10);
    flight_give_up(line);
    flight_fini(&f);
}

// A value of two bytes stands where a number of eight belongs.
static void a_number_of_another_size_is_none(void **state)
{
    (void)state;
    PGresAttDesc column = {.name = "n", .format = 1, .typlen = 8};
    char value[] = "ab";
    PGresult *r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

    assert_non_null(r);
    assert_int_equal(PQsetResultAttrs(r, 1, &column), 1);
    assert_int_equal(PQsetvalue(r, 0, 0, value, 2), 1);
    assert_int_equal(column_int64(r, 0, 0), 0);
    assert_int_equal(column_int32(r, 0, 0), 0);
    PQclear(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_has_more_tokens_than_there_is_room_for),
        cmocka_unit_test(a_number_of_another_size_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
