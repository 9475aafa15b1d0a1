// A template is filled from JSON, and the pages of a table hold what the table says, escaped.
#include "base/unit.h"
#include "field/site.h"

#include "field/prose.h"

static void templates_are_filled(void **state)
{
    static const struct {
        const char *page, *text;
    } cases[] = {
        {"a {{word}} b", "a x&lt;y b"},
        {"{{number}}{{nothing}}", "7"},
        {"{{#list}}[{{name}}{{word}}]{{/list}}", "[1x&lt;y][2z]"},
        {"{{#word}}yes{{/word}}{{^word}}no{{/word}}", "yes"},
        {"{{#nothing}}yes{{/nothing}}{{^nothing}}no{{/nothing}}", "no"},
        {"{{#empty}}yes{{/empty}}{{#false}}yes{{/false}}{{^false}}no{{/false}}", "no"},
        {"{{#list}}{{#list}}{{name}}{{/list}};{{/list}}", "12;12;"},
    };
    json_t *root =
        json_loads("{\"word\": \"x<y\", \"number\": 7, \"empty\": \"\", \"false\": false,"
                   "\"list\": [{\"name\": \"1\"}, {\"name\": \"2\", \"word\": \"z\"}]}",
            0, NULL);

    assert_non_null(root);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;
        buf_init(&out, 1 << 16);
        fill_template(&out, cases[i].page, root);
        assert_string_equal(buf_str(&out) ? out.data : "", cases[i].text);
        buf_fini(&out);
    }
    json_decref(root);
}

static void paths_lose_their_folders(void **state)
{
    char path[] = "/a/b/c.js:1 failed", url[] = "node: file:///a/b/core.js|'/x y'",
         none[] = "1/2, a/b (collector.promises)";

    prose_drop_folders(path);
    assert_string_equal(path, "c.js:1 failed");
    prose_drop_folders(url);
    assert_string_equal(url, "node: file:core.js|'x y'");
    prose_drop_folders(none);
    assert_string_equal(none, "1/2, a/b (collector.promises)");
}

// A mark without its closing mark stays as it is written.
static void prose_becomes_blocks(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "[]"},
        {"a\n\nb\n", "[{\"spans\":[{\"plain\":\"a\"}]},{\"spans\":[{\"plain\":\"b\\n\"}]}]"},
        {"**Why.** `f`", "[{\"spans\":[{\"bold\":\"Why.\"},{\"plain\":\" \"},{\"mono\":\"f\"}]}]"},
        {"[1](u) [2]", "[{\"spans\":[{\"words\":\"1\",\"url\":\"u\"},{\"plain\":\" [2]\"}]}]"},
        {"[2] [1](u)", "[{\"spans\":[{\"plain\":\"[2] \"},{\"words\":\"1\",\"url\":\"u\"}]}]"},
        {"2 ** 3 * `x", "[{\"spans\":[{\"plain\":\"2 ** 3 * `x\"}]}]"},
        {"a `b\n\nc` d", "[{\"spans\":[{\"plain\":\"a `b\"}]},{\"spans\":[{\"plain\":\"c` d\"}]}]"},
        {"```sql\nSELECT\n\n1\n```\nx",
            "[{\"code\":\"SELECT\\n\\n1\"},{\"spans\":[{\"plain\":\"x\"}]}]"},
        {"```\n```\nx", "[{\"code\":\"\"},{\"spans\":[{\"plain\":\"x\"}]}]"},
        {"```sql\nno end", "[{\"spans\":[{\"plain\":\"```sql\\nno end\"}]}]"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *blocks = prose_blocks(cases[i].text);
        char *json = json_dumps(blocks, JSON_COMPACT);
        assert_string_equal(json, cases[i].json);
        free(json);
        json_decref(blocks);
    }
}

