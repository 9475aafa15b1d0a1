#include "report/gather.h"

#include <fts.h>

#include "os/paths.h"

// Orders folders by the name of the run, which begins with its time; runs of one name by path.
static int newest_first(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    int order = strcmp(path_name(*right), path_name(*left));

    return order ? order : strcmp(*left, *right);
}

bool gather_results(struct gathered *g, const char *path, struct err *e)
{
    char *root FREED_BY(memory_free) = memory_copy(path);
    FTSENT *entry;
    bool ok = true;

    *g = (struct gathered){0};
    for (size_t len = strlen(root); len > 1 && root[len - 1] == '/'; len--)
        root[len - 1] = '\0';
    // Follow only `path` itself if it is a link.
    const int how = FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR;
    FTS *tree = fts_open((char *[]){root, NULL}, how, NULL);
    if (!tree)
        ok = err_sys(e, ERR_SYSTEM, "cannot read %.500s", path);
    while (ok && (entry = fts_read(tree))) {
        if (entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR)
            // A folder that cannot be read matters only if it is `path` itself.
            ok = entry->fts_level > 0 || err_sys(e, ERR_USAGE, "cannot read %.500s", path);
        if (entry->fts_info != FTS_D)
            continue;
        bool found = path_has(entry->fts_path, "result.json");
        if (found)
            memory_add_text(&g->folders, &g->count, entry->fts_path);
        // There are no results below a result, and its logs may be many.
        if (found || entry->fts_level == GATHER_LEVELS)
            fts_set(tree, entry, FTS_SKIP);
    }
    if (tree)
        fts_close(tree);
    if (g->count > 1)
        qsort(g->folders, g->count, sizeof *g->folders, newest_first);
    return ok;
}

void gather_fini(struct gathered *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->folders[i]);
    free(g->folders);
    *g = (struct gathered){0};
}
