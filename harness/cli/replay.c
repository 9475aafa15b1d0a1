#include "cli/replay.h"

#include <limits.h>

#include "os/paths.h"
#include "report/folder.h"

bool replay_scenario(struct replay *r, const char *folder, struct err *e)
{
    char file[PATH_MAX];
    struct overrides none = {0};

    return folder_find(file, folder, "scenario.yaml", e) &&
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
    r->input = check_input_of(&r->history);
    return check_ledger(&r->result, &r->history.ledger, &r->input, e);
}

void replay_fini(struct replay *r)
{
    result_fini(&r->result);
    history_fini(&r->history);
    scenario_fini(&r->scenario);
}
