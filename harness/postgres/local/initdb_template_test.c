#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/unit.h"
#include "os/paths.h"
#include "os/workdir.h"
#include "postgres/local/initdb_template.h"

static char cache[] = "/var/tmp/mp-template-test.XXXXXX";

static int make_cache(void **state)
{
    return mkdtemp(cache) ? 0 : -1;
}

static int remove_cache(void **state)
{
    return workdir_remove_tree(cache) ? 0 : -1;
}

static void only_old_unfinished_templates_are_removed(void **state)
{
    static const struct {
        const char *name;
        time_t age_s;
        bool stays;
    } rows[] = {
        {"postgres--PostgreSQL--15.14-1-105.4711", 7200, false},
        {"postgres--PostgreSQL--15.14-1-105.4712", 0, true},
        {"postgres--PostgreSQL--15.14-1-105", 7200, true},
        {"postgres--PostgreSQL--15.14-Debian-15.14-0+deb12u1--1-105", 7200, true},
    };
    char path[PATH_MAX], inner[PATH_MAX];
    struct err e;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct timespec old[2] = {{.tv_sec = time(NULL) - rows[i].age_s}};
        old[1] = old[0];
        assert_true(path_join(path, cache, rows[i].name, &e));
        assert_true(path_join(inner, path, "base/1", &e) && path_make(inner, &e));
        assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    }
    template_sweep(cache);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(path_join(path, cache, rows[i].name, &e));
        assert_int_equal(path_exists(path), rows[i].stays);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_old_unfinished_templates_are_removed),
    };

    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
