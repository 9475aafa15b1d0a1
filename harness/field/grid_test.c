// Cells say what came of a run, and the three tables hold each cell with its command.
#include "field/grid.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_cells(void **state)
{
    static const struct {
        struct fault_outcome outcome;
        const char *text;
        enum cell_mark mark;
    } cases[] = {
        {{0, 0, 0, 0, NAN, .judged = true}, "ok", CELL_GOOD},
        {{0, 0, NAN, 0, 230, .judged = true}, "ok, back in 0.2 s", CELL_GOOD},
        {{0, 4, 0, 0, NAN, .judged = true}, "4 again", CELL_GOOD},
        {{3, 2, 1, 1, 5000, .judged = true}, "3 missing, 1 left, 2 again, 1 exits, back in 5.0 s",
            CELL_BAD},
        {{0, 0, 0, 0, NAN, .judged = false}, "ok (inconclusive)", CELL_DOUBTFUL},
        {{2, 0, 0, 0, 1000, .judged = true, .runs = 3, .bad = 2},
            "2 missing, back in 1.0 s, 2 of 3 runs", CELL_BAD},
        {{NAN, NAN, NAN, NAN, NAN, .judged = false, .missed = true}, "nobody to hit", CELL_EMPTY},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cell c = {0};
        grid_fault_cell(&c, &cases[i].outcome);
        assert_string_equal(c.text, cases[i].text);
        assert_int_equal(c.mark, cases[i].mark);
    }
}

static void fill(struct grid *g)
{
    static const char *const titles[] = {"p50", "kill <it>"};
    struct err e;

    assert_true(grid_init(g, titles, 2, 2, &e));
    snprintf(g->rows[0].name, sizeof g->rows[0].name, "one");
    snprintf(g->rows[0].cells[0].text, sizeof g->rows[0].cells[0].text, "5 ms");
    snprintf(g->rows[0].cells[1].text, sizeof g->rows[0].cells[1].text, "3 lost");
    snprintf(g->rows[0].cells[1].command, sizeof g->rows[0].cells[1].command, "mailproof run x");
    g->rows[0].cells[1].mark = CELL_BAD;
    snprintf(g->rows[1].name, sizeof g->rows[1].name, "two");
    snprintf(g->rows[1].absent, sizeof g->rows[1].absent, "its registry is not reached");
}

static void test_tables(void **state)
{
    void (*const print[])(const struct grid *, struct buf *) = {
        grid_text, grid_markdown, grid_html};
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        struct grid g;
        struct buf out;
        fill(&g);
        buf_init(&out, 1 << 20);
        print[i](&g, &out);
        const char *text = buf_str(&out);
        assert_non_null(strstr(text, "3 lost"));
        assert_non_null(strstr(text, "mailproof run x"));
        assert_non_null(strstr(text, "its registry is not reached"));
        assert_true((strstr(text, "kill &lt;it&gt;") != NULL) == (print[i] == grid_html));
        buf_fini(&out);
        grid_fini(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
