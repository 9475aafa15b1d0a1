#include "base/unit.h"
#include "explore/exploring.h"
#include "explore/search_page.h"
#include "os/workdir.h"
#include "scenario/scenario.h"

#define TEXT_MAX (64u << 10)
#define DRAWS 400

#define ALL_MODES (DRAW_DEQUEUES | 1u << DEQUEUE_LEASED)

static const struct draw_limits everything = {.dequeues = ALL_MODES, .ours = true};

static char *draw(const struct draw_limits *limits, uint64_t seed, uint64_t number)
{
    struct buf text;

    buf_init(&text, TEXT_MAX);
    draw_scenario(limits, seed, number, &text);
    char *copy = strdup(buf_str(&text));
    buf_fini(&text);
    return copy;
}

// Loads the text as `mailproof run` would.
static bool load(struct scenario *s, const char *text, struct err *e)
{
    char dir[] = "/tmp/mp-explore.XXXXXX", path[100];
    struct overrides none = {0};

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/scenario.yaml", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    bool ok = scenario_load(s, path, &none, e);
    unlink(path);
    rmdir(dir);
    return ok;
}

static void the_same_seed_draws_the_same(void **state)
{
    for (uint64_t n = 0; n < 50; n++) {
        char *one = draw(&everything, 7, n), *again = draw(&everything, 7, n);
        char *other = draw(&everything, 8, n);
        assert_string_equal(one, again);
        assert_string_not_equal(one, other);
        free(one);
        free(again);
        free(other);
    }
}

// A few draws are not valid, for example because they kill more collectors than there are. They are
// skipped.
static void nearly_all_draws_can_be_run(void **state)
{
    int refused = 0;

    for (uint64_t n = 0; n < DRAWS; n++) {
        char *text = draw(&everything, 1, n);
        struct scenario s = {0};
        struct plan plan = {0};
        struct err e = {0};
        bool ok = load(&s, text, &e) && plan_make(&plan, &s, &e);
        if (!ok)
            printf("refused: %s\n%s\n", e.text, text);
        refused += !ok;
        if (ok)
            assert_in_range(scenario_load_ns(&s), NS_PER_S, 6 * NS_PER_S);
        plan_fini(&plan);
        scenario_fini(&s);
        free(text);
    }
    assert_in_range(refused, 0, DRAWS / 50);
}

static void every_verb_is_drawn_and_nothing_else_with_only(void **state)
{
    struct draw_limits limits = {.any_only = true, .dequeues = ALL_MODES};
    char wanted[80];

    for (size_t v = 0; v < VERB_COUNT; v++) {
        bool seen = false;
        snprintf(wanted, sizeof wanted, "do: %s", verbs[v].name);
        for (uint64_t n = 0; n < 2000 && !seen; n++) {
            char *text = draw(&everything, 1, n);
            seen = strstr(text, wanted);
            free(text);
        }
        assert_true(seen || draw_weight(&verbs[v]) == 0);
    }
    limits.only[verb_find("reset") - verbs] = true;
    for (uint64_t n = 0; n < 100; n++) {
        char *text = draw(&limits, 1, n);
        for (const char *p = text; (p = strstr(p, "do: ")) != NULL; p++)
            assert_int_equal(strncmp(p, "do: reset", 9), 0);
        free(text);
    }
}

static void a_mode_is_drawn_where_it_may_be(void **state)
{
    static const struct draw_limits leased = {.dequeues = 1u << DEQUEUE_LEASED}, none = {0};

    bool dies = false;
    for (uint64_t n = 0; n < 200; n++) {
        char *text = draw(&leased, 1, n), *other = draw(&none, 1, n);
        assert_non_null(strstr(text, "dequeue: leased\n  sender: {"));
        assert_null(strstr(other, "leased"));
        assert_null(strstr(other, "-sender"));
        dies = dies || strstr(text, "dies: ");
        free(text);
        free(other);
    }
    assert_true(dies);
}

