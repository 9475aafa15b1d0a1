// tells_secrets: the collector's log holds the key, or the secret of a token that the database
// still holds at the end.
//
// The run itself looks, because a history keeps no secrets. It looks for the 32 bytes of each as 64
// hex digits in a row, or as 40 letters of base64, with either alphabet and at any place of longer
// data. Of a log of more than 128 MiB it reads the first and the last 64 MiB.
#include "check/inside.h"

void check_secrets(const struct check *c)
{
    const struct ledger *l = c->l;
    char login[NAMES_MAX];

    // An old history: nobody looked, so nothing is judged.
    if (l->logs == LOGS_UNREAD)
        return;
    judged_add(c->r, METRIC_TELLS_SECRETS, 1, CAUSE_IS_NONE);
    if (l->logs == LOGS_HOLD_KEY)
        finding_add(c->r, METRIC_TELLS_SECRETS, "the signing key stands in the collector's log");
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        if (!(l->tokens[token].flags & TOKEN_PRESENT))
            continue;
        judged_add(c->r, METRIC_TELLS_SECRETS, 1, CAUSE_IS_NONE);
        if (!(l->tokens[token].flags & TOKEN_SECRET_LOGGED))
            continue;
        ledger_name(l, token, login);
        finding_add(
            c->r, METRIC_TELLS_SECRETS, "%s: its secret stands in the collector's log", login);
    }
}
