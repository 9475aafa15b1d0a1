// A session against a server that the test plays itself, on the test's own clock.
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unit.h"
#include "session/session.h"

#define PATIENCE_NS (5 * NS_PER_S)

static struct {
    char folder[32];
    int listener, link; // link: the session's connection
    struct session session;
    int64_t now_ns;
} t;

static void server_sends(const char *bytes, size_t len)
{
    assert_int_equal(send(t.link, bytes, len, MSG_NOSIGNAL), len);
}

#define SERVER_SENDS(bytes) server_sends(bytes, sizeof(bytes) - 1)

// The server answers one request: parsed, bound, no columns, done, ready.
static void server_answers(void)
{
    SERVER_SENDS("1\0\0\0\4"
                 "2\0\0\0\4"
                 "n\0\0\0\4"
                 "C\0\0\0\xbSELECT"
                 "\0"
                 "Z\0\0\0\5I");
}

static bool pump_after(int64_t ns)
{
    t.now_ns += ns;
    return session_pump(&t.session, t.now_ns, &(struct err){0});
}

static int answers(void)
{
    struct session_reply reply;
    int n = 0;

    while (session_take(&t.session, &reply)) {
        assert_int_equal(PQresultStatus(reply.result), PGRES_COMMAND_OK);
        PQclear(reply.result);
        n++;
    }
    return n;
}

static void ask(int64_t deadline_ns)
{
    assert_true(session_query(
        &t.session, 0, "SELECT", (struct session_params){0}, deadline_ns, &(struct err){0}));
}

// Connects the session; the server lets anybody in.
static int connect_session(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char url[64], hello[512];

    snprintf(t.folder, sizeof t.folder, "/tmp/session-test.XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    snprintf(at.sun_path, sizeof at.sun_path, "%s/.s.PGSQL.5432", t.folder);
    t.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(t.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(t.listener, 1), 0);
    snprintf(url, sizeof url, "host=%s port=5432 user=u dbname=d", t.folder);
    t.now_ns = NS_PER_S;
    assert_true(session_open(&t.session, url, 0, t.now_ns, &(struct err){0}));
    t.link = accept(t.listener, NULL, NULL);
    assert_true(pump_after(0)); // sends the start-up packet
    assert_true(read(t.link, hello, sizeof hello) > 0);
    SERVER_SENDS("R\0\0\0\x8\0\0\0\0"
                 "Z\0\0\0\5I");
    for (int i = 0; i < 3 && !t.session.up; i++)
        assert_true(pump_after(0));
    assert_true(t.session.up);
    return 0;
}

static int close_session(void **state)
{
    char path[64];

    session_close(&t.session);
    close(t.link);
    close(t.listener);
    snprintf(path, sizeof path, "%s/.s.PGSQL.5432", t.folder);
    unlink(path);
    rmdir(t.folder);
    return 0;
}

// The server answers each of three requests within the patience, and all of them in more.
static void a_request_has_its_time_from_the_answer_before_it(void **state)
{
    for (int i = 0; i < 3; i++)
        ask(t.now_ns + PATIENCE_NS);
    for (int i = 0; i < 3; i++) {
        assert_true(pump_after(4 * NS_PER_S));
        assert_int_equal(answers(), 0);
        server_answers();
        assert_true(pump_after(0));
        assert_int_equal(answers(), 1);
    }
    assert_int_equal(session_deadline_ns(&t.session), CLOCK_NEVER);
}

static void a_server_that_goes_silent_is_late(void **state)
{
    ask(t.now_ns + PATIENCE_NS);
    ask(t.now_ns + PATIENCE_NS);
    assert_true(pump_after(2 * NS_PER_S));
    server_answers();
    assert_true(pump_after(0));
    assert_int_equal(answers(), 1);
    assert_int_equal(session_deadline_ns(&t.session), t.now_ns + PATIENCE_NS);
    assert_true(pump_after(PATIENCE_NS - 1));
    assert_false(session_silent(&t.session, t.now_ns));
    assert_false(pump_after(1));
    assert_true(session_silent(&t.session, t.now_ns));
}

// The deadline of a request that came later does not become earlier by an answer.
static void an_answer_takes_no_time_away(void **state)
{
    ask(t.now_ns + PATIENCE_NS);
    assert_true(pump_after(NS_PER_S));
    ask(t.now_ns + PATIENCE_NS);
    int64_t deadline_ns = t.now_ns + PATIENCE_NS;
    server_answers();
    assert_true(pump_after(0));
    assert_int_equal(answers(), 1);
    assert_int_equal(session_deadline_ns(&t.session), deadline_ns);
}

static void a_request_behind_one_that_may_take_any_time_is_not_late(void **state)
{
    ask(CLOCK_NEVER);
    ask(t.now_ns + PATIENCE_NS);
    assert_true(pump_after(3600 * NS_PER_S));
    server_answers();
    assert_true(pump_after(0));
    assert_int_equal(answers(), 1);
    assert_int_equal(session_deadline_ns(&t.session), t.now_ns + PATIENCE_NS);
    server_answers();
    assert_true(pump_after(PATIENCE_NS)); // an answer that has arrived is not late
    assert_int_equal(answers(), 1);
}

#define WITH_SESSION(test) cmocka_unit_test_setup_teardown(test, connect_session, close_session)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SESSION(a_request_has_its_time_from_the_answer_before_it),
        WITH_SESSION(a_server_that_goes_silent_is_late),
        WITH_SESSION(an_answer_takes_no_time_away),
        WITH_SESSION(a_request_behind_one_that_may_take_any_time_is_not_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
