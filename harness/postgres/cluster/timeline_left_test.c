#include "base/unit.h"
#include "postgres/cluster/timeline_left.h"

static void the_last_line_counts(void **state)
{
    struct timeline_left left;
    struct err e = {0};

    assert_true(timeline_parse_history("1\t0/1500F98\tno recovery target specified\n\n"
                                       "2\t1A/30000A0\tno recovery target specified\n",
        &left, &e));
    assert_int_equal(left.timeline, 2);
    assert_string_equal(left.lsn, "1A/30000A0");
    assert_false(timeline_parse_history("", &left, &e));
    assert_false(timeline_parse_history("no history\n", &left, &e));
}

// The output of pg_waldump of PostgreSQL 15.
static const char dump[] =
    "rmgr: Transaction len (rec/tot):     34/    34, tx:        755, lsn: 0/03012345, prev "
    "0/03012300, desc: ABORT 2026-11-22 03:14:05.100000 UTC\n"
    "rmgr: Transaction len (rec/tot):    198/   198, tx:        756, lsn: 0/03012390, prev "
    "0/03012345, desc: COMMIT 2026-11-22 03:14:05.250000 UTC; inval msgs: catcache 51\n"
    "rmgr: Transaction len (rec/tot):     34/    34, tx:        757, lsn: 0/03012460, prev "
    "0/03012390, desc: COMMIT 2026-11-22 03:14:05.300000 UTC\n"
    "pg_waldump: error: error in WAL record at 0/3012460: invalid record length\n";

static void commits_are_counted_from_the_first(void **state)
{
    struct timeline_left left = {0};

    timeline_count_commits(dump, &left);
    assert_int_equal(left.commits, 2);
    // The expected number is the output of: date -u -d '2026-11-22 03:14:05' +%s
    assert_int_equal(left.first_wall_ns, INT64_C(1795317245) * NS_PER_S + 250 * NS_PER_MS);
    timeline_count_commits("", &left);
    assert_int_equal(left.commits, 0);
    assert_int_equal(left.first_wall_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_counts),
        cmocka_unit_test(commits_are_counted_from_the_first),
    };

    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
