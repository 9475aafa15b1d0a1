#include <sys/stat.h>

#include "base/unit.h"
#include "os/netns.h"
#include "os/process.h"

// Sends one datagram from this end to the other; nobody has to listen for it.
static void send_one(const struct netns *n, enum netns_end from, const char *to)
{
    char device[60], text[200];
    struct err e = {0};
    struct process_spec spec = PROCESS_SPEC_INIT;

    snprintf(device, sizeof device, "echo >/dev/udp/%s/9", to);
    spec.argv = (const char *const[]){"bash", "-c", device, NULL};
    spec.net = n->fds[from];
    if (!process_collect(&spec, text, sizeof text, &e))
        fail_msg("%s", e.text);
}

static void only_the_silent_end_drops(void **state)
{
    struct netns n;
    struct err e = {0};
    uint64_t dropped = 99;

    if (!netns_make(&n, &e)) {
        print_message("skipped: %s\n", e.text);
        netns_fini(&n);
        skip();
    }
    assert_true(netns_silence(&n, NETNS_SERVER, &e));
    send_one(&n, NETNS_COLLECTOR, NETNS_SERVER_ADDRESS);
    send_one(&n, NETNS_COLLECTOR, NETNS_SERVER_ADDRESS);
    send_one(&n, NETNS_SERVER, NETNS_COLLECTOR_ADDRESS);
    assert_true(netns_heal(&n, NETNS_SERVER, &dropped, &e));
    // The third datagram was answered with "port unreachable", and that answer was dropped as well.
    assert_int_equal(dropped, 3);

    assert_true(netns_silence(&n, NETNS_COLLECTOR, &e));
    assert_true(netns_heal(&n, NETNS_COLLECTOR, &dropped, &e));
    assert_int_equal(dropped, 0);

    // A side that is not silenced has no counter.
    assert_false(netns_heal(&n, NETNS_SERVER, &dropped, &e));
    netns_fini(&n);
    netns_fini(&n);
}

static void the_namespaces_are_not_ours(void **state)
{
    struct netns n;
    struct err e = {0};
    struct stat ours, server, collector;

    if (!netns_make(&n, &e)) {
        netns_fini(&n);
        skip();
    }
    assert_int_equal(stat("/proc/thread-self/ns/net", &ours), 0);
    assert_int_equal(fstat(n.fds[NETNS_SERVER], &server), 0);
    assert_int_equal(fstat(n.fds[NETNS_COLLECTOR], &collector), 0);
    assert_true(server.st_ino != ours.st_ino && collector.st_ino != ours.st_ino);
    assert_true(server.st_ino != collector.st_ino);
    netns_fini(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_silent_end_drops),
        cmocka_unit_test(the_namespaces_are_not_ours),
    };
    return cmocka_run_group_tests_name("harness.netns", tests, NULL, NULL);
}
