#include "report/rejudge.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "os/paths.h"
#include "plan/names.h"
#include "report/folder.h"

bool rejudge_scenario(struct rejudge *r, const char *folder, struct err *e)
{
    char file[PATH_MAX];
    struct overrides none = {0};

    return folder_find(file, folder, "scenario.yaml", e) &&
           scenario_load(&r->scenario, file, &none, e);
}

bool rejudge_history(struct rejudge *r, const char *folder, struct err *e)
{
    char file[PATH_MAX];

    return path_join(file, folder, HISTORY_NAME, e) &&
           (history_read(&r->history, file, &r->scenario, e) || err_prefix(e, "%.900s", file));
}

bool rejudge_judge(struct rejudge *r, struct err *e)
{
    r->input = check_input_of(&r->history);
    return check_ledger(&r->result, &r->history.ledger, &r->input, e);
}

bool rejudge_token(const struct ledger *l, const char *text, uint32_t *token, struct err *e)
{
    uint32_t segment;
    char *end;

    // The account's login is the same token's as its name in messages, which has no segment.
    if (!names_token(text, strcspn(text, "@"), token, &segment)) {
        unsigned long number = strtoul(text, &end, 10);
        *token = *end || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    }
    return *token < l->plan->token_count ||
           err_set(e, ERR_USAGE, "--token: '%.40s' is not one of the %zu tokens (t0000000 …)", text,
               l->plan->token_count);
}

void rejudge_fini(struct rejudge *r)
{
    result_fini(&r->result);
    history_fini(&r->history);
    scenario_fini(&r->scenario);
}
