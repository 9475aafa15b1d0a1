// Invariants of single tokens.
#include "check/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "plan/names.h"

static const char *outcome_name(const struct ledger *l, uint32_t token)
{
    switch (ledger_txn(l, token)->outcome) {
    case TXN_NOT_SENT:
        return "never sent";
    case TXN_COMMITTED:
        return "committed";
    case TXN_NOT_NEEDED:
        return "not needed";
    case TXN_ROLLED_BACK:
        return "rolled back";
    case TXN_UNKNOWN:
        return ledger_committed(l, token) ? "committed, unacknowledged" : "not committed";
    }
    return "?";
}

// A token's life in one line: the example that every finding about it shows.
static void add(struct result *r, const struct ledger *l, enum metric_id id, uint32_t token)
{
    char email[NAMES_MAX], read[48] = "not delivered";
    const struct txn_record *txn = ledger_txn(l, token);
    int64_t read_ns = ledger_read_ns(l, token);

    // Ten million cases need not be described to be counted.
    if (r->findings[id].count >= FINDING_EXAMPLES) {
        r->findings[id].count++;
        return;
    }
    names_email(email, token);
    if (read_ns != CLOCK_NEVER)
        snprintf(read, sizeof read, "read at %.3f s", ledger_seconds(l, read_ns));
    finding_add(r, id, "%s (%s): intended at %.3f s, sent %.3f s, %s %.3f s, %s", email,
        token_kind_name(l->plan->kinds[token]), ledger_seconds(l, ledger_intended_ns(l, token)),
        ledger_seconds(l, txn->sent_ns), outcome_name(l, token), ledger_seconds(l, txn->ended_ns),
        read);
    finding_add_faults(r, id, l, txn->sent_ns ? txn->sent_ns : ledger_intended_ns(l, token));
}

// How much fault-free time a token must have had for its absence to be a loss.
static int64_t enough_ns(const struct result *r, const struct ledger *l)
{
    const int64_t least_ns = 2 * NS_PER_S;
    int64_t waits_ns = 2 * l->scenario->collector.batch_timeout_ns + r->slack_ns;

    return waits_ns > least_ns ? waits_ns : least_ns;
}

// Eligible long enough: a token that expired in an outage is no loss of the
// collector's. Without an expiry before the end of the drain it always was.
static bool eligible_long_enough(const struct result *r, const struct ledger *l, uint32_t token)
{
    int64_t expires_ns = ledger_expires_ns(l, token);

    if (!(l->tokens[token].flags & TOKEN_PRESENT) || expires_ns >= l->drain_end_ns)
        return true;
    return check_fault_free_ns(l, ledger_txn(l, token)->ended_ns, expires_ns) >= enough_ns(r, l);
}

// Of an unknown outcome it is none when the database has it, or had it: what was
// read before the server lost data may be among that.
static bool is_phantom(const struct ledger *l, uint32_t token)
{
    if (l->tokens[token].deliveries == 0 || ledger_committed(l, token))
        return false;
    return ledger_txn(l, token)->outcome != TXN_UNKNOWN ||
           !((l->tokens[token].flags & TOKEN_PRESENT) ||
               check_server_forgot(l, ledger_read_ns(l, token), l->drain_end_ns));
}

static void count_outcome(struct result *r, const struct ledger *l, uint32_t token)
{
    switch (ledger_txn(l, token)->outcome) {
    case TXN_NOT_SENT:
        r->values[METRIC_GENERATOR_DROPPED]++;
        return;
    case TXN_NOT_NEEDED:
        return;
    case TXN_COMMITTED:
        r->values[METRIC_COMMITTED]++;
        break;
    case TXN_ROLLED_BACK:
        r->values[METRIC_ROLLED_BACK]++;
        break;
    case TXN_UNKNOWN:
        r->values[METRIC_UNKNOWN]++;
        if (l->tokens[token].deliveries > 0)
            r->values[METRIC_RECOVERED]++;
        break;
    }
    r->values[METRIC_ATTEMPTED]++;
}

