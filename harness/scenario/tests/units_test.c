#include "base/unit.h"
#include "scenario/suggest.h"
#include "scenario/units.h"
#include "base/utf8.h"

static void reads_durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
        const char *error;
    } cases[] = {
        {"20s", 20000000000, NULL},
        {"300ms", 300000000, NULL},
        {"5m", 300000000000, NULL},
        {"1h", 3600000000000, NULL},
        {"7us", 7000, NULL},
        {"0s", 0, NULL},
        {"1.5ms", 1500000, NULL},
        {"0.25h", 900000000000, NULL},
        {"0.000000001s", 1, NULL},
        {"0.001us", 1, NULL},
        {"20", 0, "'20' has no unit; write a duration such as 20s, 300ms or 5m"},
        {"s", 0, "'s' is not a duration; write a duration such as 20s, 300ms or 5m"},
        {"-1s", 0, "'-1s' is not a duration; write a duration such as 20s, 300ms or 5m"},
        {"1 s", 0, "'1 s' ends in an unknown unit; the units are us, ms, s, m and h"},
        {"1.s", 0, "'1.s' ends in an unknown unit; the units are us, ms, s, m and h"},
        {"1e3s", 0, "'1e3s' ends in an unknown unit; the units are us, ms, s, m and h"},
        {"3d", 0, "'3d' ends in an unknown unit; the units are us, ms, s, m and h"},
        {"999999999h", 0, "'999999999h' is longer than this program can count"},
        {"1234567890s", 0,
            "'1234567890s' is not a duration; write a duration such as 20s, 300ms or 5m"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        int64_t ns = 0;
        bool ok = units_duration(cases[i].text, &ns, &e);
        assert_int_equal(ok, cases[i].error == NULL);
        assert_string_equal(e.text, cases[i].error ? cases[i].error : "");
        assert_int_equal(ns, cases[i].ns);
    }
}

static void writes_what_it_reads(void **state)
{
    static const char *const durations[] = {"0s", "90s", "1500ms", "20us", "0.001us", "86400s",
        "999999999us", "1000.000001000s", "1000000.001000000s", "65536.001234567s"};
    static const char *const numbers[] = {"0", "0.05", "200", "0.333333333", "1000000", "1234.5"};
    struct buf out;
    struct err e;

    buf_init(&out, 100);
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        int64_t ns;
        assert_true(units_duration(durations[i], &ns, &e));
        buf_clear(&out);
        assert_true(units_print_duration(&out, ns));
        assert_string_equal(buf_str(&out), durations[i]);
        // A clock may step back.
        buf_clear(&out);
        assert_true(units_print_duration(&out, -ns));
        assert_string_equal(buf_str(&out) + (ns > 0), durations[i]);
        assert_true(ns == 0 || out.data[0] == '-');
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double number;
        assert_true(units_number(numbers[i], &number, &e));
        buf_clear(&out);
        assert_true(units_print_number(&out, number));
        assert_string_equal(buf_str(&out), numbers[i]);
    }
    buf_fini(&out);
}

// A stored scenario must have the same values as the file, to the last bit. So a number that needs
// more decimal places than can be written is rounded when it is read.
static void reads_only_what_can_be_written(void **state)
{
    static const char *const shares[] = {"12.345678901%", "33.333333333%", "0.1%", "0.1"};
    static const char *const rates[] = {
        "1.123456789MB/s", "0.000000001kB/s", "999999999.123456789B/s", "20kB/s"};
    struct buf out;
    struct err e;
    double first, again;

    buf_init(&out, 100);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        assert_true(units_share(shares[i], &first, &e));
        buf_clear(&out);
        assert_true(units_print_number(&out, first));
        assert_true(units_share(buf_str(&out), &again, &e));
        assert_memory_equal(&again, &first, sizeof first);
    }
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        assert_true(units_bytes_per_second(rates[i], &first, &e));
        buf_clear(&out);
        assert_true(units_print_number(&out, first) && buf_append_str(&out, "B/s"));
        assert_true(units_bytes_per_second(buf_str(&out), &again, &e));
        assert_memory_equal(&again, &first, sizeof first);
    }
    buf_fini(&out);
}

