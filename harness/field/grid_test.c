// The table shows verdicts and speeds apart, our own collector last, and each conviction with its
// seeds, its promise and its command.
#include "base/unit.h"
#include "field/grid.h"

#include "scenario/promises.h"

static char *copy(const char *text)
{
    char *own = strdup(text);

    assert_non_null(own);
    return own;
}

static void promise(struct manifest *m, int flag, const char *quote, const char *url)
{
    m->promises.items = calloc(1, sizeof *m->promises.items);
    assert_non_null(m->promises.items);
    m->promises.items[0] = (struct quoted){flag, copy(quote), copy(url)};
    m->promises.count = 1;
    m->promises.flags = flag;
}

static void set(struct cell *c, enum cell_mark mark, const char *text, const char *command)
{
    c->mark = mark;
    snprintf(c->text, sizeof c->text, "%s", text);
    snprintf(c->command, sizeof c->command, "%s", command);
}

static void fill(struct grid *g)
{
    static const char *const titles[] = {"server killed", "p50", "p99"};

    grid_init(g, titles, 3, 3);
    g->speeds = 2;
    snprintf(g->postgres, sizeof g->postgres, "15.18");
    snprintf(g->rows[0].name, sizeof g->rows[0].name, "mailroom");
    g->rows[0].ours = true;
    g->rows[0].manifest.wakes = copy("LISTEN");
    g->rows[0].manifest.concurrency = copy("batches of 10");
    struct grid_row *r = &g->rows[1];
    snprintf(r->name, sizeof r->name, "one");
    snprintf(r->version, sizeof r->version, "10.25");
    r->manifest.newest = copy("12.01");
    r->manifest.wakes = copy("a poll every 0.5 s");
    r->manifest.concurrency = copy("10");
    promise(&r->manifest, PROMISE_NO_LOSS, "nothing is lost", "https://one.example/docs");
    set(&r->cells[0], CELL_BROKEN, "broken 2 of 3: 3 missing", "mailproof run x");
    r->cells[0].broken = PROMISE_NO_LOSS;
    snprintf(r->cells[0].told, sizeof r->cells[0].told, "seed 1: 3 missing; seed 2: kept");
    set(&r->cells[1], CELL_FIGURE, "5 ms", "mailproof run y");
    set(&r->cells[2], CELL_FIGURE, "9 ms", "mailproof run y");
    snprintf(g->rows[2].name, sizeof g->rows[2].name, "two");
    snprintf(g->rows[2].absent, sizeof g->rows[2].absent, "two: its registry is not reached");
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

static void markdown_has_evidence_for_each_conviction(void **state)
{
    struct grid g;
    struct buf out;

    fill(&g);
    buf_init(&out, 1 << 20);
    grid_markdown(&g, &out);
    const char *text = buf_str(&out);
    assert_non_null(strstr(text, "PostgreSQL 15.18"));
    assert_non_null(strstr(text, "| one 10.25 (Debian's; 12.01 is newer) | job queue | **broken"));
    assert_non_null(strstr(text, "### one 10.25: server killed\n\nIn Debian's version; 12.01 was"));
    assert_non_null(strstr(text, "- seen: seed 1: 3 missing; seed 2: kept\n"));
    assert_non_null(
        strstr(text, "- promised, no_loss: \"nothing is lost\" (https://one.example/docs)\n"));
    assert_non_null(strstr(text, "- see it: `mailproof run x`"));
    assert_int_equal(count_of(text, "- p50, p99: `mailproof run y`"), 1);
    assert_int_equal(count_of(text, "`mailproof run y`"), 1);
    assert_non_null(
        strstr(text, "| one 10.25 (Debian's; 12.01 is newer) | a poll every 0.5 s | 10 |"));
    assert_non_null(strstr(text, "| mailroom  | LISTEN | batches of 10 |"));
    // The commands are folded away, because most readers want none of them.
    assert_int_equal(count_of(text, "<details>"), 2);
    assert_int_equal(count_of(text, "</details>"), 2);
    assert_non_null(strstr(text, "Not installed here: two: its registry is not reached."));
    assert_null(strstr(text, "| two"));
    assert_true(strstr(text, "| one") < strstr(text, "| mailroom"));
    buf_fini(&out);
    grid_fini(&g);
}

static void text_has_commands_only_when_asked(void **state)
{
    struct grid g;
    struct buf out;

    fill(&g);
    for (int commands = 0; commands < 2; commands++) {
        buf_init(&out, 1 << 20);
        grid_text(&g, commands, &out);
        const char *text = buf_str(&out);
        assert_non_null(strstr(text, "broken 2 of 3: 3 missing"));
        assert_non_null(strstr(text, "two : not installed: two: its registry"));
        assert_int_equal(strstr(text, "mailproof run x") != NULL, commands);
        buf_fini(&out);
    }
    grid_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown_has_evidence_for_each_conviction),
        cmocka_unit_test(text_has_commands_only_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
