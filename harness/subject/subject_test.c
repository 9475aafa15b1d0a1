// Tests the decoder with lines whose signatures were computed elsewhere (openssl dgst -mac HMAC),
// and the reader with whole, torn and cut lines.
#include <signal.h>

#include "base/unit.h"
#include "subject/command.h"
#include "subject/decoder.h"
#include "subject/reader.h"

// Key 00 01 … 1f; secrets of 32 bytes 'A' and 'B'.
static const unsigned char key[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

#define EMAIL_1 "t0000001@mailproof.invalid"
#define EMAIL_2 "t0000002@mailproof.invalid"
#define SIGNED_A                                                                                   \
    "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE-GduzUG2cH1ePMkQCZgK2pi__3ulfZbkeJQ7BsJ-iYA"
#define SIGNED_B                                                                                   \
    "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkKpg62VmCEm_7EwBkxTqPAn5x7ESPzNhG2uRaNmawZZZw"
#define ACTIVATION "1," EMAIL_1 ",t0000001," SIGNED_A ","
#define RECOVERY "2," EMAIL_2 ",t0000002," SIGNED_B ",01234"

// The kernel lets /proc/self/mem be opened, but nothing be read at its beginning.
static void a_program_is_named_without_what_cannot_be_read(void **state)
{
    char *const plain[] = {"/bin/sh", NULL}, *const secret[] = {"/bin/sh", "/proc/self/mem", NULL};
    char *first = identity_of(plain, NULL, "1.0"), *second = identity_of(secret, NULL, "1.0");

    assert_string_equal(first, second);
    assert_non_null(strstr(first, "1.0, sh sha256:"));
    free(first);
    free(second);
}

static void good_tokens_decode(void **state)
{
    const char line[] = ACTIVATION "," RECOVERY;
    struct decoder *d = decoder_new(key);
    struct decoded t;
    size_t tokens, pos = 0;

    assert_true(decode_shape(line, strlen(line), &tokens));
    assert_int_equal(tokens, 2);
    assert_true(decode_subject_token(d, line, strlen(line), &pos, &t));
    assert_int_equal(t.action, 1);
    assert_int_equal(t.code_len, 0);
    assert_true(t.signature_ok);
    assert_memory_equal(t.secret, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 32);
    assert_true(decode_subject_token(d, line, strlen(line), &pos, &t));
    assert_int_equal(t.action, 2);
    assert_memory_equal(t.code, "01234", 5);
    assert_true(t.signature_ok);
    assert_int_equal(pos, strlen(line));
    decoder_free(d);
}

static void wrong_signatures_are_seen(void **state)
{
    // Lines with another code, action or key. Each of these makes the signature wrong.
    static const char *const lines[] = {
        "2," EMAIL_2 ",t0000002," SIGNED_B ",01235",
        "2," EMAIL_1 ",t0000001," SIGNED_A ",01234",
        "1," EMAIL_2 ",t0000002," SIGNED_B ",01234",
    };
    struct decoder *d = decoder_new(key);
    struct decoded t;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t pos = 0;
        assert_true(decode_subject_token(d, lines[i], strlen(lines[i]), &pos, &t));
        assert_false(t.signature_ok);
    }
    decoder_free(d);
}

static void malformed_tokens_are_refused(void **state)
{
    static const char *const lines[] = {
        "3," EMAIL_1 ",t0000001," SIGNED_A ",",      // no such action
        "11," EMAIL_1 ",t0000001," SIGNED_A ",",     // no such action
        "1," EMAIL_1 ",t0000001,AAAA,",              // secret too short
        "1," EMAIL_1 ",t0000001,+" SIGNED_A ",",     // not in the url alphabet, and too long
        "2," EMAIL_1 ",t0000001," SIGNED_A ",",      // recovery without a code
        "2," EMAIL_1 ",t0000001," SIGNED_A ",1234",  // four digits
        "1," EMAIL_1 ",t0000001," SIGNED_A ",12a45", // not digits
    };
    struct decoder *d = decoder_new(key);
    struct decoded t;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t pos = 0;
        assert_false(decode_subject_token(d, lines[i], strlen(lines[i]), &pos, &t));
    }
    decoder_free(d);
}

