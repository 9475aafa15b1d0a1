// Invariants of single tokens.
//
// lost: a committed token counts when it is sendable and stays eligible to the end. A token that
// expires, or whose change is sent, before the end counts as well if it had max(2T + slack, 2 s) of
// fault-free time before that (T is the batch timeout). A token lives for 15 minutes; an earlier
// end that the collector itself wrote into `expires_at` does not count. An unsendable token is lost
// when it is not in dead_letters, which a collector with tables of its own promises by
// `dead_letters`. A token that a torn or forged line names is counted with that line and not here.
// Three cases are not judged:
// - Still draining: the drain ran its whole length, and full lines, or as many tokens as the budget
//   allows, still came in its last 2T + d. d is 1 s, or the slack if that is longer, but at most
//   half of the drain. For a subject that promises no limit, new tokens in the last d are enough.
//   Then neither lost nor an expectation about it is judged.
// - The plan ended the last collector for good: `collector.restart` is off, or a fault lasts `for:
//   rest`. Then lost, unrecovered and end_state are not judged, and the run is inconclusive.
// - The harness may have left the server broken (verdict.c).
//
// phantom: a delivered token was rolled back, or was never attempted, or its upsert made none
// (TOKEN_CONFLICT), or its outcome is unknown and it is not in the database. A token that was
// read before the server lost data (forgot.c) may have been among these data, and is excused.
//
// premature: a token was read before its COMMIT was sent. There is no slack: the collector cannot
// know of a commit before the server does.
#include "check/inside.h"

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

// Counts a case, and describes it by the token's life in one line.
static void finding_add_token(
    struct result *r, enum metric_id id, const struct ledger *l, uint32_t token)
{
    char name[LEDGER_FULL_NAME_MAX], read[48] = "not delivered", insert[120];
    const struct txn_record *txn = ledger_txn(l, token);
    int64_t read_ns = ledger_read_ns(l, token);

    // Only the first cases are described; there may be millions.
    if (r->findings[id].count >= FINDING_EXAMPLES) {
        r->findings[id].count++;
        return;
    }
    ledger_full_name(l, token, name);
    if (read_ns != CLOCK_NEVER)
        snprintf(read, sizeof read, "read at %.3f s", ledger_seconds(l, read_ns));
    if (txn->outcome != TXN_NOT_SENT && txn->outcome != TXN_NOT_NEEDED)
        snprintf(insert, sizeof insert, "sent %.3f s, %s %.3f s", ledger_seconds(l, txn->sent_ns),
            outcome_name(l, token), ledger_seconds(l, txn->ended_ns));
    else
        snprintf(insert, sizeof insert, "%s", outcome_name(l, token));
    finding_add(r, id, "%s: intended at %.3f s, %s, %s", name,
        ledger_seconds(l, ledger_intended_ns(l, token)), insert, read);
    finding_add_faults(r, id, l, txn->sent_ns ? txn->sent_ns : ledger_intended_ns(l, token));
}

// Returns when the token expires. The harness lets every token live for 15 minutes. If the database
// has an earlier time, and the difference is larger than the server's clock may be off, the
// collector wrote it. That excuses nothing, so the later time is returned.
static int64_t expires_ns(const struct ledger *l, uint32_t token)
{
    const int64_t lifetime_ns = (int64_t)15 * 60 * NS_PER_S, off_ns = 3 * NS_PER_S;
    int64_t sent_ns = ledger_txn(l, token)->sent_ns;
    int64_t least_ns = ledger_clock_shows_ns(
        l, ledger_server_clock_ns(l, sent_ns) + lifetime_ns - off_ns, sent_ns);
    int64_t at_ns = ledger_expires_ns(l, token);

    return clock_max(at_ns, least_ns);
}

// True when the token was eligible for so long that its absence would be a loss: until the end of
// the drain, or for enough fault-free time.
static bool eligible_long_enough(const struct check *c, uint32_t token)
{
    const struct ledger *l = c->l;
    int64_t changed_ns = ledger_changed_ns(l, token);
    // A collector may pass over a token from the token's change on.
    int64_t until_ns = changed_ns != CLOCK_NEVER ? changed_ns : expires_ns(l, token);
    int64_t enough_ns =
        clock_max(2 * l->scenario->collector.batch_timeout_ns + c->r->slack_ns, 2 * NS_PER_S);

    if (changed_ns == CLOCK_NEVER && until_ns >= l->drain_end_ns)
        return true;
    return timeline_free(&c->timeline, EVERY, ledger_txn(l, token)->ended_ns, until_ns).ns >=
           enough_ns;
}

// True when the token was delivered although the database never had it. A token with an unknown
// outcome is no phantom when the database has it, or may have had it before the server lost data
// after the delivery.
static bool is_phantom(const struct ledger *l, uint32_t token)
{
    if (l->tokens[token].deliveries == 0)
        return false;
    // This insert finds its account and makes no token, so no outcome can excuse a delivery.
    if (l->plan->kinds[token] == TOKEN_CONFLICT)
        return true;
    if (ledger_committed(l, token))
        return false;
    return ledger_txn(l, token)->outcome != TXN_UNKNOWN ||
           !((l->tokens[token].flags & TOKEN_PRESENT) ||
               check_server_forgot(l, ledger_read_ns(l, token), l->drain_end_ns, CLOCK_NEVER));
}

