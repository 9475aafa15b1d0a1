// mailproof plan SCENARIO: prints the timeline, without running anything.
#include "cli/cli.h"

#include <stdio.h>

#include "check/check.h"
#include "options/locate.h"
#include "plan/plan.h"
#include "report/escape.h"

// Tells beforehand what a run would say little about.
static void foresee(const struct plan *plan, const struct scenario *s, struct buf *out)
{
    buf_printf(out,
        "# time is judged in %.1f s of %.1f s of load at least; each fault excuses it until the "
        "collector must work again (collector.returns_within, starts_within, recovery_limit)\n",
        (double)check_foreseen_ns(s, plan) / 1e9, (double)plan->load_ns / 1e9);
}

// Prints the commands that must fail.
static void print_counterparts(const struct scenario *s, const char *path, struct buf *out)
{
    for (size_t i = 0; i < s->counterpart_count; i++) {
        const struct counterpart *c = &s->counterparts[i];
        buf_append_str(out, "# must break ");
        for (size_t j = 0; c->breaks[j]; j++)
            buf_printf(out, "%s%s", j ? "," : "", c->breaks[j]);
        buf_append_str(out, ": mailproof run ");
        append_word(out, path);
        if (c->collector) {
            buf_append_str(out, " --collector ");
            append_word(out, c->collector);
        }
        for (size_t j = 0; c->sets[j]; j++) {
            buf_append_str(out, " --set ");
            append_word(out, c->sets[j]);
        }
        buf_append_char(out, '\n');
    }
}

static bool print_plan(const char *path, const struct options *o, struct err *e)
{
    // A plan runs nothing, so it takes a scenario of anybody.
    struct overrides sets = options_overrides(o);
    sets.trust = TRUST_ALL;
    struct scenario s = {0};
    struct plan plan = {0};
    struct buf out;

    buf_init(&out, (size_t)4 << 30);
    bool ok = scenario_load(&s, path, &sets, e) && plan_make(&plan, &s, e);
    if (ok && !o->json)
        print_counterparts(&s, path, &out);
    if (ok && !o->json && plan.fault_count > 0)
        foresee(&plan, &s, &out);
    if (ok && !(o->json ? plan_print_json(&plan, &s, &out) : plan_print(&plan, &s, &out)))
        ok = err_set(e, ERR_INTERNAL, "the plan is too long to print");
    if (ok)
        fwrite(out.data, 1, out.len, stdout);
    buf_fini(&out);
    plan_fini(&plan);
    scenario_fini(&s);
    return ok;
}

int cli_plan(const struct options *o)
{
    struct paths paths = {0};
    struct err e = {0};

    bool ok = (o->args[0] && !o->args[1]) ||
              err_set(&e, ERR_USAGE, "plan: name one scenario, or see 'mailproof list'");
    ok = ok && locate_scenarios(&paths, o->args[0], &e);
    for (size_t i = 0; ok && i < paths.count; i++)
        ok = print_plan(paths.items[i], o, &e);
    locate_fini(&paths);
    return ok ? EXIT_OK : cli_fail(&e);
}
