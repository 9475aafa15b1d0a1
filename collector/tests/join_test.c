#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lease/state.h"

// A function that somebody has replaced by one that returns a set may give no row.
static void an_answer_without_its_row_is_refused(void **state)
{
    (void)state;
    bool (*const decoders[])(struct leased *, const PGresult *, struct err *) = {
        join_on_join, take_on_lease};
    const struct config config = {.queue_name = (char[]){"mailroom"}};
    struct leased l = {.config = &config, .others.look_at_ns = CLOCK_NEVER};
    PGresult *nothing = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++) {
        struct err e = {0};
        assert_false(decoders[i](&l, nothing, &e));
        assert_int_equal(e.kind, ERR_SCHEMA);
    }
    assert_int_not_equal(l.join.state, JOIN_DONE);
    PQclear(nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_without_its_row_is_refused),
    };

    return cmocka_run_group_tests_name("lease.join", tests, NULL, NULL);
}
