// Tests parts of a report that need no run.
#include <math.h>

#include "base/unit.h"
#include "os/paths.h"
#include "os/workdir.h"
#include "report/excused.h"
#include "report/pages/charts.h"
#include "report/pages/glance.h"
#include "report/escape.h"
#include "report/files/summary.h"
#include "report/gather.h"
#include "report/pages/index.h"
#include "report/life.h"
#include "report/suite.h"
#include "story/story.h"

static void read_text(const char *dir, const char *name, char *text, size_t size)
{
    char path[PATH_MAX];
    struct err e;

    assert_true(path_join(path, dir, name, &e));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void assert_repeats(const char *provider, const char *collector, const char *want)
{
    struct scenario s = {.postgres.provider = (char *)provider};
    struct buf command;

    buf_init(&command, 1000);
    assert_true(report_repeat_of("results/x 1", &s, collector, &command));
    assert_string_equal(buf_str(&command), want);
    buf_fini(&command);
}

// Words that a shell would split are quoted. The server's address is not kept, so the
// command has a placeholder for it.
static void the_command_that_repeats_it(void **state)
{
    assert_repeats("local", NULL, "mailproof run 'results/x 1'");
    assert_repeats("container", "./mine", "mailproof run 'results/x 1' --collector ./mine");
    assert_repeats(
        "url", "a b's", "mailproof run 'results/x 1' --collector 'a b'\\''s' --postgres CONNINFO");
}

static void assert_markdown(
    void (*append)(struct buf *out, const char *text), const char *text, const char *want)
{
    struct buf out FREED_BY(buf_fini) = BUF_INIT(1000);

    append(&out, text);
    assert_string_equal(buf_str(&out), want);
}

static void markdown_shows_the_text_unchanged(void **state)
{
    static const char *const cases[][2] = {
        {"3 lost, from 1.5 to 2.0 s", "3 lost, from 1.5 to 2.0 s"},
        {"_a_ *b* ~c~ `d` $e$ \\", "\\_a\\_ \\*b\\* \\~c\\~ \\`d\\` \\$e\\$ \\\\"},
        {"[a](b) <c> |d| &amp; ![e]", "\\[a\\](b) \\<c\\> \\|d\\| \\&amp; \\!\\[e\\]"},
        {"# a # b", "\\# a # b"},
        {"- a - b", "\\- a - b"},
        {"+ a", "\\+ a"},
        {"===", "\\==="},
        {"12. a 3. b", "12\\. a 3. b"},
        {"1) a", "1\\) a"},
        {"1", "1"},
        {"    a", "&#32;   a"},
        {"\ta", "&#9;a"},
        {"", ""},
        {"at https://a.b/c_d: e", "at https\\://a.b/c\\_d: e"},
        {"www.a_b.c", "www\\.a\\_b.c"},
        {"a_b@c.d", "a\\_b@c.d"},
        {"a\n# b", "a # b"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_markdown(append_markdown, cases[i][0], cases[i][1]);
    assert_markdown(append_markdown_url, "https://a.b/c_d~e", "<https://a.b/c_d~e>");
    assert_markdown(append_markdown_url, "https://a b", "https\\://a b");
    assert_markdown(append_markdown_url, "docs/a_b.md", "docs/a\\_b.md");
}

static void assert_read(const char *text, const char *common, size_t times, const char *cause)
{
    struct silence s = {0};
    char log[1000];

    snprintf(log, sizeof log, "%s", text);
    silence_read(&s, log, false);
    assert_string_equal(s.common, common);
    assert_int_equal(s.times, times);
    if (cause)
        assert_non_null(strstr(s.cause, cause));
    else
        assert_string_equal(s.cause, "");
}

// The commonest line is found although each has another time and port, and the first known cause
// counts.
static void the_log_tells_why_nothing_came(void **state)
{
    struct silence s = {0};
    char log[] = "a\nb\n\nc\x01\nd\xff";
    char denied[] = "ERROR:  permission denied for table tokens";

    assert_read("", "", 0, NULL);
    assert_read("12:00:01.5 up\n", "up", 1, NULL);
    assert_read("12:00:01 up\n12:00:02 port 5 refused\n12:00:12 port 41 refused\n",
        "port 41 refused", 2, NULL);
    assert_read("ERROR:  permission denied for schema public\nFATAL: Connection refused",
        "ERROR:  permission denied for schema public", 1, "collector.layout=foreign");
    assert_read("psycopg2.OperationalError: password authentication failed for user \"x\"",
        "psycopg2.OperationalError: password authentication failed for user \"x\"", 1,
        "MAILROOM_DATABASE_URL");
    silence_read(&s, log, false);
    assert_int_equal(s.end_count, 3);
    assert_string_equal(s.ends[0], "b");
    assert_string_equal(s.ends[1], "c?");
    assert_string_equal(s.ends[2], "d?");
    // A layout is not advised that the collector has already.
    s = (struct silence){0};
    silence_read(&s, denied, true);
    assert_non_null(strstr(s.cause, "needs --set collector.layout=reference"));
    assert_read("<main>: cannot load such file -- pg (LoadError)",
        "<main>: cannot load such file -- pg (LoadError)", 1, "library");
    assert_read("PHP Fatal error:  Uncaught PDOException: could not find driver",
        "PHP Fatal error:  Uncaught PDOException: could not find driver", 1, "extension");
}

static void assert_silent(const char *text, const char *what, const char *cause)
{
    static struct story t;
    struct result result;
    struct silence s;
    struct err e = {0};

    if (!story_read_text(&t, text, "test", &e))
        fail_msg("%s", e.text);
    struct check_input input = check_input_of(&t.history);
    check_ledger(&result, &t.history.ledger, &input);
    silence_find(&s, &t.history.ledger, &result, "/nonexistent");
    assert_string_equal(s.what, what);
    if (strncmp(s.cause, cause, strlen(cause)) != 0)
        fail_msg("'%s' does not begin with '%s'", s.cause, cause);
    result_fini(&result);
    story_fini(&t);
}

// The process that the harness asked to end, after one that failed by itself, explains nothing. One
// that the plan ended for the rest of the run did not run to the end.
static void the_exits_tell_why_nothing_came(void **state)
{
    assert_silent(
        "run until 5000\nprocess 0 until 100 exit 3\nprocess 1 instance 0 from 200 signal 15\n"
        "token 0 at 50\n",
        "the collector wrote no line at all",
        "it ended by itself 1 time, last with exit code 3 after");
    assert_silent("run until 5000\nprocess 0 until 1500 signal 9 asked\ntoken 0 at 50\n",
        "the collector wrote no line at all", "the plan ended it at 1.500 s");
    assert_silent("run until 5000\ntoken 0 at 50\n", "the collector wrote no line at all",
        "it ran to the end");
}

static void a_run_without_a_verdict_is_told(void **state)
{
    struct buf suites, document;

    buf_init(&suites, 10000);
    buf_init(&document, 10000);
    assert_true(report_junit_skipped("a", "no <disk> f\xfcr \x01", &suites));
    assert_true(report_junit_failed("b", "the server did not start", &suites));
    assert_true(report_junit_document(&suites, &document));
    const char *text = buf_str(&document);
    assert_non_null(strstr(text, "<testsuites name=\"mailproof\" tests=\"2\" failures=\"0\" "
                                 "errors=\"1\" skipped=\"1\" time=\"0.000\">"));
    assert_non_null(strstr(
        text, "<testsuite name=\"a\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""));
    assert_non_null(strstr(text, "<skipped message=\"no &lt;disk&gt; f?r ?\"></skipped>"));
    assert_non_null(strstr(
        text, "<testsuite name=\"b\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\""));
    assert_non_null(strstr(text, "<error message=\"the server did not start\"></error>"));
    buf_fini(&suites);
    buf_fini(&document);
}

// The row of a repeated scenario has one word for all of its runs. A run that failed is not hidden
// by a later one that passed.
static void a_row_keeps_a_failed_run(void **state)
{
    struct suite_run failed = {.scenario = "a",
        .state = SUITE_FAILED,
        .lost = NAN,
        .duplicated = NAN,
        .p50_ms = NAN,
        .p99_ms = NAN,
        .folder = (char[]){""},
        .why = (char[]){""}};
    struct suite_run passed = failed;
    char *text = NULL;
    size_t len;
    struct suite s;

    passed.state = SUITE_JUDGED;
    passed.verdict = VERDICT_PASS;
    suite_init(&s, 1, false);
    s.rows[0].name = "a";
    s.rows[0].runs = 2;
    suite_begin(&s, 0);
    suite_end(&s, &failed);
    suite_begin(&s, 0);
    suite_end(&s, &passed);
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    suite_print(&s, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "  failed"));
    assert_null(strstr(text, "  pass "));
    free(text);
    suite_fini(&s);
}

// An hour in which nothing was judged has no figures. Zeros would look like good news.
static void an_hour_without_a_verdict_has_no_figures(void **state)
{
    char dir[] = "/tmp/mp-report.XXXXXX", page[10000];
    struct suite_run failed = {.scenario = "a",
        .state = SUITE_FAILED,
        .lost = NAN,
        .duplicated = NAN,
        .p50_ms = NAN,
        .p99_ms = NAN,
        .folder = (char[]){""},
        .why = (char[]){"the server did not start"}};
    struct suite s;
    struct err e;

    assert_non_null(mkdtemp(dir));
    suite_init(&s, 1, false);
    s.rows[0].name = "a";
    s.rows[0].runs = 1;
    s.out = dir;
    s.soak = true;
    suite_begin(&s, 0);
    suite_end(&s, &failed);
    assert_true(summary_write(&s, dir, &e));
    read_text(dir, "summary.md", page, sizeof page);
    assert_non_null(strstr(page, "| 1 | 0 of 1 | – | – | – | a failed |"));
    suite_fini(&s);
    assert_true(workdir_remove_tree(dir));
}

static void write_empty(const char *dir, const char *name)
{
    struct buf none FREED_BY(buf_fini) = BUF_INIT(1);
    struct err e;

    assert_true(folder_write(dir, name, &none, &e));
}

// A run that could not begin leaves no folder, also when its load has recorded arrivals.
static void a_run_that_did_not_begin_leaves_nothing(void **state)
{
    static struct story t;
    char dir[] = "/tmp/mp-report.XXXXXX";
    struct folder folder;
    struct err e = {0};

    assert_non_null(mkdtemp(dir));
    if (!story_read_text(&t, "token 0 at 50\nline at 150: 0\n", "test", &e))
        fail_msg("%s", e.text);
    free(t.scenario.load[0].file);
    t.scenario.load[0].file = memory_copy("arrivals-load.csv");
    if (!folder_make(&folder, &t.scenario, dir, &e))
        fail_msg("%s", e.text);
    // A collector and a queue's own client have made their logs, and logged nothing.
    write_empty(folder.logs, "collector-0.log");
    write_empty(folder.logs, "producer.log");
    folder_fini(&folder);
    assert_int_equal(rmdir(dir), 0);
    story_fini(&t);
}

// In a closed loop an insert has no intended time, and no latency from it. The faults before it was
// sent do not explain it.
static void a_token_of_a_closed_loop_has_no_intended_time(void **state)
{
    static struct story t;
    char dir[] = "/tmp/mp-report.XXXXXX", page[10000];
    struct folder folder = {0};
    struct buf told FREED_BY(buf_fini) = BUF_INIT(1 << 16);
    struct err e = {0};

    assert_non_null(mkdtemp(dir));
    snprintf(folder.path, sizeof folder.path, "%s", dir);
    if (!story_read_text(&t,
            "token 0 due 0 at 3000 commit 3001 ack 3002\nline at 3100: 0\n"
            "fault {do: reset} struck 500\n",
            "test", &e))
        fail_msg("%s", e.text);
    t.scenario.load[0].closed = true;
    struct observed observed = {0};
    struct report report = {.scenario = &t.scenario,
        .ledger = &t.history.ledger,
        .observed = &observed,
        .folder = &folder};
    assert_true(report_write_tokens(&report, &e));
    read_text(dir, "tokens.csv", page, sizeof page);
    assert_non_null(strstr(page, ",0,,3.000000,3.001000,3.002000,committed,"));
    assert_non_null(strstr(page, ",1,3.100000,,0,0,1\n"));
    read_text(dir, "tokens.jsonl", page, sizeof page);
    assert_non_null(strstr(page, "\"intended_s\":null,\"sent_s\":3.0"));
    assert_true(life_html(&t.history.ledger, 0, &told));
    assert_null(strstr(buf_str(&told), "reset"));
    assert_null(strstr(buf_str(&told), "intended"));
    // It is counted in the second in which it was sent.
    buf_clear(&told);
    assert_true(report_intervals_csv(&report, &told, &e));
    assert_non_null(strstr(buf_str(&told), "\n0,0,0,"));
    assert_non_null(strstr(buf_str(&told), "\n3,1,1,1,"));
    story_fini(&t);
    assert_true(workdir_remove_tree(dir));
}

// A handler that was told to fail has got its job in a good line.
static void a_refused_job_came_in_a_good_line(void **state)
{
    static struct story t;
    struct buf told FREED_BY(buf_fini) = BUF_INIT(1 << 16);
    struct err e = {0};

    if (!story_read_text(&t,
            "token 0 at 50\nline at 150: 0 refused transient 160\nline at 300: 0 sent 310\n",
            "test", &e))
        fail_msg("%s", e.text);
    assert_true(life_html(&t.history.ledger, 0, &told));
    assert_non_null(strstr(buf_str(&told), "circle class=\"read\""));
    assert_null(strstr(buf_str(&told), "class=\"torn\""));
    story_fini(&t);
}

// A closed loop has no intended times, so its curve is only that from the commit.
static void percentiles_of_a_closed_loop(void **state)
{
    struct result r = {0};

    histogram_init(&r.from_intended, NS_PER_S);
    histogram_init(&r.from_commit, NS_PER_S);
    for (int64_t i = 1; i <= 100; i++)
        histogram_record(&r.from_commit, i * NS_PER_MS);
    json_t *columns = charts_percentiles(&r);
    const json_t *commit = json_object_get(columns, "from_commit");
    const json_t *intended = json_object_get(columns, "from_intended");
    assert_int_equal(json_array_size(commit), 41); // two nines of twenty steps each, and the value
                                                   // at 0
    assert_true(json_real_value(json_array_get(commit, 20)) > 89);
    assert_int_equal(json_array_size(intended), 41);
    assert_true(json_is_null(json_array_get(intended, 20)));
    json_decref(columns);
    histogram_fini(&r.from_intended);
    histogram_fini(&r.from_commit);
}

static void append_event(const struct ledger *l, int64_t at_ns, const char *what, void *context)
{
    struct buf *told = context;

    if (strstr(what, "fault") || strstr(what, "read from"))
        buf_printf(told, "%.3f %.20s\n", ledger_seconds(l, at_ns), what);
}

static void assert_life(const char *text, const char *want)
{
    static struct story t;
    struct buf told;
    struct err e = {0};

    if (!story_read_text(&t, text, "test", &e))
        fail_msg("%s", e.text);
    buf_init(&told, 10000);
    life_each(&t.history.ledger, 0, append_event, &told);
    assert_string_equal(buf_str(&told), want);
    buf_fini(&told);
    story_fini(&t);
}

// A token that is not delivered is overdue 2 s after its batch timeout, here 100 ms. One of 1.000 s
// is overdue at 3.100 s or, with a fault of 1.5 s, at 4.600 s.
static void a_life_has_the_faults_that_explain_it(void **state)
{
    assert_life("token 0 at 1000\n"
                "fault {do: kill-collector} struck -500 undone -400\n"
                "fault {do: reset} struck 900\n"
                "fault {do: partition} struck 2500 undone 4000\n"
                "fault 0 struck 4500\n"
                "fault 0 struck 5000\n"
                "fault 0 struck 6000\n",
        "0.900 fault reset, until 0\n2.500 fault partition, unt\n"
        "4.500 fault kill-collector\n4.600 2 later faults are n\n");

    // A token that comes twice is explained by the faults between its deliveries, and by no later
    // one.
    assert_life("token 0 at 1000\nline at 1010: 0\nline at 1200: 0\n"
                "fault {do: kill-collector} struck 1020\nfault 0 struck 1300\n",
        "1.010 read from collector \n1.020 fault kill-collector\n"
        "1.200 read from collector \n");
}

// A fault may be left out as late as at its end. It then has times, but did not take effect.
static void a_fault_left_out_did_not_take_effect(void **state)
{
    static struct story t;
    struct result result;
    struct environment environment = {0};
    struct observed observed = {0};
    struct silence silence = {0};
    struct folder folder = {0};
    char *text = NULL;
    size_t len;
    struct err e = {0};

    if (!story_read_text(&t,
            "token 0 at 50\nline at 150: 0\n"
            "fault {do: lock-jobs} struck 100 undone 200\n"
            "fault {do: lock-jobs} struck 300 undone 400 busy\n",
            "test", &e))
        fail_msg("%s", e.text);
    struct check_input input = check_input_of(&t.history);
    check_ledger(&result, &t.history.ledger, &input);
    struct report report = {.scenario = &t.scenario,
        .ledger = &t.history.ledger,
        .result = &result,
        .input = &input,
        .environment = &environment,
        .observed = &observed,
        .silence = &silence,
        .folder = &folder};
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    assert_true(report_print(&report, out, &e));
    fclose(out);
    assert_non_null(strstr(text, "  1 of 1 took effect (1 left out"));
    free(text);
    result_fini(&result);
    story_fini(&t);
}

// A collector that is killed for good is excused to the end of the run, which is no bound of 0 ms.
static void what_is_excused_to_the_end_has_no_bound(void **state)
{
    static struct story t;
    struct result result;
    struct buf text;
    struct err e = {0};

    if (!story_read_text(&t,
            "token 0 at 50\nline at 150: 0\nfault {do: kill-collector, for: rest} struck 500 "
            "undone 501\n",
            "test", &e))
        fail_msg("%s", e.text);
    struct check_input input = check_input_of(&t.history);
    check_ledger(&result, &t.history.ledger, &input);
    struct report report = {
        .scenario = &t.scenario, .ledger = &t.history.ledger, .result = &result, .input = &input};
    buf_init(&text, 10000);
    excused_lines(&report, 1, &text);
    assert_non_null(
        strstr(buf_str(&text), "kill-collector (1): all time until the run's end is excused\n"));
    buf_fini(&text);
    result_fini(&result);
    story_fini(&t);
}

// The run of a subject that could not be kept running is violated, even if it breaks no invariant.
static void a_case_fails_when_the_subject_was_given_up(void **state)
{
    static struct story t;
    struct result result;
    struct environment environment = {0};
    struct observed observed = {0};
    struct folder folder = {0};
    struct buf suite;
    struct err e = {0};

    if (!story_read_text(&t,
            "run until 5000 gave-up \"three exits\"\ntoken 0 at 50\nline at 150: 0\n", "test", &e))
        fail_msg("%s", e.text);
    struct check_input input = check_input_of(&t.history);
    check_ledger(&result, &t.history.ledger, &input);
    assert_int_equal(result.verdict, VERDICT_VIOLATED);
    struct report report = {.scenario = &t.scenario,
        .ledger = &t.history.ledger,
        .result = &result,
        .input = &input,
        .environment = &environment,
        .observed = &observed,
        .folder = &folder};
    buf_init(&suite, 10000);
    assert_true(report_junit_suite(&report, &suite, &e));
    assert_non_null(strstr(buf_str(&suite), " failures=\"1\" errors=\"0\""));
    assert_non_null(strstr(buf_str(&suite), "<failure message=\"three exits\">"));
    // The verdict stands although something could not be judged.
    snprintf(result.reasons[result.reason_count++], sizeof *result.reasons, "no session opened");
    buf_clear(&suite);
    assert_true(report_junit_suite(&report, &suite, &e));
    assert_non_null(strstr(buf_str(&suite), " failures=\"1\" errors=\"0\""));
    assert_non_null(strstr(buf_str(&suite), "<failure message=\"three exits\">"));
    buf_fini(&suite);
    result_fini(&result);
    story_fini(&t);
}

// Returns what a row of intervals.csv has in server_commits.
static double commits_in_row(const char *csv, int row)
{
    const int column = 10;

    for (int i = 0; i <= row; i++)
        csv = strchr(csv, '\n') + 1;
    for (int i = 0; i < column; i++)
        csv = strchr(csv, ',') + 1;
    return *csv == ',' ? NAN : strtod(csv, NULL);
}

// Two samples lie in one second, and none in the second before. No growth is lost or counted twice.
static void each_second_has_the_growth_since_the_second_before(void **state)
{
    static struct story t;
    struct buf csv;
    struct err e = {0};

    if (!story_read_text(&t, "run until 5000\ntoken 0 at 50\nline at 150: 0\n", "test", &e))
        fail_msg("%s", e.text);
    int64_t start_ns = t.history.ledger.start_ns;
    struct sample samples[] = {{.at_ns = start_ns - 900 * NS_PER_MS, .up = true, .commits = 1},
        {.at_ns = start_ns - 100 * NS_PER_MS, .up = true, .commits = 10},
        {.at_ns = start_ns + 900 * NS_PER_MS, .up = true, .commits = 30},
        {.at_ns = start_ns + 2100 * NS_PER_MS, .up = true, .commits = 70},
        {.at_ns = start_ns + 2900 * NS_PER_MS, .up = true, .commits = 150},
        {.at_ns = start_ns + 3500 * NS_PER_MS, .up = true, .commits = 310}};
    struct observed observed = {.samples = samples, .count = sizeof samples / sizeof *samples};
    struct report report = {.ledger = &t.history.ledger, .observed = &observed};
    buf_init(&csv, 10000);
    assert_true(report_intervals_csv(&report, &csv, &e));
    assert_true(commits_in_row(buf_str(&csv), 0) == 20);
    assert_true(isnan(commits_in_row(buf_str(&csv), 1)));
    assert_true(commits_in_row(buf_str(&csv), 2) == 120);
    assert_true(commits_in_row(buf_str(&csv), 3) == 160);
    buf_fini(&csv);
    story_fini(&t);
}

static void assert_groups(const char *text, enum metric_id id, const char *want)
{
    static struct story t;
    struct result result;
    struct buf told;
    struct err e = {0};

    if (!story_read_text(&t, text, "test", &e))
        fail_msg("%s", e.text);
    struct check_input input = check_input_of(&t.history);
    check_ledger(&result, &t.history.ledger, &input);
    struct report report = {.ledger = &t.history.ledger, .result = &result};
    buf_init(&told, 10000);
    glance_groups(&report, id, &told);
    assert_string_equal(buf_str(&told), want);
    buf_fini(&told);
    result_fini(&result);
    story_fini(&t);
}

// A fault is named only where it lies at the end of each group, or ahead of it. Tokens that break
// an invariant all the time are told by their times, however many faults there were meanwhile.
static void groups_name_the_fault_that_explains_them(void **state)
{
    assert_groups("token 0 at 1000\ntoken 1 at 1050\ntoken 2 at 4000\n"
                  "line at 1100: 0 1\nline at 1110: 0 1\nline at 4100: 2\nline at 4110: 2\n"
                  "fault {do: reset} struck 1090\nfault 0 struck 4090\n",
        METRIC_DUPLICATED,
        "3 duplicated in 2 groups from 1.001 to 4.001 s, each within 89 ms before a reset");
    assert_groups("token 0 at 1000\nline at 1100: 0\nline at 1110: 0\n"
                  "token 1 at 1200\nline at 1300: 1\nline at 1310: 1\n"
                  "token 2 at 1400\nline at 1500: 2\nline at 1510: 2\n"
                  "fault {do: reset} struck 1010\n",
        METRIC_DUPLICATED, "3 duplicated from 1.001 to 1.401 s");
    assert_groups("token 0 at 1000\nline at 1100: 0\nline at 1110: 0\n", METRIC_DUPLICATED,
        "1 duplicated at 1.001 s");
}

static void write_result_of(
    const char *folder, const char *scenario, const char *verdict, const char *more)
{
    char path[PATH_MAX];
    struct err e;

    assert_true(path_make(folder, &e) && path_join(path, folder, "result.json", &e));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"scenario\": \"%s\", \"verdict\": \"%s\", \"metrics\": {}%s}", scenario,
        verdict, more);
    fclose(file);
}

static void write_result(const char *folder)
{
    write_result_of(folder, "steady", "pass", "");
}

static void read_page(const char *dir, char *page, size_t size)
{
    struct err e;

    assert_true(index_write(dir, &e));
    read_text(dir, "index.html", page, size);
}

// The newest run of each scenario stands first, the worst verdict on top.
static void an_index_begins_with_the_failures_that_stand(void **state)
{
    static const char *const runs[][3] = {{"a/1", "a", "violated"}, {"b/2", "b", "missed"},
        {"c/3", "c", "violated"}, {"b/4", "b", "inconclusive"}, {"a/5", "a", "pass"},
        {"d/6", "d", "missed"}};
    static const char *const order[] = {"c/3", "b/4", "d/6", "a/5", "b/2", "a/1"};
    char dir[] = "/tmp/mp-report.XXXXXX", path[PATH_MAX], page[100000];

    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, runs[i][0]);
        write_result_of(path, runs[i][1], runs[i][2], "");
    }
    read_page(dir, page, sizeof page);
    const char *at = page;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        snprintf(path, sizeof path, "<a href=\"%s/", order[i]);
        at = strstr(at, path);
        assert_non_null(at);
    }
    assert_non_null(strstr(page, "<tr class=\"older\"><td><a href=\"b/2"));
    assert_true(workdir_remove_tree(dir));
}

