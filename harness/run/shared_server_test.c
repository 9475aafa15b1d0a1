// Tests which scenarios may share a server with other runs.
#include "base/unit.h"
#include "run/shared_server.h"

static bool fits(const char *verb)
{
    struct fault_spec fault = {.verb = verb_find(verb), .target = TARGET_SERVER};
    const struct scenario s = {.faults = &fault, .fault_count = 1};

    assert_non_null(fault.verb);
    return shared_fits(&s);
}

static void test_faults_of_sessions_leave_the_server_as_it_was(void **state)
{
    assert_true(fits("terminate-backend"));
    assert_true(fits("kill-collector"));
}

static void test_stopped_server_is_not_shared(void **state)
{
    assert_false(fits("restart-server"));
    assert_false(fits("promote-standby"));
}

// Only a server that was opened for it can have a clock that steps.
static void test_stepped_clock_is_not_shared(void **state)
{
    assert_false(fits("step-clock"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_of_sessions_leave_the_server_as_it_was),
        cmocka_unit_test(test_stopped_server_is_not_shared),
        cmocka_unit_test(test_stepped_clock_is_not_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
