// Simulated collectors: good ones are never convicted; one with a defect is convicted of just that,
// whenever the defect had an occasion.
//
// usage: harness_simulated_test [histories of good collectors]
#include "base/unit.h"
#include "check/inside.h"
#include "check/simulated.h"

enum { DEFECT_HISTORIES = 2000 };

static uint64_t histories = 20000;

static void judge(struct sim *m)
{
    struct result *r = &m->h.result;

    sim_history_settle(&m->h);
    r->recovery_ms = memory_zeroed(m->h.ledger.fault_count, sizeof *r->recovery_ms);
    check_findings(r, &m->h.ledger, &m->h.input);
}

static void expect_only(const struct sim *m, uint64_t seed, const struct sim_setting *how)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        uint64_t count = m->h.result.findings[id].count;
        bool may = id == how->breaks;
        for (size_t i = 0; i < sizeof how->may / sizeof *how->may; i++)
            may = may || id == how->may[i];
        if (metrics[id].invariant && !may && count > 0)
            fail_msg("history %llu of defect %d: %s found %llu times: %s", (unsigned long long)seed,
                (int)m->defect, metrics[id].name, (unsigned long long)count,
                m->h.result.findings[id].examples[0]);
    }
}

// --- the tests --------------------------------------------------------------------

static struct sim sim;

static void good_collectors(void **state)
{
    double judged_behind = 0, judged_idle = 0;

    for (uint64_t seed = 0; seed < histories; seed++) {
        simulate(&sim, SIM_NONE, seed);
        judge(&sim);
        expect_only(&sim, seed, &sim_settings[SIM_NONE]);
        judged_behind += sim.h.result.judged[METRIC_FALLS_BEHIND].of;
        judged_idle += sim.h.result.judged[METRIC_IDLE_INSTANCE].of;
        sim_history_fini(&sim.h);
    }
    // A defect can be found only where something was judged. The sums are in seconds.
    assert_true(judged_behind > (double)histories / 2);
    assert_true(judged_idle > (double)histories / 10);
}

static void convict(const struct sim *m, uint64_t seed)
{
    const struct sim_setting *how = &sim_settings[m->defect];
    uint64_t found = m->h.result.findings[how->breaks].count;

    if (how->exactly ? found != m->occasions : m->occasions > 0 && found == 0)
        fail_msg("history %llu of defect %d: %s found %llu times, %llu occasions: %s",
            (unsigned long long)seed, (int)m->defect, metrics[how->breaks].name,
            (unsigned long long)found, (unsigned long long)m->occasions,
            m->h.result.findings[how->breaks].examples[0]);
    expect_only(m, seed, how);
}

static void each_defect(void **state)
{
    for (enum sim_defect d = SIM_NONE + 1; d <= SIM_NO_LIMIT; d++) {
        uint64_t with = 0;
        for (uint64_t seed = 0; seed < DEFECT_HISTORIES; seed++) {
            simulate(&sim, d, seed);
            judge(&sim);
            convict(&sim, seed);
            with += sim.occasions > 0;
            sim_history_fini(&sim.h);
        }
        // A defect without an occasion proves nothing.
        if (with < DEFECT_HISTORIES / 20)
            fail_msg("defect %d had an occasion in %llu histories only", (int)d,
                (unsigned long long)with);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_collectors),
        cmocka_unit_test(each_defect),
    };

    if (argc > 1)
        histories = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