// Counts those of the first DRAWS draws that have `wanted`, and checks that none of them has
// `unwanted` (NULL: nothing is unwanted).
static int count_draws(const struct draw_limits *limits, const char *wanted, const char *unwanted)
{
    int count = 0;

    for (uint64_t n = 0; n < DRAWS; n++) {
        char *text = draw(limits, 1, n);
        bool has = strstr(text, wanted);
        assert_false(has && unwanted && strstr(text, unwanted));
        count += has;
        free(text);
    }
    return count;
}

static void who_does_not_stand_by_is_drawn_alone(void **state)
{
    static const struct draw_limits any = {.dequeues = 1u << DEQUEUE_CURSOR};
    static const struct draw_limits alone = {.dequeues = 1u << DEQUEUE_CURSOR, .alone = true};

    assert_in_range(count_draws(&any, "  instances: 2\n", NULL), 1, DRAWS);
    assert_int_equal(count_draws(&alone, "  instances: ", NULL), 0);
}

static void a_bell_lanes_and_a_capacity_are_drawn_where_they_may_be(void **state)
{
    static const struct draw_limits none = {0};
    static const struct draw_limits shared = {.dequeues = 1u << DEQUEUE_SHARED, .ours = true};

    assert_in_range(count_draws(&everything, "announce: bell\n", "dequeue: leased"), 1, DRAWS);
    assert_int_equal(count_draws(&none, "announce: bell", NULL), 0);
    assert_in_range(count_draws(&everything, "name: lanes, ", "dequeue: shared"), 1, DRAWS);
    assert_in_range(count_draws(&shared, "MAILROOM_LANES", "dequeue: leased"), 1, DRAWS);
    assert_int_equal(count_draws(&none, "MAILROOM_LANES", NULL), 0);
    assert_in_range(count_draws(&everything, "MAILROOM_BUDGET", NULL), 1, DRAWS);
    assert_int_equal(count_draws(&none, "MAILROOM_BUDGET", NULL), 0);
    assert_in_range(count_draws(&none, "capacity: ", "do: "), 1, DRAWS);
}

static void check_key(const char *path, const char *text)
{
    (void)text;
    if (strcmp(path, "postgres") == 0 || strcmp(path, "collector") == 0 ||
        strcmp(path, "load") == 0 || strcmp(path, "faults") == 0)
        return;
    if (!draw_row(path))
        fail_msg(
            "the key %s has no row in explore/draw_rows.c: give it values to draw, or the reason "
            "why it is not drawn",
            path);
}

static void every_key_has_a_row(void **state)
{
    keys_each(check_key);
    for (size_t i = 0; i < draw_row_count; i++)
        assert_true(!draw_rows[i].options == !!draw_rows[i].why);
}

static void every_row_with_values_is_drawn(void **state)
{
    for (size_t i = 0; i < draw_row_count; i++) {
        const char *dot = strrchr(draw_rows[i].path, '.');
        char key[80];
        snprintf(key, sizeof key, "%s: ", dot ? dot + 1 : draw_rows[i].path);
        if (draw_rows[i].options && count_draws(&everything, key, NULL) == 0)
            fail_msg("no draw has a value of %s", draw_rows[i].path);
    }
}

static void a_draw_may_keep_what_a_scenario_says(void **state)
{
    struct draw_limits limits = {.base = "collector: {batch_limit: 7}\n"
                                         "load:\n  - {name: mine, for: 2s, rate: 10/s}\n",
        .base_load_ns = 2 * NS_PER_S,
        .base_instances = 1};

    for (uint64_t n = 0; n < 30; n++) {
        char *text = draw(&limits, 3, n);
        struct scenario s = {0};
        struct err e = {0};
        if (load(&s, text, &e)) {
            assert_int_equal(s.collector.batch_limit, 7);
            assert_string_equal(s.load[0].name, "mine");
        }
        scenario_fini(&s);
        free(text);
    }
}

// A scenario in leased mode may have faults of its sender.
static void a_leased_scenario_gets_faults_of_its_sender(void **state)
{
    struct draw_limits limits = {.any_only = true,
        .base = "collector: {dequeue: leased}\nload:\n  - {for: 2s, rate: 10/s}\n",
        .base_load_ns = 2 * NS_PER_S,
        .base_instances = 1,
        .base_dequeue = DEQUEUE_LEASED};

    limits.only[verb_find("kill-sender") - verbs] = true;
    assert_in_range(count_draws(&limits, "do: kill-sender", NULL), DRAWS / 2, DRAWS);
    limits.base_dequeue = DEQUEUE_CURSOR;
    assert_int_equal(count_draws(&limits, "do: ", NULL), 0);
}

