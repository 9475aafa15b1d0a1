#include "compare/collect.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

static bool add_folder(struct side *s, const char *folder, struct err *e)
{
    struct stored run;

    return stored_read(&run, folder, e) &&
           (side_add(s, &run) || err_set(e, ERR_INTERNAL, "out of memory"));
}

bool collect_runs(struct side *s, const char *path, struct err *e)
{
    char *const roots[] = {realpath(path, NULL), NULL};
    size_t before = s->count;
    FTSENT *entry;
    bool ok = true;

    if (!roots[0])
        return err_sys(e, ERR_USAGE, "compare: cannot read %.500s", path);
    // Links are not followed, so that `latest` does not count twice.
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    while (ok && tree && (entry = fts_read(tree))) {
        if (entry->fts_info != FTS_F || strcmp(entry->fts_name, "result.json") != 0)
            continue;
        entry->fts_path[entry->fts_pathlen - strlen("/result.json")] = '\0';
        ok = add_folder(s, entry->fts_path, e);
    }
    if (tree)
        fts_close(tree);
    free(roots[0]);
    return ok && (s->count > before ||
                     err_set(e, ERR_USAGE, "compare: %.500s holds no result of a run", path));
}

bool collect_scenario(struct side *s, const struct side *all, const char *scenario, struct err *e)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->runs[i].scenario, scenario) == 0 && !side_add(s, &all->runs[i]))
            return err_set(e, ERR_INTERNAL, "out of memory");
    }
    return true;
}
