#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/unit.h"
#include "base/scrape.h"

#define GOOD "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"

static void requests_are_judged(void **state)
{
    const struct {
        const char *request;
        int status;
    } cases[] = {
        {"", 0},
        {"GET /metrics HTTP/1.1\r\n", 0},
        {"GET /metrics HTTP/1.1\n\n", 0},
        {GOOD, 200},
        {GOOD "more", 200},
        {"GET /metrics HTTP/1.0\r\n\r\n", 200},
        {"GET /metrics?name[]=up HTTP/1.1\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\n\r\n", 404},
        {"GET /metrics/ HTTP/1.1\r\n\r\n", 404},
        {"GET /metric HTTP/1.1\r\n\r\n", 404},
        {"POST /metrics HTTP/1.1\r\n\r\n", 405},
        {"HEAD /metrics HTTP/1.1\r\n\r\n", 405},
        {"GET /metrics HTTP/2.0\r\n\r\n", 505},
        {"GET /metrics\r\n\r\n", 400},
        {" /metrics HTTP/1.1\r\n\r\n", 400},
        {"GET /metrics HTTP/1.1 x\r\n\r\n", 400},
        {"GET /metrics SMTP\r\n\r\n", 400},
        {"\r\n\r\n", 400},
        {"\nGET /metrics HTTP/1.1\r\n\r\n", 400},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(scrape_judge(cases[i].request, strlen(cases[i].request)), cases[i].status);
    char longer[SCRAPE_REQUEST_MAX];
    memset(longer, 'x', sizeof longer);
    assert_int_equal(scrape_judge(longer, sizeof longer - 1), 0);
    assert_int_equal(scrape_judge(longer, sizeof longer), 400);
}

static void bad_addresses_are_refused(void **state)
{
    const char *const bad[] = {"", "9187", ":9187", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http",
        "127.0.0.1:65536", "127.0.0.1:123456", "::1:9187", "[]:9187", "127.0.0.1:+80",
        "192.0.2.1:9187", "/no/such/folder/socket", "/dev/null"};
    char path[200];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct scrape s;
        struct err e;
        assert_false(scrape_open(&s, bad[i], &e));
        assert_int_equal(e.kind, ERR_USAGE);
        assert_non_null(strstr(e.text, bad[i]));
        scrape_close(&s);
    }
    memset(path, '/', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct scrape s;
    struct err e;
    assert_false(scrape_open(&s, path, &e));
}

static struct scrape *served(struct scrape *s)
{
    struct err e;

    assert_true(scrape_open(s, "127.0.0.1:0", &e));
    return s;
}

// Connects a client. `buffer`: most bytes that its socket takes in; 0: the system's default.
static int client_with(const struct scrape *s, int buffer)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (buffer > 0)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, len), 0);
    return fd;
}

