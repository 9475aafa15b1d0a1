// Judges each story of check/stories: all that it claims comes out, and nothing else. Each
// invariant is broken alone by one story at least. Stories in a folder `wrong` are known to come
// out wrong; the test says when one of them begins to come out right.
//
#include <dirent.h>
#include <sys/stat.h>

#include "base/unit.h"
#include "check/check.h"
#include "story/story.h"

struct tally {
    size_t stories, differ;
    bool alone[METRIC_COUNT]; // a story breaks this invariant, and no other
    size_t doubted;
};

static void note(struct tally *to, const struct result *r)
{
    size_t broken = 0, last = 0;

    // A run in which an invariant is in doubt may not pass.
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        broken += r->broken[id];
        last = r->broken[id] ? id : last;
        to->doubted += r->doubted[id];
        if (r->doubted[id])
            assert_int_not_equal(r->verdict, VERDICT_PASS);
    }
    if (broken == 1)
        to->alone[last] = true;
}

static bool comes_out(const struct story *t, const struct result *r, const char *path, bool wrong)
{
    struct buf differs;

    buf_init(&differs, 1u << 16);
    bool holds = story_holds(t, r, &differs);
    if (!wrong && !holds)
        print_error("%s", buf_str(&differs));
    if (wrong && holds)
        print_error("%s: comes out right now; move it out of its folder `wrong`\n", path);
    buf_fini(&differs);
    return holds != wrong;
}

// True when a story uses a metric or a setting that does not exist yet.
static bool is_of_the_future(const struct err *e)
{
    return strstr(e->text, "is not a metric") || strstr(e->text, "is not a key that is known here");
}

static void judge(const char *path, struct tally *to)
{
    bool wrong = strstr(path, "/wrong/") != NULL;
    static struct story t;
    struct result r;
    struct err e = {0};

    to->stories++;
    if (!story_read(&t, path, &e) && wrong && is_of_the_future(&e))
        return;
    if (e.kind != ERR_NONE) {
        print_error("%s\n", e.text);
        to->differ++;
        return;
    }
    if (t.claim_count == 0) {
        print_error("%s: claims nothing; write what must come out behind =>\n", path);
        to->differ++;
    }
    struct check_input in = check_input_of(&t.history);
    check_ledger(&r, &t.history.ledger, &in);
    to->differ += !comes_out(&t, &r, path, wrong);
    if (!wrong)
        note(to, &r);
    result_fini(&r);
    story_fini(&t);
}

static void judge_folder(const char *folder, struct tally *to)
{
    struct dirent **found;
    int count = scandir(folder, &found, NULL, alphasort);

    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, found[i]->d_name);
        if (found[i]->d_name[0] != '.' && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            judge_folder(path, to);
        else if (story_is_path(path))
            judge(path, to);
        free(found[i]);
    }
    free(found);
}

static void each_story_comes_out(void **state)
{
    struct tally tally = {0};

    judge_folder(STORIES_DIR, &tally);
    assert_int_not_equal(tally.stories, 0);
    assert_int_equal(tally.differ, 0);
    assert_int_not_equal(tally.doubted, 0);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        if (metrics[id].invariant && !tally.alone[id])
            fail_msg("no story breaks %s alone", metrics[id].name);
}

// --- what the reader refuses --------------------------------------------------------

static void assert_refused(const char *text, const char *why)
{
    static struct story t;
    struct err e = {0};

    assert_false(story_read_text(&t, text, "x.story", &e));
    assert_string_equal(e.text, why);
    assert_int_equal(e.kind, ERR_USAGE);
}