// A row says why a run is inconclusive or was ended early, and shows the value of --promises only
// as a tooltip.
static void an_index_says_why_in_the_row(void **state)
{
    char dir[] = "/tmp/mp-report.XXXXXX", path[PATH_MAX], page[100000];

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a/1", dir);
    write_result_of(path, "a", "inconclusive",
        ", \"reasons\": [\"the load fell behind (others 90%)\", \"more\"], \"program\": \"mine\", "
        "\"changed\": "
        "\"--promises no_loss,once --collector ./mine\"");
    snprintf(path, sizeof path, "%s/b/1", dir);
    write_result_of(path, "b", "violated", ", \"reasons\": [\"it exited three times\"]");
    read_page(dir, page, sizeof page);
    assert_non_null(strstr(page, ">it exited three times</td>"));
    assert_non_null(strstr(page, "fell behind (others 90%)\">the load fell behind</td>"));
    assert_non_null(strstr(page, "title=\"--promises no_loss,once --collector ./mine\">mine; "
                                 "--collector ./mine</td>"));
    assert_true(workdir_remove_tree(dir));
}

// The links are the same when the folder's name ends with slashes.
static void an_index_links_the_runs_below_it(void **state)
{
    static const char *const endings[] = {"", "/", "////////////////////////"};
    char dir[] = "/tmp/mp-report.XXXXXX", path[PATH_MAX], page[100000];

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/steady/1", dir);
    write_result(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, sizeof path, "%s%s", dir, endings[i]);
        read_page(path, page, sizeof page);
        assert_non_null(strstr(page, "<a href=\"steady/1/result.json\">"));
    }
    assert_true(workdir_remove_tree(dir));
}