static void read_page(const char *dir, const char *name, char *text, size_t size)
{
    char path[200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s is missing", path);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

static void fill_grid(struct grid *g)
{
    static const char *const titles[] = {"server <killed>", "p50"};

    grid_init(g, titles, 2, 2);
    g->speeds = 1;
    snprintf(g->postgres, sizeof g->postgres, "15.18");
    snprintf(g->rows[0].name, sizeof g->rows[0].name, "mailroom");
    snprintf(g->rows[0].version, sizeof g->rows[0].version, "1");
    g->rows[0].ours = true;
    g->rows[0].manifest.wakes = strdup("LISTEN");
    g->rows[0].manifest.concurrency = strdup("batches of 10");
    g->rows[0].cells[0].mark = CELL_OTHER;
    snprintf(g->rows[0].cells[0].text, sizeof g->rows[0].cells[0].text, "not promised: 1 exit");
    snprintf(g->rows[1].name, sizeof g->rows[1].name, "dbos");
    snprintf(g->rows[1].version, sizeof g->rows[1].version, "5");
    g->rows[1].manifest.wakes = strdup("a poll");
    g->rows[1].manifest.concurrency = strdup("10");
    g->rows[1].cells[0].mark = CELL_BROKEN;
    snprintf(g->rows[1].cells[0].text, sizeof g->rows[1].cells[0].text, "broken 2 of 3");
    snprintf(g->rows[1].cells[0].command, sizeof g->rows[1].cells[0].command, "mailproof run x");
    snprintf(g->rows[1].cells[0].told, sizeof g->rows[1].cells[0].told, "seed 1: 2 left");
}

// Stores two runs of a cell and one of another cell; all have the same result folder.
static void store_runs(struct answer_file *answers, const char *dir)
{
    static const char *const keys[] = {"dbos 5: mailproof run x", "dbos 5: mailproof run xy",
        "dbos 5: mailproof run x --set 'seed=7'"};
    char path[200];

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_set_new(answers->all, keys[i], json_pack("{s:s}", "folder", dir));
    snprintf(path, sizeof path, "%s/result.json", dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("{}", file);
    fclose(file);
}

static void pages_hold_the_table(void **state)
{
    static char text[200000];
    char dir[] = "/tmp/site-test-XXXXXX";
    struct answer_file answers = {.all = json_object()};
    struct grid g;
    struct err e = {0};

    assert_non_null(mkdtemp(dir));
    fill_grid(&g);
    store_runs(&answers, dir);
    // A user's own subject is named by its folder's path, and has a page, too.
    snprintf(g.rows[1].name, sizeof g.rows[1].name, "./mine/dbos");
    g.rows[1].manifest.name = strdup("dbos");
    // The pages tell nothing, good or bad, of a fault that was not asked.
    struct cell other = g.rows[0].cells[0];
    g.rows[0].cells[0].mark = CELL_EMPTY;
    snprintf(g.rows[0].cells[0].text, sizeof other.text, "not asked: too slow");
    assert_true(site_write(&g, &answers, dir, &e));
    g.rows[0].cells[0] = other;
    read_page(dir, "mailroom-1.html", text, sizeof text);
    assert_non_null(strstr(text, "<p class=\"empty\">No fault was asked of it: too slow.</p>"));
    read_page(dir, "index.html", text, sizeof text);
    assert_non_null(strstr(text, "<a href=\"dbos-5.html\">dbos 5</a>"));
    read_page(dir, "dbos-5.html", text, sizeof text);
    assert_non_null(strstr(text, "Faults asked: 1 of 1 broken: server &lt;killed&gt;.</p>"));
    // The stored runs are those of the subject `dbos` that comes with mailproof.
    assert_null(strstr(text, "result of seed"));
    // A queue whose name only begins like the project's is not accused of its findings.
    snprintf(g.rows[1].name, sizeof g.rows[1].name, "dbos2");
    assert_true(site_write(&g, &answers, dir, &e));
    read_page(dir, "dbos-5.html", text, sizeof text);
    assert_null(strstr(text, "id=\"DB-1\""));
    snprintf(g.rows[1].name, sizeof g.rows[1].name, "dbos");
    if (!site_write(&g, &answers, dir, &e))
        fail_msg("%s", e.text);
    read_page(dir, "index.html", text, sizeof text);
    assert_non_null(strstr(text, "server &lt;killed&gt;"));
    assert_non_null(strstr(text, "<a href=\"dbos-5.html#run-1\">broken 2 of 3</a>"));
    assert_non_null(
        strstr(text, "<li class=\"broken\">dbos 5: 1 of 1 broken: server &lt;killed&gt;</li>"));
    assert_null(strstr(text, "No promise was broken"));
    // Up to four subjects are shown as cards on every screen, each cell with its column's title.
    assert_non_null(strstr(text, "<style media=\"all\">"));
    assert_non_null(strstr(text, "<td class=\"broken\" data-title=\"server &lt;killed&gt;\">"));
    assert_true(strstr(text, "dbos-5.html") < strstr(text, "mailroom-1.html"));
    assert_null(strstr(text, "{{"));
    read_page(dir, "dbos-5.html", text, sizeof text);
    assert_non_null(strstr(text, "seed 1: 2 left"));
    assert_non_null(strstr(text, "id=\"DB-1\""));
    assert_null(strstr(text, "id=\"GW-1\""));
    assert_non_null(strstr(text, "Settings: as the subject dbos; each workflow takes"));
    assert_non_null(strstr(text, "<tr id=\"run-1\">"));
    assert_non_null(strstr(text, "<b>Why.</b> <code>recordWorkflowOutput</code>"));
    assert_non_null(strstr(text, "raw/0001.json\">result of seed 1<"));
    assert_null(strstr(text, "raw/0002.json"));
    assert_non_null(strstr(text, "raw/0003.json\">result of seed 7<"));
    assert_non_null(strstr(text, "They were not asked yet"));
    read_page(dir, "findings.html", text, sizeof text);
    assert_non_null(strstr(text, "id=\"GW-1\""));
    read_page(dir, "field.json", text, sizeof text);
    assert_non_null(strstr(text, "\"broken 2 of 3\""));
    read_page(dir, "badges/dbos-5.svg", text, sizeof text);
    assert_non_null(strstr(text, "1 of 1 broken"));
    // A fault breaks nothing that the subject did not promise.
    read_page(dir, "badges/mailroom-1.svg", text, sizeof text);
    assert_non_null(strstr(text, "none of 1 broken"));
    static const char *const rest[] = {"mailroom-1.html", "rules.html", "raw/runs.json",
        "raw/SHA256SUMS", "raw/0001.json", "raw/0002.json", "raw/0003.json", "result.json"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        read_page(dir, rest[i], text, sizeof text);
    char below[100];
    snprintf(below, sizeof below, "%s/badges", dir);
    rmdir(below);
    snprintf(below, sizeof below, "%s/raw", dir);
    rmdir(below);
    assert_int_equal(rmdir(dir), 0);
    json_decref(answers.all);
    grid_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_are_filled),
        cmocka_unit_test(paths_lose_their_folders),
        cmocka_unit_test(prose_becomes_blocks),
        cmocka_unit_test(pages_hold_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
