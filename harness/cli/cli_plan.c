// mailproof plan SCENARIO: prints the scenario's timeline, without running anything.
#include "cli/cli.h"

#include "check/check.h"
#include "options/locate.h"
#include "options/subjects.h"
#include "os/paths.h"
#include "plan/plan.h"
#include "report/escape.h"

// Appends how much of the time a run would judge, so that the user sees beforehand if it is little.
static void append_judged_time(const struct plan *plan, const struct scenario *s, struct buf *out)
{
    buf_printf(out,
        "# time is judged in %.1f s of %.1f s of load at least; each fault excuses it until the "
        "collector must work again (collector.returns_within, starts_within, recovery_limit)\n",
        (double)check_foreseen_ns(s, plan) / 1e9, (double)plan->load_ns / 1e9);
}

// Appends the command of a counterpart's collector. The collectors that are broken on purpose lie
// in the folder tests of a build, where PATH does not lead, so these get their whole path. A name
// with a slash stays as it is. Returns false when a program lies neither there nor in PATH.
static bool append_collector(const char *collector, struct buf *command)
{
    char in_tests[PATH_MAX], built_path[PATH_MAX], path[PATH_MAX];
    size_t len = strcspn(collector, " \t"); // of the program, before its arguments
    struct err ignored;

    snprintf(in_tests, sizeof in_tests, "../tests/%.*s", (int)len, collector);
    const char *name = in_tests + strlen("../tests/");
    bool found = strchr(name, '/') || path_program(path, getenv("PATH"), name);
    bool built =
        !found && path_sibling(built_path, in_tests, &ignored) && realpath(built_path, path);
    buf_printf(command, "%s%s", built ? path : name, collector + len);
    return found || built;
}

static bool sets_key(const struct counterpart *c, const char *key)
{
    for (size_t i = 0; c->sets[i]; i++)
        if (strncmp(c->sets[i], key, strlen(key)) == 0)
            return true;
    return false;
}

// Appends options by which a counterpart is judged like the scenario's own collector: by the same
// promises, and with the same layout. Otherwise its command would count as foreign, and a foreign
// collector promises less.
static void append_as_own(const struct counterpart *c, const struct scenario *own,
    const struct scenario *other, struct buf *out)
{
    if (own->collector.layout == LAYOUT_REFERENCE && other->collector.layout == LAYOUT_FOREIGN &&
        !sets_key(c, "collector.layout="))
        buf_append_str(out, " --set collector.layout=reference");
    if (other->collector.promises == own->collector.promises || sets_key(c, "collector.promises="))
        return;
    // To wait for open transactions is just how some collectors work, so it is always allowed.
    char *promises FREED_BY(memory_free) =
        subjects_promises_override(own->collector.promises | PROMISE_WAITS_FOR_WRITERS);
    buf_append_str(out, " --set ");
    append_word(out, promises);
}

// Prints a command that must break the scenario's invariants, ready to be pasted into a shell.
static bool print_counterpart(const struct counterpart *c, const struct scenario *own,
    const char *path, struct overrides sets, struct buf *out, struct err *e)
{
    struct scenario other FREED_BY(scenario_fini) = {0};
    struct buf collector FREED_BY(buf_fini) = BUF_INIT((size_t)1 << 20);

    sets.collector = c->collector;
    if (!scenario_load(&other, path, &sets, e))
        return false;
    buf_append_str(out, "# must break ");
    for (size_t i = 0; c->breaks[i]; i++)
        buf_printf(out, "%s%s", i ? "," : "", c->breaks[i]);
    bool found = !c->collector || append_collector(c->collector, &collector);
    buf_printf(out, "%s:\nmailproof run ",
        found ? "" : " (a build from source has this collector in build/tests)");
    append_word(out, path);
    if (c->collector) {
        buf_append_str(out, " --collector ");
        append_word(out, buf_str(&collector) ? collector.data : c->collector);
    }
    for (size_t i = 0; c->sets[i]; i++) {
        buf_append_str(out, " --set ");
        append_word(out, c->sets[i]);
    }
    append_as_own(c, own, &other, out);
    buf_append_char(out, '\n');
    return true;
}

static bool print_plan(const char *path, const struct options *o, struct err *e)
{
    // A plan runs nothing, so the scenario may come from anybody.
    struct overrides sets = options_overrides(o);
    sets.trust = TRUST_ALL;
    struct scenario s FREED_BY(scenario_fini) = {0};
    struct plan plan FREED_BY(plan_fini) = {0};
    struct buf out FREED_BY(buf_fini) = BUF_INIT((size_t)4 << 30);

    bool ok = scenario_load(&s, path, &sets, e) && plan_make(&plan, &s, e);
    for (size_t i = 0; ok && !o->json && i < s.counterpart_count; i++)
        ok = print_counterpart(&s.counterparts[i], &s, path, sets, &out, e);
    if (ok && !o->json && plan.fault_count > 0)
        append_judged_time(&plan, &s, &out);
    if (ok && !(o->json ? plan_print_json(&plan, &s, &out) : plan_print(&plan, &s, &out)))
        ok = err_set(e, ERR_INTERNAL, "the plan is too long to print");
    if (ok)
        fwrite(out.data, 1, out.len, stdout);
    return ok;
}

int cli_plan(const struct options *o)
{
    struct paths paths FREED_BY(locate_fini) = {0};
    struct err e = {0};

    bool ok = (o->args[0] && !o->args[1]) ||
              err_set(&e, ERR_USAGE, "plan: name one scenario, or see 'mailproof list'");
    ok = ok && locate_scenarios(&paths, o->args[0], &e);
    for (size_t i = 0; ok && i < paths.count; i++)
        ok = print_plan(paths.items[i], o, &e);
    return ok ? EXIT_OK : cli_fail(&e);
}