static void a_refusal_says_where_and_what(void **state)
{
    static const char *const refused[][2] = {
        {"token 0 at 50\nlin at 150: 0\n",
            "x.story:2:1: 'lin' is not a word that is known here; did you mean 'line'?"},
        {"token 0 at 50\n  line at 150 tron: 0\n",
            "x.story:2:15: 'tron' is not a word that is known here; did you mean 'torn'?"},
        {"story\n",
            "x.story:1:1: 'story' is not a word that is known here; write set, like, repeat, "
            "load, token, run, process, change, fault, session, line, sample, look, probe, "
            "flush, stall, presence, hold, row or attempt"},
        {"token 0 at 5o\n", "x.story:1:12: '5o' should be a number of ms, such as 150 or 2.25"},
        {"token 0 at \f50\n", "x.story:1:12: '?50' should be a number of ms, such as 150 or 2.25"},
        {"run others %\n", "x.story:1:12: '' should be a number of ms, such as 150 or 2.25"},
        {"token 0 at\n", "x.story:1:11: 'at' needs a value behind it"},
        {"token 0 at 50 at 60\n", "x.story:1:15: 'at' is said twice, or against another word"},
        {"token 0 at 50 expired recovery\n",
            "x.story:1:23: 'recovery' is said twice, or against another word"},
        {"token 1 at 50\n", "x.story:1:1: token 0 is missing, or told twice"},
        {"token 0 at 50\nline at 150: 0-1\n", "x.story:2:14: there is no token 1; the story has 1"},
        {"line at 150: 0: 1\n", "x.story:1:15: there is one ':' too many"},
        {"set collector.batch_limt=3\n",
            "x.story:1:5: collector: 'batch_limt' is not a key that is known here; did you mean "
            "'batch_limit'?"},
        {"  set collector.batch_limt=3\n",
            "x.story:1:7: collector: 'batch_limt' is not a key that is known here; did you mean "
            "'batch_limit'?"},
        {"fault {do: rest} struck 4\n",
            "x.story:1:12: faults.0.do: 'rest' is not a fault verb; did you mean 'reset'?"},
        {"fault 0 struck 4\n", "x.story:1:1: there is no fault 0 with a map"},
        {"set collector.instances=2\ntoken 0 at 50\nline at 150: 0\n",
            "x.story:3:1: say which process wrote it: 'line by 0 at 150: 0'"},
        {"process 0 until 700\n", "x.story:1:1: say how it ended: killed, 'signal N' or 'exit N'"},
        {"repeat 3 evry 100: token 0 at 50\n",
            "x.story:1:10: 'evry' is not a word that is known here; did you mean 'every'?"},
        {"flush took 150\n", "x.story:1:1: say when it was due: 'flush at 200 took 1'"},
        {"=> latee 1\n", "x.story:1:4: 'latee' is not a metric; did you mean 'late'?"},
        {"=> judged late 3 of 5 (falt 2)\n",
            "x.story:1:24: 'falt' is not a word that is known here; did you mean 'fault'?"},
        {"=> verdict good\n",
            "x.story:1:12: 'good' is not a word that is known here; write pass, violated, "
            "inconclusive or missed"},
        {"repeat 2: repeat 3: token 0 at 50\n",
            "x.story:1:11: 'repeat' cannot be repeated, only an event"},
        {"token 0\nprobe at 50 stalled never\n", "x.story:2:21: 'stalled' cannot be never"},
        {"token 0-70000 at 50\n",
            "x.story:1:1: a story has at most 100000 tokens, a transaction 65535"},
        {"attempt 0\n", "x.story:1:1: say how it ended: sent, transient, dead, …"},
        {"token 0 at 50\n=> judged lost 1 of 1 late 2\n",
            "x.story:2:23: 'late' should be a comma, or nothing"},
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_refused(refused[i][0], refused[i][1]);
}

static void assert_late(const char *text, double late, const char *differs)
{
    static struct story t;
    struct result r;
    struct buf out;
    struct err e;

    if (!story_read_text(&t, text, "x.story", &e))
        fail_msg("%s", e.text);
    struct check_input in = check_input_of(&t.history);
    check_ledger(&r, &t.history.ledger, &in);
    assert_int_equal(r.values[METRIC_LATE], late);
    buf_init(&out, 4096);
    assert_int_equal(story_holds(&t, &r, &out), !*differs);
    assert_string_equal(buf_str(&out), differs);
    buf_fini(&out);
    result_fini(&r);
    story_fini(&t);
}

static void a_claim_that_does_not_hold_says_what_came_out(void **state)
{
    static const char late[] = "token 0-1 at 50\nline at 150: 0\nline at 360: 1\n";
    static const char *const claims[][2] = {
        {"=> late 1, judged late 2 of 2, says \"9 ms\"", ""},
        {"=> late 2", "x.story:4:4: late is 1 and not 2\n"},
        {"=> late 1, verdict pass", "x.story:4:12: the verdict is violated and not pass\n"},
        {"=> late 1, says \"soon\"", "x.story:4:12: nothing says \"soon\"\n"},
        {"=> late 1, judged late 1 of 2 (fault 1)",
            "x.story:4:12: 2 of 2 were judged: 2 of 2 tokens judged\n"},
    };

    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s%s", late, claims[i][0]);
        assert_late(text, 1, claims[i][1]);
    }
}

// Only the claims of the other story are left out.
static void a_claim_before_like_stays(void **state)
{
    static struct story t;
    struct err e;

    if (!story_read_text(&t, "=> late 0\nlike " STORIES_DIR "/vitals/idle.story\n", "x.story", &e))
        fail_msg("%s", e.text);
    assert_int_equal(t.claim_count, 1);
    assert_int_equal(t.claims[0].metric, METRIC_LATE);
    story_fini(&t);
}

