// Tests the proxy as a whole, with clients and a server on this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/unit.h"
#include "fault/proxy_inside.h"

#define REFUSALS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t refused_ns[REFUSALS];
static int refused;

// The names that the linker gives to a wrapped function and its replacement.
#define WRAP_OF(name) __wrap_##name
#define REAL(name) __real_##name

// The linker replaces accept4() by our function (--wrap), which finds no free descriptor in its
// first few calls.
int REAL(accept4)(int fd, struct sockaddr *at, socklen_t *len, int flags);
int WRAP_OF(accept4)(int fd, struct sockaddr *at, socklen_t *len, int flags);

int WRAP_OF(accept4)(int fd, struct sockaddr *at, socklen_t *len, int flags)
{
    int64_t now = clock_now_ns();

    pthread_mutex_lock(&lock);
    bool refuses = refused < REFUSALS;
    if (refuses)
        refused_ns[refused++] = now;
    pthread_mutex_unlock(&lock);
    if (!refuses)
        return REAL(accept4)(fd, at, len, flags);
    errno = EMFILE;
    return -1;
}

static int connect_to(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static struct proxy *start_before(struct target *server, int port)
{
    struct proxy_open open = {.at_len = sizeof(struct sockaddr_in), .to = server};
    char conninfo[64];
    struct err e;

    snprintf(conninfo, sizeof conninfo, "host=127.0.0.1 port=%d", port);
    assert_true(target_init(server, conninfo, &e));
    *(struct sockaddr_in *)&open.at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct proxy *p = proxy_start_open(&open, &e);
    assert_non_null(p);
    return p;
}

static void without_descriptors_it_tries_again_after_a_pause(void **state)
{
    struct target nobody;
    char byte;

    struct proxy *p = start_before(&nobody, 1);
    int fd = connect_to(proxy_port(p));
    // The proxy accepts the client at last, and there is no server behind the proxy.
    alarm(100);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    alarm(0);
    close(fd);
    proxy_free(p); // ends its thread, which counts the refusals
    target_fini(&nobody);
    assert_int_equal(refused, REFUSALS);
    for (int i = 1; i < REFUSALS; i++)
        assert_true(refused_ns[i] - refused_ns[i - 1] >= PROXY_ACCEPT_PAUSE_NS);
}

// Makes a proxy and the listening socket of the server behind it.
static struct proxy *start_with_server(struct target *target, int *listener)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    *listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(*listener, 2), 0);
    assert_int_equal(getsockname(*listener, (struct sockaddr *)&at, &len), 0);
    struct proxy *p = start_before(target, ntohs(at.sin_port));
    // target_init lets libpq begin to connect.
    close(accept(*listener, NULL, NULL));
    return p;
}

// Connects a client through the proxy to the server, and returns it.
static int connect_through(const struct proxy *p, int listener, int *server)
{
    int client = connect_to(proxy_port(p));

    *server = accept(listener, NULL, NULL);
    assert_true(*server >= 0);
    return client;
}

// Connects a client through the proxy, lets the server send ReadyForQuery, and returns the client.
static int connect_and_answer(const struct proxy *p, int listener, int *server)
{
    static const char ready[] = {'Z', 0, 0, 0, 5, 'I'};
    int client = connect_through(p, listener, server);

    assert_int_equal(send(*server, ready, sizeof ready, 0), sizeof ready);
    return client;
}

static void a_cut_whose_connection_ends_first_waits_for_the_next(void **state)
{
    const struct message_kind ready = {.sender = MESSAGE_SERVER, .type = 'Z'};
    struct target target;
    int server, listener;
    char byte;

    struct proxy *p = start_with_server(&target, &listener);
    alarm(100);
    // The message comes and is held back, and the client leaves meanwhile.
    proxy_cut(p, &ready, 1, CUT_BEFORE);
    proxy_hold(p, false, true);
    int client = connect_and_answer(p, listener, &server);
    while (proxy_counts(p).withheld[MESSAGE_SERVER] == 0)
        poll(NULL, 0, 1);
    close(client);
    while (proxy_counts(p).links > 0)
        poll(NULL, 0, 1);
    close(server);
    proxy_heal(p, false, true, false);
    assert_false(proxy_was_cut(p));
    // The next client is cut before the message.
    client = connect_and_answer(p, listener, &server);
    assert_true(recv(client, &byte, 1, 0) <= 0);
    alarm(0);
    assert_true(proxy_was_cut(p));
    assert_int_equal(proxy_cut_client(p).number, 2);
    close(client);
    close(server);
    close(listener);
    proxy_free(p);
    target_fini(&target);
}

// A proxy that asks for a password cannot see it in an encrypted stream, so it allows none.
static void nobody_passes_the_password_by_encryption(void **state)
{
    static const char ssl_request[] = {0, 0, 0, 8, 4, (char)210, 22, 47};
    static const char answers[] = {'N', 'S'};
    struct target target;
    int server, listener;
    char bytes[sizeof ssl_request];

    struct proxy *p = start_with_server(&target, &listener);
    pthread_mutex_lock(&p->lock);
    p->asks_password = true;
    pthread_mutex_unlock(&p->lock);
    alarm(100);
    for (size_t i = 0; i < sizeof answers; i++) {
        int client = connect_through(p, listener, &server);
        assert_int_equal(send(client, ssl_request, sizeof ssl_request, 0), sizeof ssl_request);
        assert_int_equal(recv(server, bytes, sizeof bytes, MSG_WAITALL), sizeof bytes);
        assert_int_equal(send(server, &answers[i], 1, 0), 1);
        assert_int_equal(recv(client, bytes, 1, 0), answers[i] == 'N' ? 1 : 0);
        assert_int_equal(proxy_counts(p).refused, i);
        close(client);
        close(server);
    }
    alarm(0);
    close(listener);
    proxy_free(p);
    target_fini(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_descriptors_it_tries_again_after_a_pause),
        cmocka_unit_test(a_cut_whose_connection_ends_first_waits_for_the_next),
        cmocka_unit_test(nobody_passes_the_password_by_encryption),
    };

    return cmocka_run_group_tests_name("harness.proxy_room", tests, NULL, NULL);
}