// --- coverage ---------------------------------------------------------------------------

static size_t verb(const char *name)
{
    return (size_t)(verb_find(name) - verbs);
}

static void a_cell_seen_before_gains_nothing(void **state)
{
    static const char text[] =
        "name: x\nsummary: x\nload: [{for: 2s, rate: 10/s}]\n"
        "faults: [{at: 1s, do: reset}, {at: 1010ms, do: terminate-backend}]\n";
    struct coverage c = {0};
    struct scenario s = {0};
    struct plan plan = {0};
    struct err e = {0};

    assert_true(load(&s, text, &e) && plan_make(&plan, &s, &e));
    unsigned fresh = coverage_gain(&c, &s, &plan);
    struct tried t = {.judged = true, .mode = mode_of(&s), .met_count = 2};
    t.met[0] = (struct met){verb("reset"), 1.0, 1.0, EXCHANGE_IDLE};
    t.met[1] = (struct met){verb("terminate-backend"), 1.01, 1.01, EXCHANGE_ASKED};
    coverage_add(&c, &t);
    unsigned later = coverage_gain(&c, &s, &plan);
    assert_true(later < fresh);
    assert_int_equal(coverage_pairs(&c, &everything).seen, 1);
    assert_int_equal(coverage_states(&c, &everything).seen, 2);
    assert_int_equal(coverage_modes(&c, &everything).seen, 2);
    for (int i = EXCHANGE_NONE; i < EXCHANGE_STATES; i++) {
        t.met[0].state = t.met[1].state = (enum exchange_state)i;
        coverage_add(&c, &t);
    }
    assert_int_equal(coverage_gain(&c, &s, &plan), 0);
    plan_fini(&plan);
    scenario_fini(&s);
}

// --- results, journal, failures -----------------------------------------------------------

static struct tried example(void)
{
    static const char text[] =
        "{\"verdict\": \"violated\", \"broken\": [\"lost\", \"late\"], \"reasons\": [], "
        "\"faults\": ["
        "{\"do\": \"reset\", \"at_s\": 1.5, \"ended_s\": 1.5, \"ok\": true, \"left_out\": false,"
        " \"wire\": \"asked\"},"
        "{\"do\": \"reset\", \"at_s\": null, \"ended_s\": null, \"ok\": true, \"left_out\": "
        "true}]}";
    struct tried t = {.number = 9, .mode = MODE_SHARED_SEVERAL, .took_s = 2.5};
    json_t *result = json_loads(text, 0, NULL);
    struct err e;

    assert_non_null(result);
    assert_true(tried_take(&t, result, &e));
    json_decref(result);
    return t;
}

static void a_result_becomes_what_was_tried(void **state)
{
    struct tried t = example(), again;
    char broken[100];
    struct err e;

    assert_true(t.judged && t.verdict == VERDICT_VIOLATED);
    assert_int_equal(t.met_count, 1);
    assert_int_equal(t.met[0].state, EXCHANGE_ASKED);
    tried_broken_text(t.broken, broken, sizeof broken);
    assert_string_equal(broken, "lost,late");
    json_t *line = tried_write(&t);
    assert_true(tried_read(&again, line, &e));
    json_decref(line);
    assert_memory_equal(again.broken, t.broken, sizeof t.broken);
    assert_int_equal(again.number, 9);
    assert_int_equal(again.mode, MODE_SHARED_SEVERAL);
    assert_int_equal(again.met_count, 1);
}

// A reason that is cut in the middle of a character still has an entry in the journal.
static void a_long_reason_is_cut(void **state)
{
    struct tried t = example();
    char reason[sizeof t.why + 10];

    memset(reason, 'x', sizeof reason);
    memcpy(reason + sizeof t.why - 2, "€", sizeof "€");
    tried_why(&t, reason);
    json_t *line = tried_write(&t);
    assert_non_null(line);
    json_decref(line);
}

