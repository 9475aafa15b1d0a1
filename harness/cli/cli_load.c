// mailproof load -: a worker of a run, which has started it and speaks to it over its standard
// streams.
#include "cli/cli.h"

#include <string.h>

#include "load/remote.h"

int cli_load(const struct options *o)
{
    struct err e = {0};

    bool ok = (o->args[0] && strcmp(o->args[0], "-") == 0 && !o->args[1]) ||
              err_set(&e, ERR_USAGE,
                  "load: a run starts its workers by --workers 'ssh HOST mailproof load -'");
    ok = ok && remote_serve(&e);
    // The run has seen by itself that they lost each other, and shares our standard error.
    return ok || e.kind == ERR_INTERRUPTED || e.kind == ERR_CONNECTION ? EXIT_OK : cli_fail(&e);
}