static void lines_have_five_fields_a_token(void **state)
{
    const struct {
        const char *line;
        bool good;
    } cases[] = {{"", false}, {"a", false}, {"a,b,c,d", false}, {"a,b,c,d,e", true},
        {"a,b,c,d,e,", false}, {"a,b,c,d,e,f,g,h,i,j", true}, {",,,,", true}};
    size_t tokens;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            decode_shape(cases[i].line, strlen(cases[i].line), &tokens), cases[i].good);
}

static uint64_t fingerprint(int action, const char *email, const char *login, const char *secret)
{
    return decode_fingerprint(&(struct contents){.action = action,
        .fields = {{email, strlen(email)}, {login, strlen(login)}, {secret, strlen(secret)}}});
}

static void fingerprints_keep_fields_apart(void **state)
{
    uint64_t one = fingerprint(1, "ab", "c", "secret");

    assert_true(one == fingerprint(1, "ab", "c", "secret"));
    assert_true(one != fingerprint(1, "a", "bc", "secret"));
    assert_true(one != fingerprint(2, "ab", "c", "secret"));
    assert_true(one != fingerprint(1, "c", "ab", "secret"));
    assert_true(one != fingerprint(1, "ab", "c", "secre"));
}

// --- the reader ----------------------------------------------------------------

struct fixture {
    struct reader reader;
    struct buf pending;
};

static int setup(void **state)
{
    static struct fixture f;
    struct process_record process = {.pid = 1};
    struct err e;

    buf_init(&f.pending, READER_LINE_MAX);
    if (!reader_init(&f.reader, key, 10, &e))
        return -1;
    reader_add_process(&f.reader, &process);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    reader_fini(&f->reader);
    buf_fini(&f->pending);
    return 0;
}

static void feed(struct fixture *f, const char *text, int64_t now_ns)
{
    assert_true(buf_append_str(&f->pending, text));
    reader_lines(&f->reader, &f->pending, 0, &(struct reading){.read_ns = now_ns});
}

static void lines_come_in_pieces(void **state)
{
    struct fixture *f = *state;
    const struct subject_log *log = &f->reader.log;

    feed(f, "1," EMAIL_1 ",t000", 100);
    assert_int_equal(log->line_count, 0);
    feed(f, "0001," SIGNED_A ",\n" ACTIVATION "," RECOVERY "\n2,", 200);
    assert_int_equal(log->line_count, 2);
    assert_int_equal(log->lines[0].tokens, 1);
    assert_int_equal(log->lines[0].read_ns, 200);
    assert_int_equal(log->lines[1].tokens, 2);
    assert_int_equal(log->delivery_count, 3);
    assert_int_equal(log->deliveries[2].token, 2);
    assert_int_equal(log->deliveries[2].flags, 0);
    assert_int_equal(f->pending.len, 2);
    assert_int_equal(f->reader.seen_ns[1], 200);
    assert_int_equal(f->reader.seen_ns[3], 0);
}

// A signal came at 150, when the pipe held the first line and a part of the second.
static void a_line_was_written_before_it_was_seen(void **state)
{
    struct fixture *f = *state;
    const struct line_record *lines;
    struct reading reading = {
        .read_ns = 200, .empty_ns = 100, .seen_bytes = strlen(ACTIVATION "\n") + 7, .seen_ns = 150};

    assert_true(buf_append_str(&f->pending, ACTIVATION "\n" RECOVERY "\n"));
    reader_lines(&f->reader, &f->pending, 0, &reading);
    lines = f->reader.log.lines;
    assert_int_equal(lines[0].empty_ns, 100);
    assert_int_equal(lines[0].seen_ns, 150);
    assert_int_equal(lines[1].empty_ns, 100);
    assert_int_equal(lines[1].seen_ns, 200);
}

