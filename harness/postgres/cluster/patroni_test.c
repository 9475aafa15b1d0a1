// Tests the settings written for Patroni and HAProxy, and the requests to Patroni.
#include <jansson.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/unit.h"
#include "postgres/cluster/patroni_config.h"
#include "postgres/cluster/rest.h"

static struct setting one_setting[] = {{"work_mem", "8MB"}};
static const struct settings settings = {one_setting, 1};

static struct patroni_layout layout(bool synchronous)
{
    struct patroni_layout l = {.dir = "/var/tmp/a \"b\"",
        .bindir = "/usr/lib/postgresql/15/bin",
        .store = {"127.0.0.1", 2379},
        .proxy_dir = "/var/tmp/p",
        .password = "secret",
        .store_password = "of the store",
        .synchronous = synchronous,
        .settings = &settings};

    for (int i = 0; i < PATRONI_MEMBERS; i++) {
        snprintf(l.servers[i].host, sizeof l.servers[i].host, "192.0.2.%d", 11 + i);
        snprintf(l.rests[i].host, sizeof l.rests[i].host, "192.0.2.%d", 21 + i);
        l.servers[i].port = 5001 + i;
        l.rests[i].port = 8001 + i;
    }
    return l;
}

static json_t *render(const struct patroni_layout *l, int member)
{
    struct buf text;
    struct err e = {0};

    buf_init(&text, 1 << 16);
    assert_true(patroni_render(l, member, &text, &e));
    json_t *json = json_loads(buf_str(&text), 0, NULL);
    assert_non_null(json);
    buf_fini(&text);
    return json;
}

static void a_member_gets_its_own_addresses(void **state)
{
    const struct patroni_layout l = layout(false);
    json_t *json = render(&l, 1);
    const char *name, *store, *password, *rest, *listen, *data, *memory;
    int ttl, wait, retry, synchronous;

    assert_int_equal(json_unpack(json, "{s:s, s:{s:s, s:s}, s:{s:s}, s:{s:s, s:s}}", "name", &name,
                         "etcd3", "host", &store, "password", &password, "restapi", "listen", &rest,
                         "postgresql", "listen", &listen, "data_dir", &data),
        0);
    assert_string_equal(name, "m2");
    assert_string_equal(store, "127.0.0.1:2379");
    assert_string_equal(password, "of the store");
    assert_string_equal(rest, "192.0.2.22:8002");
    assert_string_equal(listen, "192.0.2.12:5002");
    assert_string_equal(data, "/var/tmp/a \"b\"/m2");
    assert_int_equal(
        json_unpack(json, "{s:{s:{s:i, s:i, s:i, s:b, s:{s:{s:s}}}}}", "bootstrap", "dcs", "ttl",
            &ttl, "loop_wait", &wait, "retry_timeout", &retry, "synchronous_mode", &synchronous,
            "postgresql", "parameters", "work_mem", &memory),
        0);
    assert_true(ttl >= wait + 2 * retry);
    assert_false(synchronous);
    assert_string_equal(memory, "8MB");
    json_decref(json);
}

static void a_synchronous_cluster_gets_its_mode(void **state)
{
    const struct patroni_layout l = layout(true);
    json_t *json = render(&l, 0);
    int synchronous;

    assert_int_equal(
        json_unpack(json, "{s:{s:{s:b}}}", "bootstrap", "dcs", "synchronous_mode", &synchronous),
        0);
    assert_true(synchronous);
    json_decref(json);
}

static void the_proxy_asks_each_member(void **state)
{
    struct patroni_layout l = layout(false);
    struct buf text;
    struct err e = {0};

    buf_init(&text, 1 << 16);
    assert_true(patroni_render_proxy(&l, &text, &e));
    assert_non_null(strstr(buf_str(&text), "server m1 192.0.2.11:5001 check addr 192.0.2.21 port "
                                           "8001\n"));
    assert_non_null(strstr(buf_str(&text), "server m3 192.0.2.13:5003 check addr 192.0.2.23 port "
                                           "8003\n"));
    assert_non_null(strstr(buf_str(&text), "unix@/var/tmp/p/.s.PGSQL.3 mode 600\n"));
    // With --as, another user connects there.
    buf_clear(&text);
    l.shares_proxy = true;
    assert_true(patroni_render_proxy(&l, &text, &e));
    assert_non_null(strstr(buf_str(&text), "/.s.PGSQL.3 mode 666\n"));
    buf_fini(&text);
}