static int client(const struct scrape *s)
{
    return client_with(s, 0);
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

// Reads until the end of the connection, and serves the server meanwhile.
static const char *hear(struct scrape *s, int fd, char *text, size_t size)
{
    size_t len = 0;

    for (;;) {
        scrape_serve(s, 0);
        ssize_t n = recv(fd, text + len, size - 1 - len, MSG_DONTWAIT);
        if (n == 0)
            break;
        if (n > 0)
            len += (size_t)n;
    }
    text[len] = '\0';
    close(fd);
    return text;
}

static void a_scraper_gets_the_text(void **state)
{
    struct scrape s;
    char text[1000];
    int fd = client(served(&s));

    assert_false(scrape_serve(&s, 0));
    say(fd, "GET /metr");
    while (s.clients[0].len < 9)
        assert_false(scrape_serve(&s, 0));
    say(fd, "ics HTTP/1.1\r\nHost: x\r\n\r\n");
    while (!scrape_serve(&s, 0)) {
    }
    scrape_answer(&s, "figures\n", 8);
    hear(&s, fd, text, sizeof text);
    assert_ptr_equal(strstr(text, "HTTP/1.1 200 OK\r\n"), text);
    assert_non_null(strstr(text, "application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
    assert_non_null(strstr(text, "Content-Length: 8\r\n"));
    assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\nfigures\n");
    scrape_close(&s);
}

static void all_else_is_refused(void **state)
{
    struct scrape s;
    char text[1000];
    int fd = client(served(&s));

    say(fd, "PUT /metrics HTTP/1.1\r\n\r\n");
    hear(&s, fd, text, sizeof text);
    assert_non_null(strstr(text, "HTTP/1.1 405 "));
    assert_non_null(strstr(text, "Allow: GET\r\n"));
    fd = client(&s);
    say(fd, "GET /else HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(hear(&s, fd, text, sizeof text), "HTTP/1.1 404 "));
    scrape_close(&s);
}

// Silent clients take all places, and lose them to others.
static void silence_ends(void **state)
{
    struct scrape s;
    char text[1000];
    int silent[SCRAPE_CLIENTS];
    struct pollfd fds[SCRAPE_FDS];

    served(&s);
    for (int i = 0; i < SCRAPE_CLIENTS; i++) {
        silent[i] = client(&s);
        while (s.clients[i].step == SCRAPE_FREE)
            scrape_serve(&s, 7);
    }
    int64_t at_ns = scrape_deadline_ns(&s);
    assert_true(at_ns > 7 && at_ns < CLOCK_NEVER);
    // A client that speaks takes the place of the oldest one at once, long before any deadline.
    int fd = client(&s);
    say(fd, GOOD);
    scrape_poll(&s, fds);
    assert_int_equal(fds[0].fd, s.fd);
    while (!scrape_serve(&s, 8)) {
    }
    assert_int_equal(recv(silent[0], text, sizeof text, 0), 0);
    scrape_answer(&s, "", 0);
    assert_non_null(strstr(hear(&s, fd, text, sizeof text), "200 OK"));
    scrape_serve(&s, at_ns);
    assert_int_equal(recv(silent[SCRAPE_CLIENTS - 1], text, sizeof text, 0), 0);
    for (int i = 0; i < SCRAPE_CLIENTS; i++)
        close(silent[i]);
    scrape_close(&s);
}

// A client that does not read gets only what its socket accepts. The server does not wait for the
// socket to accept more.
static void a_slow_reader_holds_nobody_up(void **state)
{
    struct scrape s;
    size_t len = (size_t)4 << 20; // the longest text there is
    int little = 4096;
    char *text = calloc(1, len);
    const int small = 1 << 16;

    served(&s);
    assert_int_equal(setsockopt(s.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    int fd = client_with(&s, small);

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
    say(fd, GOOD);
    while (!scrape_serve(&s, 0)) {
    }
    scrape_answer(&s, text, len);
    scrape_serve(&s, 0);
    assert_int_equal(s.clients[0].step, SCRAPE_WRITING);
    scrape_serve(&s, scrape_deadline_ns(&s));
    assert_int_equal(s.clients[0].step, SCRAPE_FREE);
    close(fd);
    scrape_close(&s);
    free(text);
}

static void a_client_that_hangs_up_is_forgotten(void **state)
{
    struct scrape s;
    int fd = client(served(&s));

    say(fd, GOOD);
    while (!scrape_serve(&s, 0)) {
    }
    struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
    while (scrape_serve(&s, 0)) {
    }
    assert_int_equal(s.clients[0].step, SCRAPE_FREE);
    scrape_close(&s);
}

static void without_descriptors_nobody_is_taken_in(void **state)
{
    struct scrape s;
    struct pollfd fds[SCRAPE_FDS];
    struct rlimit most, few;
    int fd = client(served(&s));

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
    few = most;
    few.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_false(scrape_serve(&s, 1));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
    scrape_poll(&s, fds);
    assert_int_equal(fds[0].fd, -1); // the client that waits would end each poll at once
    int64_t again_ns = scrape_deadline_ns(&s);
    assert_in_range(again_ns, 2, NS_PER_S);

    scrape_serve(&s, again_ns);
    scrape_poll(&s, fds);
    assert_int_equal(fds[0].fd, s.fd);
    assert_int_equal(s.clients[0].step, SCRAPE_READING);
    close(fd);
    scrape_close(&s);
}

static void a_socket_is_taken_over_from_the_dead_only(void **state)
{
    char folder[] = "/tmp/scrape_test.XXXXXX", path[100];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct scrape first, second;
    struct stat st;
    struct err e;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    memcpy(at.sun_path, path, strlen(path) + 1);
    assert_true(scrape_open(&first, path, &e));
    assert_false(scrape_open(&second, path, &e));
    assert_non_null(strstr(e.text, "in use"));
    scrape_close(&second);
    assert_int_equal(stat(path, &st), 0); // the second server must not remove it
    scrape_close(&first);
    assert_int_not_equal(stat(path, &st), 0);

    // A server that hangs takes in nobody, and its queue is full.
    int hung = socket(AF_UNIX, SOCK_STREAM, 0), waiting[3];
    assert_int_equal(bind(hung, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(hung, 0), 0);
    for (size_t i = 0; i < 3; i++) {
        waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(waiting[i], (struct sockaddr *)&at, sizeof at); // the last ones are refused
    }
    alarm(100);
    assert_false(scrape_open(&first, path, &e));
    alarm(0);
    assert_non_null(strstr(e.text, "in use"));
    scrape_close(&first);
    for (size_t i = 0; i < 3; i++)
        close(waiting[i]);
    close(hung);
    unlink(path);

    int dead = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(dead, (struct sockaddr *)&at, sizeof at), 0);
    close(dead);
    assert_true(scrape_open(&first, path, &e));
    scrape_close(&first);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_judged),
        cmocka_unit_test(bad_addresses_are_refused),
        cmocka_unit_test(a_scraper_gets_the_text),
        cmocka_unit_test(all_else_is_refused),
        cmocka_unit_test(silence_ends),
        cmocka_unit_test(a_slow_reader_holds_nobody_up),
        cmocka_unit_test(a_client_that_hangs_up_is_forgotten),
        cmocka_unit_test(without_descriptors_nobody_is_taken_in),
        cmocka_unit_test(a_socket_is_taken_over_from_the_dead_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