static void a_torn_line_delivers_nothing_but_names(void **state)
{
    struct fixture *f = *state;
    const struct subject_log *log = &f->reader.log;

    // The first token of the line is good, its second is not. A sender would refuse both.
    feed(f, ACTIVATION ",9," EMAIL_2 ",t0000002," SIGNED_B ",01234\n", 1);
    assert_int_equal(log->lines[0].state, LINE_TORN);
    assert_int_equal(log->lines[0].tokens, 0);
    assert_int_equal(log->delivery_count, 2);
    assert_int_equal(log->deliveries[0].flags, DELIVERY_NAMED);
    assert_int_equal(log->deliveries[1].token, 2);
    assert_int_equal(f->reader.tokens, 0);
    assert_int_equal(f->reader.seen_ns[1], 0);
}

static void a_trailing_comma_tears(void **state)
{
    struct fixture *f = *state;

    feed(f, RECOVERY ",\n", 1);
    assert_int_equal(f->reader.log.lines[0].state, LINE_TORN);
}

static void an_unknown_login_is_kept(void **state)
{
    struct fixture *f = *state;

    feed(f, "1,a@b,stranger," SIGNED_A ",\n", 1);
    assert_int_equal(f->reader.log.deliveries[0].token, TOKEN_UNKNOWN);
    assert_int_equal(f->reader.log.lines[0].state, LINE_WHOLE);
}

static void tails_depend_on_who_ended_the_process(void **state)
{
    struct fixture *f = *state;
    const struct subject_log *log = &f->reader.log;

    feed(f, "1," EMAIL_1 ",t0000001,", 1);
    struct process_record *p = &f->reader.log.processes[0];
    p->asked = true;
    p->status = SIGKILL;
    reader_tail(&f->reader, &f->pending, 0, &(struct reading){.read_ns = 2});
    assert_int_equal(log->lines[0].state, LINE_TAIL);
    assert_int_equal(log->delivery_count, 0);
    feed(f, "1," EMAIL_1 ",t0000001,", 3);
    p->asked = false;
    reader_tail(&f->reader, &f->pending, 0, &(struct reading){.read_ns = 4});
    assert_int_equal(log->lines[1].state, LINE_TORN);
    assert_int_equal(log->deliveries[0].flags, DELIVERY_NAMED);
    reader_tail(&f->reader, &f->pending, 0, &(struct reading){.read_ns = 5});
    assert_int_equal(log->line_count, 2);
    feed(f, "1," EMAIL_1 ",t0000001,", 6);
    p->asked = true;
    p->status = 75 << 8;
    reader_tail(&f->reader, &f->pending, 0, &(struct reading){.read_ns = 7});
    assert_int_equal(log->lines[2].state, LINE_TAIL);
    feed(f, "1," EMAIL_1 ",t0000001,", 8);
    p->status = 0;
    reader_tail(&f->reader, &f->pending, 0, &(struct reading){.read_ns = 9});
    assert_int_equal(log->lines[3].state, LINE_TORN);
}

static void assert_started(const char *collector, const char *program, size_t arguments)
{
    const struct scenario s = {.collector.command = (char *[]){"theirs", "--fast", NULL}};
    struct command c;
    struct err e;
    size_t count = 0;

    assert_true(command_make(&c, &s, collector, "host=x", &e));
    const char *slash = strrchr(c.argv[0], '/');
    assert_string_equal(slash ? slash + 1 : c.argv[0], program);
    while (c.argv[count])
        count++;
    assert_int_equal(count, 1 + arguments);
    command_fini(&c);
}