// An answer as Patroni 3.0.2 sends it.
static const char cluster[] =
    "{\"members\": [{\"name\": \"m1\", \"role\": \"sync_standby\", \"state\": \"running\", "
    "\"api_url\": \"http://127.0.0.1:18001/patroni\", \"host\": \"127.0.0.1\", \"port\": 15001, "
    "\"timeline\": 2, \"lag\": 0}, {\"name\": \"m2\", \"role\": \"replica\", \"state\": "
    "\"starting\", \"lag\": \"unknown\"}, {\"name\": \"m3\", \"role\": \"leader\", \"state\": "
    "\"running\", \"host\": \"127.0.0.1\", \"port\": 15003, \"timeline\": 2}]}";

static void members_are_read(void **state)
{
    struct rest_member members[REST_MEMBERS_MAX];
    struct err e = {0};
    size_t count;

    assert_true(rest_members(cluster, members, &count, &e));
    assert_int_equal(count, 3);
    assert_string_equal(members[0].role, "sync_standby");
    assert_int_equal(members[1].timeline, 0);
    const struct rest_member *leader = rest_leader(members, count);
    assert_non_null(leader);
    assert_string_equal(leader->name, "m3");
    assert_int_equal(leader->port, 15003);
    assert_int_equal(leader->timeline, 2);
    // A leader that is being started takes no writes.
    snprintf(members[2].state, sizeof members[2].state, "starting");
    assert_null(rest_leader(members, count));
}

static void other_lists_are_refused(void **state)
{
    static const char *const wrong[] = {
        "", "{}", "[]", "{\"members\": 1}", "{\"members\": [{\"name\": \"m1\"}]}", "<html>"};
    struct rest_member members[REST_MEMBERS_MAX];
    struct err e = {0};
    size_t count;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(rest_members(wrong[i], members, &count, &e));
}

// A server of one answer, on a port of the kernel's choice.
struct one_answer {
    int listening;
    const char *wire;
    char request[1000];
};

// Reads a request that ends with `}`, sends the answer and closes the connection.
static void *serve_one_answer(void *server)
{
    struct one_answer *s = server;
    int fd = accept(s->listening, NULL, NULL);
    size_t len = 0;

    while (len == 0 || s->request[len - 1] != '}') {
        ssize_t n = recv(fd, s->request + len, sizeof s->request - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    s->request[len] = '\0';
    for (size_t sent = 0, all = strlen(s->wire); sent < all;) {
        ssize_t n = send(fd, s->wire + sent, all - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    close(fd);
    return NULL;
}

static bool ask_for(const char *wire, struct one_answer *s, struct rest_answer *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    pthread_t thread;
    struct err e;

    s->wire = wire;
    s->listening = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listening, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(s->listening, 1), 0);
    assert_int_equal(getsockname(s->listening, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve_one_answer, s), 0);
    const struct rest_target target = {.net = -1,
        .host = "127.0.0.1",
        .port = ntohs(address.sin_port),
        .user = "me",
        .password = "secret"};
    bool ok = rest_ask(&target, "POST", "/switchover", "{\"a\": 1}", answer, &e);
    pthread_join(thread, NULL);
    close(s->listening);
    return ok;
}

static void requests_are_answered(void **state)
{
    static const char *const wrong[] = {
        "", "HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\n", "FOO 200 OK\r\n\r\n", "\r\n\r\n"};
    static struct rest_answer answer;
    static char long_one[sizeof answer.text + 100];
    static struct one_answer server;

    assert_true(ask_for("HTTP/1.0 503 Busy\r\nServer: x\r\n\r\n{\"b\": 1}", &server, &answer));
    assert_int_equal(answer.status, 503);
    assert_string_equal(answer.text, "{\"b\": 1}");
    assert_memory_equal(server.request, "POST /switchover HTTP/1.1\r\n", 27);
    assert_non_null(strstr(server.request, "\r\nAuthorization: Basic bWU6c2VjcmV0\r\n"));
    assert_non_null(strstr(server.request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(server.request, "\r\n\r\n{\"a\": 1}"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(ask_for(wrong[i], &server, &answer));
    memset(long_one, 'x', sizeof long_one - 1);
    memcpy(long_one, "HTTP/1.0 200 OK\r\n\r\n", 19);
    assert_false(ask_for(long_one, &server, &answer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_gets_its_own_addresses),
        cmocka_unit_test(a_synchronous_cluster_gets_its_mode),
        cmocka_unit_test(the_proxy_asks_each_member),
        cmocka_unit_test(members_are_read),
        cmocka_unit_test(other_lists_are_refused),
        cmocka_unit_test(requests_are_answered),
    };

    return cmocka_run_group_tests_name("patroni", tests, NULL, NULL);
}
