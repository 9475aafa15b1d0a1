// meddles: a column of a token or its account is not as the load and the schema's triggers left it.
//
// The columns are status, email, and the four times of an account, and action, consumed_at and
// expires_at of a token; of a time it only matters whether it is set and, for expires_at, whether
// the token lives for 15 minutes. They are read once, at the end. A token that the plan changes
// while it waits is not judged, unless its account only gets another name. A collector that owns
// one of these columns says so: `collector.writes`.
#include "check/inside.h"

static bool is_own_column(const struct scenario *s, const char *column)
{
    for (char **own = s->collector.writes; own && *own; own++) {
        if (strcmp(*own, column) == 0)
            return true;
    }
    return false;
}

// Returns the first column that differs from what was inserted; NULL: none does.
static const char *changed_column(const struct ledger *l, uint32_t token)
{
    unsigned differs = l->tokens[token].row ^ row_inserted(l->plan->kinds[token]);

    for (size_t i = 0; i < ROW_COLUMNS; i++) {
        if ((differs & row_columns[i].bits) && !is_own_column(l->scenario, row_columns[i].name))
            return row_columns[i].name;
    }
    return NULL;
}

void check_meddles(const struct check *c)
{
    const struct ledger *l = c->l;
    char name[LEDGER_FULL_NAME_MAX];

    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        // A conflict has made no token.
        if (!(l->tokens[token].row & ROW_READ) || !ledger_committed(l, token) ||
            l->plan->kinds[token] == TOKEN_CONFLICT)
            continue;
        // The plan's own change may have been lost with a connection or with the server's data. So
        // what was inserted and what the change makes of it would both be right, and the token is
        // not judged.
        if (ledger_changed_ns(l, token) != CLOCK_NEVER) {
            judged_add(
                c->r, METRIC_MEDDLES, 1, (struct cause){CAUSE_TRANSACTION, l->txn_of[token]});
            continue;
        }
        judged_add(c->r, METRIC_MEDDLES, 1, CAUSE_IS_NONE);
        const char *column = changed_column(l, token);
        if (!column)
            continue;
        ledger_full_name(l, token, name);
        finding_add(c->r, METRIC_MEDDLES, "%s: %s is not as it was inserted", name, column);
    }
}
