// Every finding that comes with mailproof can be read, and its scenario and its subjects exist. A
// wrong one is refused with the place of the mistake.
#include "base/unit.h"
#include "field/finding.h"

#include <strings.h>

#include "os/paths.h"
#include "scenario/scenario.h"
#include "subject/manifest.h"

static void check_subjects(const struct field_finding *f, char *const *names)
{
    for (; *names; names++) {
        char path[PATH_MAX];
        struct manifest m = {0};
        struct err e = {0};
        if (!path_join(path, f->dir, *names, &e) || !manifest_load(&m, path, &e))
            fail_msg("%s: %s", f->id, e.text);
        // What breaks must be judged: the subject makes the promise.
        assert_int_not_equal(m.promises.flags, 0);
        manifest_fini(&m);
    }
}

static void ours_can_be_repeated(void **state)
{
    char **ids;
    struct err e = {0};

    if (!finding_ids(&ids, &e))
        fail_msg("%s", e.text);
    assert_non_null(ids[0]);
    for (char **id = ids; *id; id++) {
        struct field_finding f;
        struct scenario s = {0};
        char path[PATH_MAX];
        if (!finding_load(&f, *id, &e) || !path_join(path, f.dir, "scenario.yaml", &e) ||
            !scenario_load(&s, path, &(struct overrides){0}, &e))
            fail_msg("%s: %s", *id, e.text);
        assert_true(s.name && strcasecmp(s.name, f.id) == 0);
        check_subjects(&f, f.bad);
        check_subjects(&f, f.good);
        if (!*f.text)
            fail_msg("%s: nothing stands behind the front matter", f.id);
        scenario_fini(&s);
        finding_fini(&f);
    }
    memory_free_texts(ids);
}

static void an_unknown_one_is_refused(void **state)
{
    struct field_finding f;
    struct err e = {0};

    assert_false(finding_load(&f, "GW-l", &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, "did you mean 'GW-1'?"));
    finding_fini(&f);
    assert_false(finding_load(&f, "../dbos", &e));
    finding_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_can_be_repeated),
        cmocka_unit_test(an_unknown_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
