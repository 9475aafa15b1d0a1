#include "cli/replay.h"

#include <limits.h>

#include "os/paths.h"

bool replay_scenario(struct replay *r, const char *folder, struct err *e)
{
    char file[PATH_MAX];
    struct overrides none = {0};

    return path_join(file, folder, "scenario.yaml", e) &&
           scenario_load(&r->scenario, file, &none, e);
}

bool replay_history(struct replay *r, const char *folder, struct err *e)
{
    char file[PATH_MAX];

    return path_join(file, folder, HISTORY_NAME, e) &&
           (history_read(&r->history, file, &r->scenario, e) || err_prefix(e, "%.900s", file));
}

bool replay_judge(struct replay *r, struct err *e)
{
    const struct history_notes *n = &r->history.notes;

    r->input = (struct check_input){
        .load = &r->history.load,
        .reconnects = n->reconnects,
        .interrupted = n->interrupted,
        .gave_up = n->gave_up[0] ? n->gave_up : NULL,
        .reader_stalls = &n->reader_stalls,
        .reader_ns = n->reader_ns,
        .cpu_users = n->cpu_users,
        .others_share = n->others_share,
    };
    return check_ledger(&r->result, &r->history.ledger, &r->input, e);
}

void replay_fini(struct replay *r)
{
    result_fini(&r->result);
    history_fini(&r->history);
    scenario_fini(&r->scenario);
}
