// Cells show the outcome of a run, and the three forms of the table have each cell with its
// command.
#include "field/grid.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void cells_tell_the_outcome(void **state)
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
        {{2, 0, 0, 0, NAN, .judged = true, .runs = 3, .bad = 1}, "2 missing, 1 of 3 runs",
            CELL_DOUBTFUL},
        {{1, 0, 2, 0, NAN, .judged = true, .retry_s = 14400},
            "1 missing, 2 left until its retry after 240 min", CELL_FIGURE},
        {{1, 0, 0, 1, NAN, .judged = true, .retry_s = 14400}, "1 missing, 1 exits", CELL_BAD},
        {{0, 0, 0, 2, NAN, .judged = true, .may_exit = true}, "2 exits", CELL_GOOD},
        {{NAN, NAN, NAN, NAN, NAN, .judged = false, .missed = true}, "no target", CELL_EMPTY},
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
    snprintf(g->rows[0].cells[1].told, sizeof g->rows[0].cells[1].told, "seed 1: 3 lost");
    g->rows[0].cells[0] = g->rows[0].cells[1];
    g->rows[0].cells[0].told[0] = '\0';
    snprintf(g->rows[1].name, sizeof g->rows[1].name, "two");
    snprintf(g->rows[1].absent, sizeof g->rows[1].absent, "its registry is not reached");
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

// A command that answers several cells is listed once. A conviction is shown with its seeds.
static void lists_hold_each_command_once(void **state)
{
    struct grid g;
    struct buf out;
    (void)state;

    fill(&g);
    buf_init(&out, 1 << 20);
    grid_markdown(&g, &out);
    const char *text = buf_str(&out);
    assert_int_equal(count_of(text, "- p50, kill <it>: `mailproof run x`"), 1);
    assert_int_equal(count_of(text, "- see it: `mailproof run x`"), 1);
    assert_int_equal(count_of(text, "`mailproof run x`"), 2);
    assert_non_null(strstr(text, "- seen: seed 1: 3 lost\n"));
    buf_fini(&out);
    grid_fini(&g);
}

static void tables_hold_cells_and_commands(void **state)
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
        cmocka_unit_test(cells_tell_the_outcome),
        cmocka_unit_test(lists_hold_each_command_once),
        cmocka_unit_test(tables_hold_cells_and_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