// Counts the token by the outcome of its transaction. If that was sent, the token was attempted.
static void count_outcome(struct result *r, const struct ledger *l, uint32_t token)
{
    switch (ledger_txn(l, token)->outcome) {
    case TXN_NOT_SENT:
        r->values[METRIC_GENERATOR_DROPPED]++;
        return;
    case TXN_NOT_NEEDED:
        return;
    case TXN_COMMITTED:
        // An upsert that finds its account commits and makes no token.
        r->values[l->plan->kinds[token] == TOKEN_CONFLICT ? METRIC_CONFLICTED : METRIC_COMMITTED]++;
        break;
    case TXN_ROLLED_BACK:
        r->values[METRIC_ROLLED_BACK]++;
        break;
    case TXN_UNKNOWN:
        r->values[METRIC_UNKNOWN]++;
        // The delivery shows that the COMMIT had arrived, though its answer was lost.
        if (l->tokens[token].deliveries > 0)
            r->values[METRIC_RECOVERED]++;
        break;
    }
    r->values[METRIC_ATTEMPTED]++;
}

static bool was_deleted(const struct ledger *l, uint32_t token)
{
    const struct change_record *record;
    const struct plan_change *change = ledger_change(l, token, &record);

    return change && change->kind == CHANGE_DELETE;
}

// Returns the fault that kept the token from being sent before it expired. Without such a fault the
// token's transaction is the cause, because it gave the token too short a life.
static struct cause expired_by(const struct check *c, uint32_t token)
{
    int64_t from_ns = ledger_txn(c->l, token)->ended_ns;
    struct cause fault = timeline_free(&c->timeline, EVERY, from_ns, expires_ns(c->l, token)).cause;

    return fault.kind != CAUSE_NONE ? fault
                                    : (struct cause){CAUSE_TRANSACTION, c->l->txn_of[token]};
}

// Counts a token that did not stay eligible long enough to count as lost.
static void check_passed(const struct check *c, uint32_t token)
{
    bool changed = ledger_changed_ns(c->l, token) != CLOCK_NEVER;
    bool delivered = c->l->tokens[token].deliveries > 0;

    if (!delivered)
        c->r->values[changed ? METRIC_PASSED : METRIC_EXPIRED_UNSENT]++;
    // It is right to pass over a changed token, so nothing needs an excuse. An expired token that
    // did not come out may be a loss: what let it expire excuses it.
    if (!changed)
        judged_add(c->r, METRIC_LOST, 1, delivered ? CAUSE_IS_NONE : expired_by(c, token));
}

// Judges a token whose transaction committed: it must be in the database, and must have come out if
// it may be sent.
static void check_committed(const struct check *c, uint32_t token)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    const struct ledger_token *t = &l->tokens[token];
    enum token_kind kind = l->plan->kinds[token];

    judged_add(r, METRIC_VANISHED, 1, CAUSE_IS_NONE);
    // A token that has vanished does not count as lost as well.
    if (!(t->flags & TOKEN_PRESENT) && !was_deleted(l, token)) {
        finding_add_token(r, METRIC_VANISHED, l, token);
        r->values[METRIC_LEFT_BEHIND] += check_left_behind(l, token);
    } else if (token_kind_unsendable(kind)) {
        r->values[METRIC_UNDELIVERABLE]++;
        // Only a subject that keeps dead letters has a table to look into.
        bool looked = scenario_keeps_dead_letters(l->scenario);
        if (looked)
            judged_add(r, METRIC_LOST, 1, CAUSE_IS_NONE);
        // A torn or forged line that names the token is counted where the line is judged.
        if (looked && !(t->flags & TOKEN_DEAD_LETTER) && !(t->flags & TOKEN_NAMED))
            finding_add_token(r, METRIC_LOST, l, token);
    } else if (token_kind_ineligible(kind)) {
        r->values[METRIC_PASSED] += t->deliveries == 0;
    } else {
        if (!eligible_long_enough(c, token)) {
            check_passed(c, token);
            return;
        }
        judged_add(r, METRIC_LOST, 1, CAUSE_IS_NONE);
        r->values[METRIC_EXPECTED]++;
        if (t->deliveries == 0 && !(t->flags & TOKEN_NAMED))
            finding_add_token(r, METRIC_LOST, l, token);
    }
}

// Judges a token that came out: it must have been in the database by then, and eligible.
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
        finding_add_token(r, METRIC_PHANTOM, l, token);
    else if (commit_ns == 0 || ledger_read_ns(l, token) < commit_ns)
        finding_add_token(r, METRIC_PREMATURE, l, token);
    if (token_kind_ineligible(l->plan->kinds[token]))
        finding_add_token(r, METRIC_INELIGIBLE, l, token);
}

void check_tokens(const struct check *c)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    static const enum metric_id counted[] = {METRIC_ATTEMPTED, METRIC_COMMITTED, METRIC_ROLLED_BACK,
        METRIC_UNKNOWN, METRIC_EXPECTED, METRIC_UNDELIVERABLE, METRIC_DELIVERED, METRIC_RECOVERED,
        METRIC_EXPIRED_UNSENT, METRIC_PASSED, METRIC_CONFLICTED, METRIC_LEFT_BEHIND,
        METRIC_GENERATOR_DROPPED};

    // These counts are always known, so they begin at 0. Other values are NAN until they are known.
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        r->values[counted[i]] = 0;
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        count_outcome(r, l, token);
        if (ledger_committed(l, token) && l->plan->kinds[token] != TOKEN_CONFLICT)
            check_committed(c, token);
        check_delivered(r, l, token);
    }
}