static void check_committed(struct result *r, const struct ledger *l, uint32_t token)
{
    const struct ledger_token *t = &l->tokens[token];
    enum token_kind kind = l->plan->kinds[token];

    judged_add(r, METRIC_VANISHED, 1, CAUSE_IS_NONE);
    if (!(t->flags & TOKEN_PRESENT)) {
        add(r, l, METRIC_VANISHED, token);
    } else if (token_kind_unsendable(kind)) {
        r->values[METRIC_UNDELIVERABLE]++;
        bool looked = l->scenario->collector.layout == LAYOUT_REFERENCE;
        if (looked)
            judged_add(r, METRIC_LOST, 1, CAUSE_IS_NONE);
        if (looked && !(t->flags & TOKEN_DEAD_LETTER) && !(t->flags & TOKEN_NAMED))
            add(r, l, METRIC_LOST, token);
    } else if (token_kind_ineligible(kind)) {
        r->values[METRIC_PASSED] += t->deliveries == 0;
    } else {
        if (!eligible_long_enough(r, l, token)) {
            r->values[METRIC_EXPIRED_UNSENT] += t->deliveries == 0;
            judged_add(r, METRIC_LOST, 1,
                check_disturbed(l, ledger_txn(l, token)->ended_ns, ledger_expires_ns(l, token)));
            return;
        }
        judged_add(r, METRIC_LOST, 1, CAUSE_IS_NONE);
        r->values[METRIC_EXPECTED]++;
        if (t->deliveries == 0 && !(t->flags & TOKEN_NAMED))
            add(r, l, METRIC_LOST, token);
    }
}

static void check_delivered(struct result *r, const struct ledger *l, uint32_t token)
{
    const struct ledger_token *t = &l->tokens[token];
    int64_t commit_ns = ledger_txn(l, token)->commit_ns;

    if (t->deliveries == 0)
        return;
    r->values[METRIC_DELIVERED]++;
    judged_add(r, METRIC_PHANTOM, 1, CAUSE_IS_NONE);
    judged_add(r, METRIC_PREMATURE, 1, CAUSE_IS_NONE);
    judged_add(r, METRIC_INELIGIBLE, 1, CAUSE_IS_NONE);
    if (is_phantom(l, token))
        add(r, l, METRIC_PHANTOM, token);
    else if (commit_ns == 0 || ledger_read_ns(l, token) < commit_ns)
        add(r, l, METRIC_PREMATURE, token);
    if (token_kind_ineligible(l->plan->kinds[token]))
        add(r, l, METRIC_INELIGIBLE, token);
}

void check_tokens(struct result *r, const struct ledger *l)
{
    static const enum metric_id counted[] = {METRIC_ATTEMPTED, METRIC_COMMITTED, METRIC_ROLLED_BACK,
        METRIC_UNKNOWN, METRIC_EXPECTED, METRIC_UNDELIVERABLE, METRIC_DELIVERED, METRIC_RECOVERED,
        METRIC_EXPIRED_UNSENT, METRIC_PASSED, METRIC_GENERATOR_DROPPED};

    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        r->values[counted[i]] = 0;
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        count_outcome(r, l, token);
        if (ledger_committed(l, token))
            check_committed(r, l, token);
        check_delivered(r, l, token);
    }
}

bool check_repeats(struct result *r, const struct ledger *l, struct err *e)
{
    const struct subject_log *log = l->log;
    // When each token was last read; 0: not yet.
    int64_t *read_ns = calloc(l->plan->token_count + 1, sizeof *read_ns);

    if (!read_ns)
        return err_set(e, ERR_INTERNAL, "out of memory for the checks of repeats");
    r->values[METRIC_REDELIVERED] = 0;
    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        if (d->flags || d->token >= l->plan->token_count)
            continue;
        int64_t before_ns = read_ns[d->token];
        read_ns[d->token] = log->lines[d->line].read_ns;
        judged_add(r, METRIC_DUPLICATED, 1, CAUSE_IS_NONE);
        if (before_ns && check_server_forgot(l, before_ns, read_ns[d->token]))
            r->values[METRIC_REDELIVERED]++;
        else if (before_ns)
            add(r, l, METRIC_DUPLICATED, d->token);
    }
    free(read_ns);
    return true;
}
