// mailproof load --listen ADDR [--part K/N --of SCENARIO]: a worker for runs on other machines.
#include "cli/cli.h"

#include <stdio.h>

#include "cli/locate.h"
#include "load/remote.h"
#include "plan/plan.h"

static bool take_part(const char *text, struct remote_part *part, struct err *e)
{
    int end = 0;

    if (sscanf(text, "%u/%u%n", &part->part, &part->of, &end) != 2 || text[end] || part->part < 1 ||
        part->part > part->of || part->of > REMOTE_MAX)
        return err_set(e, ERR_USAGE, "--part '%.20s' should be K/N, such as 2/4, N at most %d",
            text, REMOTE_MAX);
    part->part--;
    return true;
}

static bool make_plan(const struct options *o, struct scenario *s, struct plan *plan, struct err *e)
{
    struct overrides sets = options_overrides(o);
    struct paths paths = {0};

    bool ok = locate_scenarios(&paths, o->load.of, e) &&
              (paths.count == 1 || err_set(e, ERR_USAGE, "--of: name one scenario")) &&
              scenario_load(s, paths.items[0], &sets, e) && plan_make(plan, s, e);
    locate_fini(&paths);
    return ok;
}

int cli_load(const struct options *o)
{
    struct scenario s = {0};
    struct plan plan = {0};
    struct remote_part part;
    struct err e = {0};

    bool ok = (o->listen && !o->args[0]) ||
              err_set(&e, ERR_USAGE, "load: say where the run connects: --listen HOST:PORT");
    ok = ok && (!o->load.part == !o->load.of ||
                   err_set(&e, ERR_USAGE, "--part and --of belong together"));
    ok = ok &&
         (!o->load.part || (take_part(o->load.part, &part, &e) && make_plan(o, &s, &plan, &e)));
    ok =
        ok && remote_serve(o->listen, o->load.part ? &plan : NULL, o->load.part ? &part : NULL, &e);
    plan_fini(&plan);
    scenario_fini(&s);
    return ok || e.kind == ERR_INTERRUPTED ? EXIT_OK : cli_fail(&e);
}
