#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fault/inside.h"

static void every_verb_has_a_family(void **state)
{
    (void)state;
    for (enum verb_id id = 0; id < VERB_COUNT; id++) {
        const struct fault_verb *found = fault_verb_find(id);
        if (!found) {
            fail_msg("no file of fault/ carries out %s", verbs[id].name);
            return;
        }
        assert_int_equal(found->id, id);
        // A verb that requires `for` must have an end. A verb that acts on a disk must say that it
        // needs one.
        assert_true(found->end || !(verbs[id].params & PARAM_NEEDS_FOR));
        assert_int_equal(found->need == NEEDS_DISK, verbs[id].needs_disk);
        assert_int_equal(found->need == NEEDS_CLUSTER, verbs[id].needs_cluster);
        assert_true(found->need == NEEDS_ADDRESS || !verbs[id].on_network);
    }
    assert_null(fault_verb_find(VERB_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_has_a_family),
    };
    return cmocka_run_group_tests_name("harness.fault", tests, NULL, NULL);
}