// The search reaches the deepest folder that a command makes, and does not follow a link.
static void results_are_found_five_levels_down(void **state)
{
    char dir[] = "/tmp/mp-report.XXXXXX", path[PATH_MAX], latest[PATH_MAX];
    struct gathered g;
    struct err e;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a/b/c/d/e/6", dir);
    write_result(path);
    assert_true(gather_results(&g, dir, &e));
    assert_int_equal(g.count, 0);
    gather_fini(&g);
    snprintf(path, sizeof path, "%s/a/b/c/d/5", dir);
    snprintf(latest, sizeof latest, "%s/a/b/c/d/latest", dir);
    write_result(path);
    assert_int_equal(symlink("5", latest), 0);
    assert_true(gather_results(&g, dir, &e));
    assert_int_equal(g.count, 1);
    assert_string_equal(g.folders[0], path);
    gather_fini(&g);
    assert_true(workdir_remove_tree(dir));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_that_repeats_it),
        cmocka_unit_test(markdown_shows_the_text_unchanged),
        cmocka_unit_test(the_log_tells_why_nothing_came),
        cmocka_unit_test(the_exits_tell_why_nothing_came),
        cmocka_unit_test(a_run_without_a_verdict_is_told),
        cmocka_unit_test(a_row_keeps_a_failed_run),
        cmocka_unit_test(an_hour_without_a_verdict_has_no_figures),
        cmocka_unit_test(a_run_that_did_not_begin_leaves_nothing),
        cmocka_unit_test(a_token_of_a_closed_loop_has_no_intended_time),
        cmocka_unit_test(a_refused_job_came_in_a_good_line),
        cmocka_unit_test(percentiles_of_a_closed_loop),
        cmocka_unit_test(a_fault_left_out_did_not_take_effect),
        cmocka_unit_test(what_is_excused_to_the_end_has_no_bound),
        cmocka_unit_test(a_case_fails_when_the_subject_was_given_up),
        cmocka_unit_test(each_second_has_the_growth_since_the_second_before),
        cmocka_unit_test(a_life_has_the_faults_that_explain_it),
        cmocka_unit_test(groups_name_the_fault_that_explains_them),
        cmocka_unit_test(an_index_links_the_runs_below_it),
        cmocka_unit_test(an_index_begins_with_the_failures_that_stand),
        cmocka_unit_test(an_index_says_why_in_the_row),
        cmocka_unit_test(results_are_found_five_levels_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
