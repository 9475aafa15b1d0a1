// mailproof slopes RESULT...: shows what grew during a long run, or from segment to segment of a
// soak.
#include "cli/cli.h"
#include "os/paths.h"
#include "report/folder.h"
#include "report/gather.h"
#include "report/slopes.h"

#define CSV_MAX (256u << 20)

// Reads the figures of a result folder. The caller frees both, also on failure.
static bool read_result(struct observed *o, struct buf *csv, const char *folder, struct err *e)
{
    char path[PATH_MAX];

    return folder_find(path, folder, "intervals.csv", e) && path_read(path, csv, ERR_USAGE, e) &&
           observed_read(o, 0, folder, e);
}

static bool take_run(struct slopes *s, const char *folder, struct err *e)
{
    struct observed o FREED_BY(observed_fini) = {0};
    struct buf csv FREED_BY(buf_fini) = BUF_INIT(CSV_MAX);

    return read_result(&o, &csv, folder, e) &&
           (slopes_take(s, &o, csv.data, e) || err_prefix(e, "%.500s", folder));
}

static bool take_segment(struct slopes_segment *segment, const char *folder, struct err *e)
{
    struct observed o FREED_BY(observed_fini) = {0};
    struct buf csv FREED_BY(buf_fini) = BUF_INIT(CSV_MAX);

    bool ok = read_result(&o, &csv, folder, e);
    if (ok)
        slopes_segment(segment, &o, csv.data);
    return ok;
}

// Takes all results below a folder as the segments of one soak.
static bool take_soak(struct slopes *s, const char *dir, struct err *e)
{
    struct gathered g FREED_BY(gather_fini) = {0};
    struct slopes_segment *segments FREED_BY(memory_free) = NULL;

    bool ok = gather_results(&g, dir, e) &&
              (g.count > 0 ||
                  err_set(e, ERR_USAGE, "%.500s is not a result folder, and holds none", dir));
    if (ok)
        segments = memory_zeroed(g.count, sizeof *segments);
    for (size_t i = 0; ok && i < g.count; i++)
        ok = take_segment(&segments[i], g.folders[i], e);
    if (ok) // by at_ns, the first member
        qsort(segments, g.count, sizeof *segments, clock_compare);
    return ok && (slopes_of_soak(s, segments, g.count, e) || err_prefix(e, "%.500s", dir));
}

// Prints what grew in one run or, if the folder has no run itself, in the soak below it.
static bool tell_slopes(const char *folder, struct err *e)
{
    struct slopes s;
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1u << 16);

    if (!(path_has(folder, "scenario.yaml") ? take_run : take_soak)(&s, folder, e))
        return false;
    bool ok = slopes_print(&s, &text) || err_set(e, ERR_INTERNAL, "the table is too long");
    if (ok)
        printf("%s\n\n%s", folder, text.data);
    return ok;
}

int cli_slopes(const struct options *o)
{
    struct err e = {0};

    if (!o->args[0]) {
        err_set(&e, ERR_USAGE, "slopes: name a result folder");
        return cli_fail(&e);
    }
    for (size_t i = 0; o->args[i]; i++) {
        if (!tell_slopes(o->args[i], &e))
            return cli_fail(&e);
    }
    return EXIT_OK;
}