static void reads_rates(void **state)
{
    static const struct {
        const char *text;
        double from, to;
        const char *error;
    } cases[] = {
        {"200/s", 200, 200, NULL},
        {"0.5/s", 0.5, 0.5, NULL},
        {"100/s..2000/s", 100, 2000, NULL},
        {"1.5/s..0/s", 1.5, 0, NULL},
        {"200", 0, 0,
            "'200' has no unit; write a rate such as 200/s or a ramp such as 100/s..2000/s"},
        {"100..200/s", 0, 0,
            "'100..200/s' has no unit; write a rate such as 200/s or a ramp such as 100/s..2000/s"},
        {"200/m", 0, 0,
            "'200/m' is not a rate; write a rate such as 200/s or a ramp such as 100/s..2000/s"},
        {"200/sec", 0, 0, "'200/sec' is not a rate such as 200/s or 100/s..2000/s"},
        {"fast", 0, 0,
            "'fast' is not a rate; write a rate such as 200/s or a ramp such as 100/s..2000/s"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        double from = 0, to = 0;
        bool ok = units_rate(cases[i].text, &from, &to, &e);
        assert_int_equal(ok, cases[i].error == NULL);
        assert_string_equal(e.text, cases[i].error ? cases[i].error : "");
        if (ok) {
            assert_true(from == cases[i].from);
            assert_true(to == cases[i].to);
        }
    }
}

static void splits_comparisons(void **state)
{
    static const struct {
        const char *text, *comparison, *operand;
    } cases[] = {
        {"= 0", "=", "0"},
        {"< 500ms", "<", "500ms"},
        {"<=1s", "<=", "1s"},
        {">= 100/s", ">=", "100/s"},
        {"!=   3", "!=", "3"},
        {">", ">", ""},
    };
    const char *operand;
    char comparison[3];
    struct err e;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(units_comparison(cases[i].text, comparison, &operand, &e));
        assert_string_equal(comparison, cases[i].comparison);
        assert_string_equal(operand, cases[i].operand);
    }
    assert_false(units_comparison("500ms", comparison, &operand, &e));
}

static void suggests_near_words_only(void **state)
{
    static const struct {
        const char *word, *text;
    } cases[] = {
        {"conections", "; did you mean 'connections'?"},
        {"fro", "; did you mean 'for'?"},
        {"connections", "; did you mean 'connections'?"},
        {"weather", ""},
        {"raet", "; did you mean 'rate'?"},
        {"raise", ""},
        {"conexxion", ""},
        {"x", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suggestion s;
        suggest_init(&s, cases[i].word);
        suggest_offer(&s, "for");
        suggest_offer(&s, "connections");
        suggest_offer(&s, "rate");
        assert_string_equal(s.text, cases[i].text);
    }
}

static void assert_mended(const char *text, const char *want)
{
    char copy[100];

    snprintf(copy, sizeof copy, "%s", text);
    utf8_mend(copy);
    assert_string_equal(copy, want);
}

static void bytes_that_are_no_character_are_replaced(void **state)
{
    assert_mended("für 1 € 😀 \xf4\x8f\xbf\xbf", "für 1 € 😀 \xf4\x8f\xbf\xbf");
    assert_mended("f\xfcr", "f?r");
    assert_mended("a\x1b[2J\xc2\x9b\x7f", "a?[2J???"); // a terminal would act on these
    // NOLINTNEXTLINE(misc-misleading-bidirectional): no reader is misled by an escape
    assert_mended("a\xe2\x80\xae"
                  "b\xd8\x9c",
        "a???b??");                                   // these turn the direction of text
    assert_mended("\x82\xac 1 \xe2\x82", "?? 1 ??");  // both ends of a text that was cut
    assert_mended("\xc0\xaf \xe0\x80\xaf", "?? ???"); // longer than needed
    assert_mended("\xed\xa0\x80", "???");             // half of a pair of UTF-16
    assert_mended("\xf4\x90\x80\x80\xff", "?????");   // beyond the last character
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_durations),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(reads_only_what_can_be_written),
        cmocka_unit_test(reads_rates),
        cmocka_unit_test(splits_comparisons),
        cmocka_unit_test(suggests_near_words_only),
        cmocka_unit_test(bytes_that_are_no_character_are_replaced),
    };
    return cmocka_run_group_tests_name("harness.units", tests, NULL, NULL);
}
