#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
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
        assert_true(found->need == NEEDS_ADDRESS || verbs[id].hits != HITS_NETWORK);
    }
    assert_null(fault_verb_find(VERB_COUNT));
}

static void describe(struct buf *out, const struct verb *v)
{
    const struct fault_verb *f = fault_verb_find(v->id);

    buf_printf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", v->name,
        verb_hits_name(v->hits), v->params & PARAM_INSTANCE ? "one or all" : "all",
        verb_does_name(v->does), verb_ends_name(v->ends), v->keeps_away ? "yes" : "",
        v->silent ? "yes" : "", verb_loses_name(v->loses), f && f->look ? "yes" : "");
}

// README.md shows what the rows of the verbs say. Run the test to see the table as it should be.
static void the_readme_has_the_table(void **state)
{
    static char readme[1u << 16];
    FILE *file = fopen(README, "r");
    struct buf table;

    (void)state;
    assert_non_null(file);
    readme[fread(readme, 1, sizeof readme - 1, file)] = '\0';
    fclose(file);
    buf_init(&table, sizeof readme);
    for (enum verb_id id = 0; id < VERB_COUNT; id++)
        describe(&table, &verbs[id]);
    if (!strstr(readme, table.data)) {
        fputs(table.data, stdout); // a message of cmocka would be cut off
        fail_msg("the table in %s is another one", README);
    }
    buf_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_has_a_family),
        cmocka_unit_test(the_readme_has_the_table),
    };
    return cmocka_run_group_tests_name("harness.fault", tests, NULL, NULL);
}