// --collector replaces the scenario's command, even when --collector names the reference collector.
static void the_right_collector_is_started(void **state)
{
    assert_started(NULL, "theirs", 1);
    assert_started("./mine  a b", "mine", 2);
    assert_started("reference", "mailroom-collector", 0);
}

// Returns the only value of the variable among those that are passed; NULL: it is not passed.
static const char *passed(const struct command *c, const char *name)
{
    const char *value = NULL;

    for (char **v = c->env.items; *v; v++) {
        if (strncmp(*v, name, strlen(name)) != 0 || (*v)[strlen(name)] != '=')
            continue;
        assert_null(value);
        value = *v + strlen(name) + 1;
    }
    return value;
}

static void the_health_check_follows_a_long_batch_timeout(void **state)
{
    static const struct {
        int64_t timeout_s;
        const char *set, *passed;
    } cases[] = {{5, NULL, NULL}, {270, NULL, NULL}, {271, NULL, "271000"}, {5, "1000", "1000"},
        {300, "400000", "400000"}};
    static const char name[] = "MAILROOM_HEALTHCHECK_INTERVAL";

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct setting set = {(char *)name, (char *)cases[i].set};
        const struct scenario s = {.collector.batch_timeout_ns = cases[i].timeout_s * NS_PER_S,
            .collector.env = {.items = &set, .count = cases[i].set != NULL}};
        struct command c;
        struct err e;
        assert_true(command_make(&c, &s, "x", "host=x", &e));
        const char *got = passed(&c, name);
        assert_int_equal(got != NULL, cases[i].passed != NULL);
        if (got)
            assert_string_equal(got, cases[i].passed);
        command_fini(&c);
    }
}

static void an_empty_command_is_a_usage_error(void **state)
{
    const struct scenario s = {0};
    struct command c;
    struct err e;

    assert_false(command_make(&c, &s, " ", "host=x", &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_string_equal(e.text, "the collector's command names no program");
    command_fini(&c);
}

// A consumer writes `got` and `done`. Only `got` is a delivery; any other line is torn.
static void test_reads_jobs(void **state)
{
    struct fixture *f = *state;
    const struct subject_log *log = &f->reader.log;

    f->reader.jobs = true;
    feed(f, "got 3 1\ndone 3\ngot 4 2\ngot 5\ngot 6 1 x\n1,a,b,c,\n", 5);
    assert_int_equal(log->line_count, 5);
    assert_int_equal(log->delivery_count, 2);
    assert_int_equal(log->deliveries[0].token, 3);
    assert_int_equal(log->deliveries[1].token, 4);
    assert_int_equal(log->lines[1].state, LINE_WHOLE);
    for (size_t i = 2; i < 5; i++)
        assert_int_equal(log->lines[i].state, LINE_TORN);
}

static void a_note_shows_no_raw_bytes(void **state)
{
    struct fixture *f = *state;

    f->reader.jobs = true;
    feed(f, "got \xff 1\n", 5);
    assert_non_null(strstr(f->reader.log.notes[0].text, "'got \\xff 1' is neither"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_collector_is_started),
        cmocka_unit_test(the_health_check_follows_a_long_batch_timeout),
        cmocka_unit_test(an_empty_command_is_a_usage_error),
        cmocka_unit_test(a_program_is_named_without_what_cannot_be_read),
        cmocka_unit_test(good_tokens_decode),
        cmocka_unit_test(wrong_signatures_are_seen),
        cmocka_unit_test(malformed_tokens_are_refused),
        cmocka_unit_test(lines_have_five_fields_a_token),
        cmocka_unit_test(fingerprints_keep_fields_apart),
        cmocka_unit_test_setup_teardown(test_reads_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_note_shows_no_raw_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_come_in_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(a_line_was_written_before_it_was_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_torn_line_delivers_nothing_but_names, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trailing_comma_tears, setup, teardown),
        cmocka_unit_test_setup_teardown(an_unknown_login_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(tails_depend_on_who_ended_the_process, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
