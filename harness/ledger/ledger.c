#include "ledger/ledger.h"

#include <stdlib.h>

#include "base/clock.h"

bool ledger_init(struct ledger *l, const struct scenario *s, const struct plan *p, struct err *e)
{
    *l = (struct ledger){.scenario = s, .plan = p};
    l->tokens = calloc(p->token_count + 1, sizeof *l->tokens);
    l->txn_of = calloc(p->token_count + 1, sizeof *l->txn_of);
    if (!l->tokens || !l->txn_of) {
        ledger_fini(l);
        return err_set(e, ERR_INTERNAL, "out of memory for %zu tokens", p->token_count);
    }
    for (size_t i = 0; i < p->txn_count; i++) {
        for (uint32_t t = 0; t < p->txns[i].rows; t++)
            l->txn_of[p->txns[i].first_token + t] = (uint32_t)i;
    }
    return true;
}

void ledger_fini(struct ledger *l)
{
    free(l->tokens);
    free(l->txn_of);
    *l = (struct ledger){0};
}

bool ledger_committed(const struct ledger *l, uint32_t token)
{
    switch (ledger_txn(l, token)->outcome) {
    case TXN_COMMITTED:
        return true;
    case TXN_UNKNOWN:
        return l->tokens[token].flags & TOKEN_SETTLED;
    default:
        return false;
    }
}

int64_t ledger_intended_ns(const struct ledger *l, uint32_t token)
{
    return l->start_ns + l->plan->txns[l->txn_of[token]].at_ns;
}

int64_t ledger_read_ns(const struct ledger *l, uint32_t token)
{
    if (l->tokens[token].deliveries == 0)
        return CLOCK_NEVER;
    return l->log->lines[l->tokens[token].first_line].read_ns;
}

int64_t ledger_expires_ns(const struct ledger *l, uint32_t token)
{
    return l->start_ns + l->tokens[token].expires_at_s * NS_PER_S;
}
