// mailproof slopes RESULT...: shows what grew during a long run.
#include <stdio.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "report/folder.h"
#include "report/slopes.h"

#define CSV_MAX (256u << 20)

static bool tell(const char *folder, struct err *e)
{
    struct observed o = {0};
    struct slopes s;
    struct buf csv, text;
    char path[PATH_MAX];

    buf_init(&csv, CSV_MAX);
    buf_init(&text, 1u << 16);
    bool ok = folder_find(path, folder, "intervals.csv", e) && file_read(path, &csv, e) &&
              (buf_str(&csv) || err_memory(e)) && observed_read(&o, 0, folder, e) &&
              (slopes_take(&s, &o, csv.data, e) || err_prefix(e, "%.500s", folder)) &&
              (slopes_print(&s, &text) || err_memory(e));
    if (ok)
        printf("%s\n\n%s", folder, text.data);
    observed_fini(&o);
    buf_fini(&csv);
    buf_fini(&text);
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
        if (!tell(o->args[i], &e))
            return cli_fail(&e);
    }
    return EXIT_OK;
}