static void equal_failures_fold(void **state)
{
    static const char small[] = "name: x\nsummary: x\nload: [{for: 1s, rate: 10/s}]\n"
                                "faults: [{at: 1s, do: reset}]\n";
    static const char large[] = "name: x\nsummary: x\nload: [{for: 1s, rate: 10/s}]\n"
                                "faults: [{at: 500ms, do: kill-collector}, {at: 1s, do: reset}]\n";
    struct scenario s = {0}, t = {0};
    struct failure f = {.confirmed = 1}, again = {.confirmed = 1};
    struct tried tried = example(), few = example();
    struct err e;

    assert_true(load(&s, small, &e) && load(&t, large, &e));
    few.mode = tried.mode = mode_of(&s);
    verbs_of(&s, few.verbs);
    verbs_of(&t, tried.verbs);
    failure_describe(&f, &s, tried.broken);
    assert_string_equal(f.name, "lost-late-reset");
    assert_true(failure_explains(&f, &tried));
    failure_describe(&again, &t, tried.broken);
    assert_false(failure_explains(&again, &few));
    tried.broken[METRIC_TORN] = true;
    assert_false(failure_explains(&f, &tried));
    json_t *line = failure_write(&f);
    assert_true(failure_read(&again, line, &e));
    assert_string_equal(again.name, f.name);
    assert_memory_equal(again.verbs, f.verbs, sizeof f.verbs);
    f.confirmed = 0;
    assert_false(failure_explains(&f, &few));
    // A failure's name becomes a file's name, so a name that is a path is refused.
    json_object_set_new(line, "failure", json_string("../../etc/passwd"));
    assert_false(failure_read(&again, line, &e));
    json_decref(line);
    scenario_fini(&s);
    scenario_fini(&t);
}

