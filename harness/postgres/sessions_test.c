// The times of a role's sessions are found in a server's log.
#include "base/unit.h"
#include "postgres/sessions.h"

static const char text[] =
    "what was there before the run\n"
    "2026-11-21 23:00:01.250 UTC [7] collector LOG:  connection authorized: user=collector "
    "database=x\n"
    "2026-11-21 23:00:01.300 UTC [8] collector LOG:  connection authorized: user=collector "
    "database=x\n"
    "2026-11-21 23:00:01.304 UTC [8] collector LOG:  could not receive data from client: "
    "Connection "
    "reset by peer\n"
    "2026-11-21 23:00:02.000 UTC [7] collector LOG:  unexpected EOF on client connection\n"
    "2026-11-21 23:00:00.500 UTC [6] load LOG:  connection authorized: user=load database=x\n"
    "2026-11-21 23:00:00.750 UTC [6] collector LOG:  connection authorized: user=collector "
    "database=x\n";

// A login whose connection was already cut does not count. One whose connection was cut later does.
static void reads_the_times_of_one_role(void **state)
{
    char path[] = "/tmp/mp-sessions.XXXXXX";
    int fd = mkstemp(path);
    struct sessions s;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    int64_t wall_ns = sessions_line_ns("2026-11-21 23:00:00.000 UTC [1] LOG:  x");
    sessions_read(&s, path, 30, "collector", wall_ns);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.opened_ns[0], 750 * NS_PER_MS);
    assert_int_equal(s.opened_ns[1], 1250 * NS_PER_MS);
    sessions_fini(&s);
    unlink(path);
    sessions_read(&s, path, 0, "collector", wall_ns);
    assert_null(s.opened_ns);
    sessions_read(&s, NULL, 0, "collector", wall_ns);
    assert_null(s.opened_ns);
}

static void reads_the_time_of_a_line(void **state)
{
    assert_int_equal(
        sessions_line_ns("1970-01-02 00:00:01.002 UTC [1] x"), 86401 * NS_PER_S + 2 * NS_PER_MS);
    assert_int_equal(sessions_line_ns("DETAIL:  x"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_times_of_one_role),
        cmocka_unit_test(reads_the_time_of_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
