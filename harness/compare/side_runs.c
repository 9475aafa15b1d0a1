#include "compare/side_runs.h"

#include <string.h>

#include "report/gather.h"

static bool add_run_folder(struct side *s, const char *folder, struct err *e)
{
    struct stored run;

    if (!stored_read(&run, folder, e))
        return false;
    s->interrupted += run.interrupted;
    return run.interrupted || side_add(s, &run) || err_memory(e);
}

bool collect_runs(struct side *s, const char *path, struct err *e)
{
    struct gathered g;
    bool ok = gather_results(&g, path, e) || err_prefix(e, "compare");

    for (size_t i = 0; ok && i < g.count; i++)
        ok = add_run_folder(s, g.folders[i], e);
    if (ok && g.count == 0)
        ok = err_set(e, ERR_USAGE, "compare: %.500s holds no result of a run", path);
    gather_fini(&g);
    return ok;
}

bool collect_scenario(struct side *s, const struct side *all, const char *scenario, struct err *e)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->runs[i].scenario, scenario) == 0 && !side_add(s, &all->runs[i]))
            return err_memory(e);
    }
    return true;
}
