#include "plan/plan_fixture.h"

static void the_seed_decides_every_byte(void **state)
{
    for (int json = 0; json < 2; json++) {
        struct fixture *f = new_fixture(200, 5 * NS_PER_S, ARRIVALS_POISSON);
        struct buf one, same, other;

        f->load[0].recovery = 0.3;
        f->load[0].rollback = 0.1;
        print(f, &one, json);
        print(f, &same, json);
        assert_int_equal(one.len, same.len);
        assert_memory_equal(one.data, same.data, one.len);
        f->s.seed = 2;
        print(f, &other, json);
        assert_true(one.len != other.len || memcmp(one.data, other.data, one.len) != 0);
        buf_fini(&one);
        buf_fini(&same);
        buf_fini(&other);
        drop(f);
    }
}

static void prints_text(void **state)
{
    struct fixture *f = new_fixture(2, NS_PER_S, ARRIVALS_CONSTANT);
    struct buf out;

    f->load[0].rollback = 1;
    f->load[1] = f->load[0];
    f->load[1].name = "two";
    f->load[1].rows_from = f->load[1].rows_to = 2;
    f->load[1].rollback = 0;
    f->load[1].hold_share = 1;
    f->load[1].hold_for_ns = 50 * NS_PER_MS;
    f->s.load_count = 2;
    f->faults[0] = (struct fault_spec){
        .verb = verb_find("kill-server"), .at_ns = 750 * NS_PER_MS, .for_ns = NS_PER_S};
    f->faults[1] = (struct fault_spec){
        .verb = verb_find("cancel-query"), .at_ns = 900 * NS_PER_MS, .target = TARGET_LOAD};
    f->faults[2] = (struct fault_spec){
        .verb = verb_find("kill-collector"), .at_ns = 1900 * NS_PER_MS, .instance = 1};
    f->s.fault_count = 3;
    print(f, &out, false);
    assert_string_equal(buf_str(&out),
        "# x, seed 1: 4 tokens in 3 transactions, 3 faults, 2 s of load\n"
        "    0.250000  insert  txn 0  token 0  activation  rolled back\n"
        "    0.750000  fault   kill-server  until 1.750000\n"
        "    0.750000  insert  txn 1  token 1  activation  rolled back\n"
        "    0.900000  fault   cancel-query  target load\n"
        "    1.500000  insert  txn 2  token 2-3  2 activation  held 0.05 s\n"
        "    1.900000  fault   kill-collector  instance 1\n");
    buf_fini(&out);
    print(f, &out, true);
    assert_string_equal(buf_str(&out),
        "{\"scenario\": \"x\", \"seed\": 1, \"tokens\": 4, \"transactions\": 3, \"faults\": 3, "
        "\"load_ns\": 2000000000, \"end_ns\": 2000000000, \"timeline\": [\n"
        "  {\"at_ns\":250000000,\"what\":\"insert\",\"txn\":0,\"phase\":\"one\",\"first_token\":0,"
        "\"tokens\":[\"activation\"],\"held_ns\":0,\"rollback\":true},\n"
        "  {\"at_ns\":750000000,\"what\":\"fault\",\"do\":\"kill-server\",\"end_ns\":1750000000},\n"
        "  {\"at_ns\":750000000,\"what\":\"insert\",\"txn\":1,\"phase\":\"one\",\"first_token\":1,"
        "\"tokens\":[\"activation\"],\"held_ns\":0,\"rollback\":true},\n"
        "  {\"at_ns\":900000000,\"what\":\"fault\",\"do\":\"cancel-query\",\"end_ns\":900000000,"
        "\"target\":\"load\"},\n"
        "  {\"at_ns\":1500000000,\"what\":\"insert\",\"txn\":2,\"phase\":\"two\",\"first_token\":2,"
        "\"tokens\":[\"activation\",\"activation\"],\"held_ns\":50000000,\"rollback\":false},\n"
        "  {\"at_ns\":1900000000,\"what\":\"fault\",\"do\":\"kill-collector\","
        "\"end_ns\":1900000000,\"instance\":1}\n"
        "]}\n");
    buf_fini(&out);
    drop(f);
}

// A closed loop may send fewer inserts than are planned.
static void a_closed_loop_has_at_most_what_is_planned(void **state)
{
    struct fixture *f = new_fixture(0, NS_PER_S, ARRIVALS_CONSTANT);
    struct buf out;

    f->load[0].closed = true;
    print(f, &out, false);
    assert_string_equal(buf_str(&out),
        "# x, seed 1: at most 50000 tokens in 50000 transactions, 0 faults, 1 s of load\n"
        "    0.000000  insert  txn 0  token 0  activation  and on, as fast as 8 connections can, "
        "for 1 s\n");
    buf_fini(&out);
    drop(f);
}

static void a_full_buffer_is_noticed(void **state)
{
    struct fixture *f = new_fixture(1000, NS_PER_S, ARRIVALS_CONSTANT);
    struct buf out;

    make(f);
    for (size_t max = 0; max < 2000; max += 37) {
        buf_init(&out, max);
        assert_false(plan_print(&f->p, &f->s, &out));
        buf_clear(&out);
        assert_false(plan_print_json(&f->p, &f->s, &out));
        buf_fini(&out);
    }
    drop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_decides_every_byte),
        cmocka_unit_test(prints_text),
        cmocka_unit_test(a_closed_loop_has_at_most_what_is_planned),
        cmocka_unit_test(a_full_buffer_is_noticed),
    };
    return cmocka_run_group_tests_name("harness.plan-print", tests, NULL, NULL);
}
