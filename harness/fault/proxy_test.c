// Tests the proxy when the process has no descriptor left for a client.
#include <arpa/inet.h>
#include <netinet/in.h>
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

static void without_descriptors_it_tries_again_after_a_pause(void **state)
{
    struct target nobody;
    struct err e;
    char byte;

    assert_true(target_init(&nobody, "host=127.0.0.1 port=1", &e));
    struct proxy_open open = {.at_len = sizeof(struct sockaddr_in), .to = &nobody};
    *(struct sockaddr_in *)&open.at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct proxy *p = proxy_start_open(&open, &e);
    assert_non_null(p);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_descriptors_it_tries_again_after_a_pause),
    };

    return cmocka_run_group_tests_name("harness.proxy_room", tests, NULL, NULL);
}