// The text with all defaults gives what the story gives.
static void assert_same_when_explained(const char *path)
{
    static struct story t, again;
    struct buf first, second;
    struct err e;

    buf_init(&first, 1u << 22);
    buf_init(&second, 1u << 22);
    if (!story_read(&t, path, &e))
        fail_msg("%s", e.text);
    assert_true(story_write(&t.scenario, &t.history, NULL, true, &first));
    if (!story_read_text(&again, buf_str(&first), "again", &e))
        fail_msg("%s: %s", path, e.text);
    assert_true(story_write(&again.scenario, &again.history, NULL, true, &second));
    assert_string_equal(buf_str(&first), buf_str(&second));
    story_fini(&t);
    story_fini(&again);
    buf_fini(&first);
    buf_fini(&second);
}

static void what_is_written_is_what_was_read(void **state)
{
    static const char *const paths[] = {"outcome/tried-once-more-than-errors-were-answered",
        "lines/torn-by-a-bad-name", "several/takes-over-from-the-dead", "vitals/idle",
        "machine/late-in-a-crowd-of-its-own", "tokens/active-again-before-it-was-read",
        "repeats/left-on-the-old-timeline", "verdicts/a-fault-that-found-nobody-once",
        "verdicts/the-plan-ended-the-last-one"};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s.story", STORIES_DIR, paths[i]);
        assert_same_when_explained(path);
    }
}

// A setting with a free name is read without quotes, so a '#' in it would begin a comment, and
// blanks at its end would be cut off.
static void a_free_value_is_read_back(void **state)
{
    static const char *const values[] = {
        "a # b", "\"x\" # \\y", "#", "blank ", "\xc3\xa9\t", "two\nlines", "", "plain: [x"};
    static struct story t, again;
    struct buf text;
    struct err e;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (!story_read_text(&t, "token 0 at 50\nset collector.env.Z=z\n", "x.story", &e))
            fail_msg("%s", e.text);
        struct settings *env = &t.scenario.collector.env;
        scenario_replace(&env->items[0].value, values[i]);
        buf_init(&text, 4096);
        assert_true(story_write(&t.scenario, &t.history, NULL, false, &text));
        if (!story_read_text(&again, buf_str(&text), "again", &e))
            fail_msg("%s: %s", buf_str(&text), e.text);
        assert_int_equal(again.scenario.collector.env.count, 1);
        assert_string_equal(again.scenario.collector.env.items[0].value, values[i]);
        buf_fini(&text);
        story_fini(&t);
        story_fini(&again);
    }
}

// A whole run is judged by these counts, too. Its only line has no tokens.
static void a_whole_run_keeps_its_counts(void **state)
{
    static const char told[] = "run until 9000 reconnects 3\nline at 150 torn\n";
    static struct story t;
    struct buf text;
    struct err e;

    if (!story_read_text(&t, told, "x.story", &e))
        fail_msg("%s", e.text);
    buf_init(&text, 4096);
    assert_true(story_write(&t.scenario, &t.history, NULL, false, &text));
    assert_string_equal(buf_str(&text), told);
    buf_fini(&text);
    story_fini(&t);
}

// The file of its times stays where the run was made.
static void a_trace_is_told_without_its_file(void **state)
{
    static struct story t, again;
    struct buf text;
    struct err e;

    if (!story_read_text(&t, "token 0 at 50\nline at 150: 0\n", "x.story", &e))
        fail_msg("%s", e.text);
    t.scenario.load[0].arrivals = ARRIVALS_TRACE;
    scenario_replace(&t.scenario.load[0].file, "arrivals-load.csv");
    buf_init(&text, 4096);
    assert_true(story_write(&t.scenario, &t.history, NULL, false, &text));
    if (!story_read_text(&again, buf_str(&text), "again", &e))
        fail_msg("%s: %s", buf_str(&text), e.text);
    assert_true(again.scenario.load[0].closed);
    buf_fini(&text);
    story_fini(&t);
    story_fini(&again);
}

// Nothing judges a story by them, and they name programs of the machine on which the run was made.
static void counterparts_are_left_out(void **state)
{
    static const char told[] = "set counterparts.0.collector=\"collector --slow\"\n"
                               "set counterparts.0.breaks=[late]\n"
                               "token 0 at 50\nline at 150: 0\n";
    static struct story t;
    struct buf text;
    struct err e;

    if (!story_read_text(&t, told, "x.story", &e))
        fail_msg("%s", e.text);
    assert_int_equal(t.scenario.counterpart_count, 1);
    buf_init(&text, 4096);
    assert_true(story_write(&t.scenario, &t.history, NULL, false, &text));
    assert_string_equal(buf_str(&text), "token 0 at 50\nline at 150: 0\n");
    buf_fini(&text);
    story_fini(&t);
}

