#include <signal.h>

#include "base/unit.h"
#include "base/program.h"
#include "mailroom-sender/input.h"

static void send_text(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void assert_line(struct input *in, const char *expected)
{
    const char *line;
    size_t len;
    struct err e;

    assert_int_equal(input_next(in, &line, &len, &e), INPUT_LINE);
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(line, expected, len);
}

static void lines_come_whole(void **state)
{
    struct input in;
    struct err e;
    const char *line;
    size_t len;
    int ends[2], stop[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(stop), 0);
    input_init(&in, ends[0], stop[0]);
    assert_false(input_waiting(&in));
    send_text(ends[1], "one\ntwo\nthr");
    assert_true(input_waiting(&in));
    assert_line(&in, "one");
    assert_line(&in, "two");
    send_text(ends[1], "ee\n\nwithout an end");
    assert_line(&in, "three");
    assert_line(&in, "");
    close(ends[1]);
    assert_int_equal(input_next(&in, &line, &len, &e), INPUT_END);
    input_fini(&in);
    close(ends[0]);
    close(stop[0]);
    close(stop[1]);
}

// The signal comes after the program has looked at program_stopping and before it waits for input.
static void an_early_signal_is_not_missed(void **state)
{
    struct input in;
    struct err e;
    const char *line;
    size_t len;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_true(program_catch_signals(&e));
    assert_false(program_stopping());
    raise(SIGTERM);
    assert_true(program_stopping());
    input_init(&in, ends[0], program_stop_fd());
    assert_int_equal(input_next(&in, &line, &len, &e), INPUT_INTERRUPTED);
    input_fini(&in);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_whole),
        cmocka_unit_test(an_early_signal_is_not_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