static void the_journal_goes_on(void **state)
{
    char dir[] = "/tmp/mp-journal.XXXXXX";
    const struct record_head head = {.command = "explore", .about = "seed 5", .program = "1"};
    const struct record_head other = {.command = "explore", .about = "seed 6", .program = "1"};
    struct tried t = example();
    struct failure f = {.name = "lost-reset", .draw = 9, .confirmed = 1, .asked = 2};
    struct journal j = {0};
    struct buf page;
    struct err e;

    memcpy(f.broken, t.broken, sizeof f.broken);
    f.mode = t.mode;
    assert_non_null(mkdtemp(dir));
    assert_true(journal_open(&j, dir, &head, &e));
    assert_true(journal_add(&j, &t, &e) && journal_found(&j, &f, &e) && journal_end(&j, 12.5, &e));
    journal_close(&j);

    assert_true(journal_open(&j, dir, &head, &e));
    assert_true(journal_has(&j, 9) && !journal_has(&j, 77));
    assert_int_equal(j.verdicts[VERDICT_VIOLATED], 1);
    assert_int_equal(j.failure_count, 1);
    assert_int_equal(j.calls, 1);
    t.number = 10;
    assert_true(journal_explains(&j, &t));
    assert_true(journal_add(&j, &t, &e));
    assert_int_equal(journal_failure(&j, "lost-reset")->again, 1);
    t.number = 8; // a lower number is looked into
    assert_false(journal_explains(&j, &t));
    buf_init(&page, 1u << 20);
    assert_true(page_html(&(struct page){&j, 5, "mine", &everything, "results/x", false}, &page));
    assert_non_null(strstr(page.data, "<pre>mailproof run results/x/"));
    assert_non_null(strstr(page.data, ".yaml --collector mine</pre>"));
    buf_fini(&page);
    journal_close(&j);

    assert_true(journal_open(&j, dir, &head, &e));
    assert_int_equal(j.tried, 2);
    journal_close(&j);
    assert_false(journal_open(&j, dir, &other, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    journal_close(&j);
    workdir_remove_tree(dir);
}

// Returns the text and the page about a search that has found one failure; the caller frees it.
static char *told(const struct journal *j, bool conninfo)
{
    const struct page p = {j, 5, "mine", &everything, "results/x", conninfo};
    struct buf out;

    buf_init(&out, 1u << 20);
    assert_true(page_text(&p, &out) && page_html(&p, &out));
    char *copy = strdup(buf_str(&out));
    buf_fini(&out);
    return copy;
}

// With its number in --only a draw is run and investigated again. It is still one draw. A failure
// that a signal kept from being run again did not fail to come again.
static void a_draw_that_is_run_again_is_one_draw(void **state)
{
    const struct record_head head = {.command = "explore", .about = "seed 5", .program = "1"};
    struct tried t = example();
    struct failure f = {.name = "lost-reset", .draw = 9};
    struct journal j = {0};
    struct err e;

    memcpy(f.broken, t.broken, sizeof f.broken);
    f.mode = t.mode;
    assert_true(journal_open(&j, NULL, &head, &e));
    assert_true(journal_add(&j, &t, &e) && journal_found(&j, &f, &e));
    char *text = told(&j, false);
    assert_non_null(strstr(text, "draw 9, not run again; seen in no other draw"));
    assert_non_null(strstr(text, "It was not run again."));
    free(text);
    f.asked = 2;
    assert_true(journal_add(&j, &t, &e) && journal_found(&j, &f, &e));
    assert_int_equal(journal_failure(&j, "lost-reset")->again, 0);
    text = told(&j, true);
    assert_non_null(strstr(text, "draw 9, could not be repeated (0 of 2); seen in no other draw"));
    assert_non_null(strstr(text, " --collector mine --postgres CONNINFO\n"));
    free(text);
    journal_close(&j);
}

// The search has to know whether it tests the reference collector, because only that knows the bell
// and lanes.
static void explores(const struct options *o, bool ours, const char *collector)
{
    static struct exploring x; // too large for the stack
    struct err e;

    memset(&x, 0, sizeof x);
    assert_true(exploring_init(&x, o, &e));
    assert_int_equal(x.limits[0].ours, ours);
    assert_int_equal(x.limits[0].alone, !ours); // only the reference promises to stand by
    const struct page page = {&x.journal, 1, x.collector, &x.limits[0], x.dir, false};
    assert_string_equal(page_collector(&page), collector);
    exploring_fini(&x);
}

static void a_set_may_name_another_collector(void **state)
{
    char dir[] = "/tmp/mp-explore.XXXXXX", *no_scenarios[] = {NULL};
    const char *sets[] = {"drain=9s", "collector.command=[./mine, -v]"};
    const char *word[] = {"collector.command.0=./mine"};
    struct options o = {.args = no_scenarios, .sets = sets, .set_count = 1, .out = dir};

    assert_non_null(mkdtemp(dir));
    explores(&o, true, "the reference collector");
    o.set_count = 2;
    explores(&o, false, "the collector that the scenario names");
    o.collector = "./mine";
    o.set_count = 1;
    explores(&o, false, "./mine");
    o.collector = NULL;
    o.sets = word;
    explores(&o, false, "the collector that the scenario names");
    workdir_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_draws_the_same),
        cmocka_unit_test(nearly_all_draws_can_be_run),
        cmocka_unit_test(every_verb_is_drawn_and_nothing_else_with_only),
        cmocka_unit_test(a_mode_is_drawn_where_it_may_be),
        cmocka_unit_test(who_does_not_stand_by_is_drawn_alone),
        cmocka_unit_test(a_bell_lanes_and_a_capacity_are_drawn_where_they_may_be),
        cmocka_unit_test(every_key_has_a_row),
        cmocka_unit_test(every_row_with_values_is_drawn),
        cmocka_unit_test(a_draw_may_keep_what_a_scenario_says),
        cmocka_unit_test(a_leased_scenario_gets_faults_of_its_sender),
        cmocka_unit_test(a_cell_seen_before_gains_nothing),
        cmocka_unit_test(a_result_becomes_what_was_tried),
        cmocka_unit_test(a_long_reason_is_cut),
        cmocka_unit_test(equal_failures_fold),
        cmocka_unit_test(the_journal_goes_on),
        cmocka_unit_test(a_draw_that_is_run_again_is_one_draw),
        cmocka_unit_test(a_set_may_name_another_collector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