// The line belongs to the part, because its token does. The fault that kept the line unread does
// not, so the reader of the part cannot guess when the line was written.
static void a_part_tells_what_a_fault_outside_it_did(void **state)
{
    static const char told[] = "token 0 at 50\n"
                               "fault {do: pause-reader, for: 1s} struck 3000 undone 4000\n"
                               "line at 4050: 0\n";
    static struct story t, again;
    struct buf text;
    struct err e;

    if (!story_read_text(&t, told, "x.story", &e))
        fail_msg("%s", e.text);
    int64_t start_ns = t.history.ledger.start_ns;
    assert_int_equal(t.history.log.lines[0].empty_ns - start_ns, 3 * NS_PER_S);
    struct part part = {.from_ns = start_ns, .until_ns = start_ns + NS_PER_S};
    buf_init(&text, 4096);
    assert_true(story_write(&t.scenario, &t.history, &part, false, &text));
    assert_null(strstr(buf_str(&text), "fault"));
    if (!story_read_text(&again, buf_str(&text), "x.story", &e))
        fail_msg("%s", e.text);
    assert_int_equal(
        again.history.log.lines[0].empty_ns - again.history.ledger.start_ns, 3 * NS_PER_S);
    buf_fini(&text);
    story_fini(&t);
    story_fini(&again);
}

// Token 2 belongs to the part only because its line does; its transaction and the other two tokens
// of that lie before.
static void a_part_keeps_the_last_token_of_a_transaction(void **state)
{
    static const char told[] = "token 0-2 at 50\n"
                               "line at 150: 0-1\n"
                               "token 3 at 4900\n"
                               "line at 5000: 2-3\n";
    static struct story t, again;
    struct buf text;
    struct err e;

    if (!story_read_text(&t, told, "x.story", &e))
        fail_msg("%s", e.text);
    int64_t start_ns = t.history.ledger.start_ns;
    struct part part = {
        .from_ns = start_ns + 4 * NS_PER_S, .until_ns = start_ns + 6 * NS_PER_S, .token = 3};
    buf_init(&text, 4096);
    assert_true(story_write(&t.scenario, &t.history, &part, false, &text));
    if (!story_read_text(&again, buf_str(&text), "part", &e))
        fail_msg("%s", e.text);
    assert_int_equal(ledger_txn(&again.history.ledger, 2)->outcome, TXN_COMMITTED);
    buf_fini(&text);
    story_fini(&t);
    story_fini(&again);
}

// Token 0 is late, and no finding names token 1, not even in the whole run. The backlog was sent
// long before the load, and the last line was read long after the drain.
static void only_a_token_of_a_finding_has_a_neighbourhood(void **state)
{
    static const char told[] = "token 0 at 50\nline at 600: 0\n"
                               "token 1 at 700\nline at 800: 1\n"
                               "token 2 at -20000 backlog\n"
                               "line at 30000 torn\n";
    static struct story t;
    struct result r;
    struct buf text;
    struct err e;

    if (!story_read_text(&t, told, "x.story", &e))
        fail_msg("%s", e.text);
    struct check_input in = check_input_of(&t.history);
    check_ledger(&r, &t.history.ledger, &in);
    buf_init(&text, 1u << 16);
    if (!story_of_token(&t.scenario, &t.history, &r, 0, &text, &e))
        fail_msg("%s", e.text);
    assert_non_null(strstr(buf_str(&text), "token 0 at 50\n"));
    assert_non_null(strstr(buf_str(&text), "=> late 1"));
    assert_null(strstr(buf_str(&text), "backlog"));
    assert_false(story_of_token(&t.scenario, &t.history, &r, 1, &text, &e));
    assert_non_null(strstr(e.text, "no finding names this token"));
    assert_non_null(strstr(buf_str(&text), "token 2 at -20000 backlog"));
    assert_non_null(strstr(buf_str(&text), "line at 30000 torn"));
    buf_fini(&text);
    result_fini(&r);
    story_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_story_comes_out),
        cmocka_unit_test(a_refusal_says_where_and_what),
        cmocka_unit_test(a_claim_that_does_not_hold_says_what_came_out),
        cmocka_unit_test(a_claim_before_like_stays),
        cmocka_unit_test(what_is_written_is_what_was_read),
        cmocka_unit_test(a_free_value_is_read_back),
        cmocka_unit_test(a_whole_run_keeps_its_counts),
        cmocka_unit_test(a_trace_is_told_without_its_file),
        cmocka_unit_test(counterparts_are_left_out),
        cmocka_unit_test(a_part_tells_what_a_fault_outside_it_did),
        cmocka_unit_test(a_part_keeps_the_last_token_of_a_transaction),
        cmocka_unit_test(only_a_token_of_a_finding_has_a_neighbourhood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
