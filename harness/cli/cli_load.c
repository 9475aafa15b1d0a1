// mailproof load -: sends a part of a run's load. The run has started this process as a worker, and
// speaks to it over its standard streams.
#include "cli/cli.h"

#include "load/remote.h"

int cli_load(const struct options *o)
{
    struct err e = {0};

    bool ok = (o->args[0] && strcmp(o->args[0], "-") == 0 && !o->args[1]) ||
              err_set(&e, ERR_USAGE,
                  "load: a run starts its workers by --workers 'ssh HOST mailproof load -'");
    ok = ok && remote_serve(&e);
    // A lost connection is no error here: the run notices the loss itself, and prints it on the
    // standard error that both share.
    return ok || e.kind == ERR_INTERRUPTED || e.kind == ERR_CONNECTION ? EXIT_OK : cli_fail(&e);
}
