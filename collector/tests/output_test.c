#include "base/unit.h"
#include "wire/output.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#define LEN ((size_t)300000) // more than a pipe or a socket holds

// True when some bytes of the line are written, and some are not.
static bool begun(const struct output *o)
{
    return o->done > 0 && !output_idle(o);
}

static char *long_line(void)
{
    char *data = malloc(LEN);

    assert_non_null(data);
    for (size_t i = 0; i < LEN; i++)
        data[i] = (char)('a' + i % 23);
    return data;
}

// Reads what is there and compares; returns how many bytes it was.
static size_t read_some(int fd, const char *want)
{
    char got[10000];
    ssize_t n = read(fd, got, sizeof got);

    assert_true(n > 0);
    assert_memory_equal(got, want, (size_t)n);
    return (size_t)n;
}

// The reader is slow, and the line does not fit into the pipe or the socket.
static void slow_reader(int in, int out)
{
    char *data = long_line();
    struct output o;
    struct err e;
    size_t seen = 0;

    assert_true(output_init(&o, out, &e));
    assert_true(output_idle(&o));
    output_begin(&o, data, LEN);
    assert_false(begun(&o));
    assert_true(output_ready(&o));
    assert_true(output_pump(&o, &e));
    // The pipe is full now, and writing has returned.
    assert_true(begun(&o));
    assert_false(output_ready(&o));
    while (seen < LEN) {
        seen += read_some(in, data + seen);
        assert_true(output_pump(&o, &e));
    }
    assert_true(output_idle(&o));
    assert_false(begun(&o));
    assert_true(output_check(&o, &e));

    // Now the reader goes away.
    output_begin(&o, "x\n", 2);
    output_forget(&o);
    close(in);
    assert_false(output_check(&o, &e));
    assert_int_equal(e.kind, ERR_OUTPUT);
    output_begin(&o, "x\n", 2);
    assert_false(output_pump(&o, &e));
    assert_int_equal(e.kind, ERR_OUTPUT);
    assert_false(begun(&o));
    close(out);
    free(data);
}

static void pipes(void **state)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    slow_reader(fds[0], fds[1]);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
    slow_reader(fds[0], fds[1]);
}

static void sockets(void **state)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    slow_reader(fds[0], fds[1]);
}

static void files(void **state)
{
    char path[] = "/tmp/mailroom-out.XXXXXX";
    char *data = long_line();
    struct output o;
    struct err e;
    int fd = mkstemp(path);

    assert_true(output_init(&o, fd, &e));
    output_begin(&o, data, LEN);
    assert_true(output_pump(&o, &e));
    assert_true(output_idle(&o));
    assert_true(output_check(&o, &e));
    assert_int_equal(lseek(fd, 0, SEEK_CUR), LEN);
    close(fd);
    unlink(path);
    free(data);
}

static void full_disk(void **state)
{
    struct output o;
    struct err e;
    int fd = open("/dev/full", O_WRONLY);

    if (fd < 0)
        skip();
    assert_true(output_init(&o, fd, &e));
    output_begin(&o, "x\n", 2);
    assert_false(output_pump(&o, &e));
    assert_int_equal(e.kind, ERR_OUTPUT);
    assert_non_null(strstr(e.text, "No space left"));
    close(fd);
    assert_false(output_init(&o, fd, &e));
    assert_int_equal(e.kind, ERR_OUTPUT);
}

// The file's last writer died within a line. What follows is a line of its own.
static void torn_file(void **state)
{
    static const char *const begins[] = {"", "1,a", "1,a\n"};
    static const char *const wants[] = {"2,b\n", "1,a\"\n2,b\n", "1,a\n2,b\n"};
    struct err e;

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        char path[] = "/tmp/mailroom-output.XXXXXX", got[32] = "";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, begins[i], strlen(begins[i])), strlen(begins[i]));
        close(fd);
        struct output o;
        assert_true((fd = open(path, O_WRONLY | O_APPEND)) >= 0);
        assert_true(output_init(&o, fd, &e));
        output_begin(&o, "2,b\n", 4);
        assert_true(output_pump(&o, &e));
        close(fd);
        assert_true((fd = open(path, O_RDONLY)) >= 0);
        assert_int_equal(read(fd, got, sizeof got), strlen(wants[i]));
        assert_string_equal(got, wants[i]);
        close(fd);
        unlink(path);
    }
}

// A collector dies within a line that is too long for the pipe, and the next one gets the same
// pipe.
static void torn_in(int in, int out)
{
    char *data = long_line(), got[4096];
    struct output first, next;
    struct err e;
    ssize_t n = 0;
    size_t left = 0;

    assert_true(output_init(&first, out, &e));
    output_begin(&first, data, LEN);
    assert_true(output_pump(&first, &e));
    assert_true(begun(&first));
    assert_true(output_init(&next, out, &e));
    assert_true(next.torn);
    output_begin(&next, "2,b\n", 4);
    while (!output_idle(&next)) {
        n = read(in, got, sizeof got);
        assert_true(n > 0);
        left += (size_t)n;
        assert_true(output_pump(&next, &e));
    }
    output_forget(&next);
    while (left < first.done + 6) {
        n = read(in, got, sizeof got);
        assert_true(n > 0);
        left += (size_t)n;
    }
    assert_memory_equal(got + n - 6, "\"\n2,b\n", 6);
    // A complete line leaves no mark, neither a short one nor a long one.
    assert_true(output_init(&first, out, &e));
    assert_false(first.torn);
    assert_true(output_init(&next, out, &e));
    output_begin(&next, data, 5000);
    assert_true(output_pump(&next, &e) && output_idle(&next));
    assert_true(output_init(&first, out, &e));
    assert_false(first.torn);
    close(in);
    close(out);
    free(data);
}

static void torn_pipes(void **state)
{
    int fds[2];

#ifndef F_SETSIG
    skip();
#endif
    assert_int_equal(pipe(fds), 0);
    torn_in(fds[0], fds[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    torn_in(fds[0], fds[1]);
}

// Connects a TCP socket that takes less than a short line. Returns the socket that is written to.
static int small_socket(int *reader)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int least = 1, door = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(setsockopt(door, SOL_SOCKET, SO_RCVBUF, &least, sizeof least), 0);
    assert_int_equal(setsockopt(out, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
    assert_int_equal(bind(door, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(door, 1), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(connect(out, (struct sockaddr *)&at, len), 0);
    *reader = accept(door, NULL, NULL);
    assert_true(*reader >= 0);
    close(door);
    return out;
}

// A socket may take a part of a line that a pipe would take whole, so a collector may die within
// that line, too.
static void torn_short_line(void **state)
{
    char *data = long_line();
    struct output first, next;
    struct err e;
    int in, out = small_socket(&in);

#ifndef F_SETSIG
    skip();
#endif
    do { // until the socket is full
        assert_true(output_init(&first, out, &e));
        output_begin(&first, data, PIPE_BUF);
        assert_true(output_pump(&first, &e));
    } while (output_idle(&first));
    assert_true(begun(&first));
    assert_true(output_init(&next, out, &e));
    assert_true(next.torn);
    close(in);
    close(out);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipes),
        cmocka_unit_test(sockets),
        cmocka_unit_test(files),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(torn_file),
        cmocka_unit_test(torn_pipes),
        cmocka_unit_test(torn_short_line),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
