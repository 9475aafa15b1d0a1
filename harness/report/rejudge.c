#include "report/rejudge.h"

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

void rejudge_judge(struct rejudge *r)
{
    r->input = check_input_of(&r->history);
    check_ledger(&r->result, &r->history.ledger, &r->input);
}

bool rejudge_token(const struct ledger *l, const char *text, uint32_t *token, struct err *e)
{
    static const char job[] = "job ";
    const char *digits = strncmp(text, job, strlen(job)) == 0 ? text + strlen(job) : text;
    char first[NAMES_MAX];
    uint32_t ignored;
    char *end;

    // In a soak, a login may end with the number of a segment. The run is one segment, so the
    // number is ignored.
    if (!names_token(text, strcspn(text, "@"), token, &ignored)) {
        // UINT32_MAX stands for a text that names no token.
        unsigned long number = strtoul(digits, &end, 10);
        *token = end == digits || *end || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    }
    if (*token < l->plan->token_count)
        return true;
    ledger_name(l, 0, first);
    return err_set(e, ERR_USAGE, "--token: '%.40s' is not one of the %zu %s (%s …)", text,
        l->plan->token_count, scenario_is_queue(l->scenario) ? "jobs" : "tokens", first);
}

void rejudge_fini(struct rejudge *r)
{
    result_fini(&r->result);
    history_fini(&r->history);
    scenario_fini(&r->scenario);
}
