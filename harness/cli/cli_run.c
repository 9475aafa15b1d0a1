// mailproof run SCENARIO...: finds the scenarios, checks them, and has them run (run_suite.c).
#include "cli/cli.h"

#include "options/locate.h"
#include "options/options.h"
#include "options/subjects.h"
#include "plan/plan.h"
#include "postgres/migrate.h"
#include "run/cuts/cuts.h"
#include "scenario/gone.h"

// Checks the limits that show only in the plan (the number of tokens, overlapping faults), and that
// the scenario's migration exists.
static bool is_possible(const struct scenario *s, const char *path, struct err *e)
{
    struct plan plan FREED_BY(plan_fini) = {0};
    // The error gets the path as a prefix, because such limits belong to no line of the file.
    return (migrate_exists(s->postgres.schema, e) && plan_make(&plan, s, e)) ||
           err_prefix(e, "%s", path);
}

// Loads and checks the scenarios that have the tag of --tag; without --tag all of them. ERR_USAGE
// when none is left.
static bool load_all(struct scenario *scenarios, size_t *count, const struct paths *paths,
    const struct options *o, const struct overrides *sets, struct err *e)
{
    struct tag_search search;

    locate_tag_init(&search, o->tag);
    for (size_t i = 0; i < paths->count; i++) {
        struct scenario *s = &scenarios[*count];
        if (!scenario_load(s, paths->items[i], sets, e))
            return false;
        subjects_adapt(s);
        bool wanted = locate_tagged(&search, s);
        bool ok = !wanted || is_possible(s, paths->items[i], e);
        if (ok && wanted)
            (*count)++;
        else
            scenario_fini(s);
        if (!ok)
            return false;
    }
    return *count > 0 || locate_no_tag(&search, e);
}

// Refuses addresses in --workers, which an earlier version took. As a command, an address would
// fail with a message that does not help.
static bool workers_possible(const struct options *o, struct err *e)
{
    const char *url = o->run.workers ? strstr(o->run.workers, "ssh://") : NULL;
    char now[GONE_TEXT_MAX];

    return !url || err_set(e, ERR_USAGE, "--workers: '%s' is no command%s", url,
                       gone_text("run", "ssh://HOST", now));
}

int cli_run(const struct options *o)
{
    struct paths paths FREED_BY(locate_fini) = {0};
    struct subject_sets sets FREED_BY(subjects_sets_fini) = {0};
    struct err e = {0};
    size_t count = 0;

    // Everything that can be refused is refused before the first run: hours later nobody may be
    // there to correct the command.
    bool ok = (*o->args ||
                  err_set(&e, ERR_USAGE, "run: name a scenario, or see 'mailproof list'%s",
                      o->tag ? "; --tag chooses among those named: run scenarios --tag …" : "")) &&
              workers_possible(o, &e) && cuts_possible(o, &e);
    for (char *const *arg = o->args; ok && *arg; arg++)
        ok = locate_scenarios(&paths, *arg, &e);
    struct scenario *scenarios FREED_BY(memory_free) =
        memory_zeroed(paths.count, sizeof *scenarios);
    ok = ok && subjects_sets(&sets, o, &e) &&
         load_all(scenarios, &count, &paths, o, &sets.overrides, &e) &&
         skips_check(scenarios, count, o, &e) && cuts_fit(scenarios, count, o, &e);
    int code = ok ? run_suite(scenarios, count, o) : cli_fail(&e);
    for (size_t i = 0; i < count; i++)
        scenario_fini(&scenarios[i]);
    return code;
}
