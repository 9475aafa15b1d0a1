#include "base/unit.h"
#include "os/cluster_net.h"
#include "os/process.h"

static void send_one(int net, const char *to)
{
    char device[60], text[200];
    struct err e = {0};
    struct process_spec spec = PROCESS_SPEC_INIT;

    snprintf(device, sizeof device, "echo >/dev/udp/%s/9", to);
    spec.argv = (const char *const[]){"bash", "-c", device, NULL};
    spec.net = net;
    if (!process_collect(&spec, text, sizeof text, &e))
        fail_msg("%s", e.text);
}

static void only_the_member_that_is_cut_off_is_silent(void **state)
{
    char cut_off[CLUSTER_NET_ADDRESS], other[CLUSTER_NET_ADDRESS];
    struct cluster_net l;
    struct err e = {0};
    uint64_t dropped = 99;

    if (!cluster_net_make(&l, &e)) {
        print_message("skipped: %s\n", e.text);
        cluster_net_fini(&l);
        skip();
    }
    cluster_net_address(0, cut_off);
    cluster_net_address(1, other);
    assert_true(cluster_net_cut(&l, 0, &e));
    send_one(l.middle, cut_off);
    send_one(l.members[1], cut_off);
    send_one(l.members[0], CLUSTER_NET_MIDDLE_ADDRESS);
    send_one(l.members[0], other);
    send_one(l.members[1], CLUSTER_NET_MIDDLE_ADDRESS);
    send_one(l.middle, other);
    assert_true(cluster_net_heal(&l, 0, &dropped, &e));
    // The kernel may have added a multicast report of its own.
    assert_in_range(dropped, 4, 6);

    assert_true(cluster_net_cut(&l, 0, &e));
    assert_true(cluster_net_heal(&l, 0, &dropped, &e));
    assert_in_range(dropped, 0, 2);
    cluster_net_fini(&l);
    cluster_net_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_member_that_is_cut_off_is_silent),
    };

    return cmocka_run_group_tests_name("lan", tests, NULL, NULL);
}
