// Invariants of order: no token overtakes an older one that was committed before it, unless the two
// are of different lanes, and none goes out after the collector could know that it is ineligible.
//
// ineligible has three cases:
// - The token was made ineligible in its own transaction (tokens.c).
// - The token changed (`changes`) before E, and the change was not taken back before the read. A
//   token changes when its change is acknowledged or, if that lets the token expire, 2 s later.
// - The token expired more than 3 s before E: the server's clock may be off by 2 s, and is known to
//   the second.
//
// E is when the reader last found the pipe empty before it read the line two lines before this one.
// If the process has written no such line yet, E is the process's start.
//
// `passed` (tokens.c) counts committed tokens that were not eligible and were not sent.
#include "check/inside.h"

// The youngest token that a process has delivered of one lane or, without lanes, of all tokens.
struct youngest {
    int64_t sent_ns; // when its transaction began
    uint32_t token;
};

// The checks of this file need this of the lines that one process has written so far.
struct past {
    int64_t empty_ns[3]; // when the reader last found the pipe empty before it read this line,
                         // the line before, and the one before that; at first, the process's start
    int64_t this_ns;     // when the line that is being looked at was read
    uint32_t this_line;  // index of the line that is being looked at
    struct youngest lanes[2]; // [0]: activations or, without lanes, all tokens; [1]: recoveries
};

// Moves on to this line of the process, unless it is the one that is being looked at already.
static void advance(struct past *p, uint32_t line, int64_t read_ns)
{
    if (p->this_line == line)
        return;
    p->empty_ns[2] = p->empty_ns[1];
    p->empty_ns[1] = p->empty_ns[0];
    // One read takes all that the pipe holds. So when this line was read later than the line
    // before, the pipe was empty after the line before.
    p->empty_ns[0] = read_ns > p->this_ns ? p->this_ns : p->empty_ns[0];
    p->this_ns = read_ns;
    p->this_line = line;
}

// Adds a finding if the token was acknowledged before the transaction of *y began, although *y came
// out first. Makes the token the new *y if its own transaction was sent later.
static void check_order(
    struct result *r, const struct ledger *l, struct youngest *y, uint32_t token)
{
    const struct txn_record *txn = ledger_txn(l, token);
    char login[NAMES_MAX], youngest[NAMES_MAX];

    if (txn->outcome == TXN_COMMITTED)
        judged_add(r, METRIC_OUT_OF_ORDER, 1, CAUSE_IS_NONE);
    if (txn->outcome == TXN_COMMITTED && y->sent_ns > txn->ended_ns) {
        ledger_name(l, token, login);
        ledger_name(l, y->token, youngest);
        finding_add(r, METRIC_OUT_OF_ORDER,
            "%s, acknowledged at %.3f s, came after %s, whose transaction began at %.3f s", login,
            ledger_seconds(l, txn->ended_ns), youngest, ledger_seconds(l, y->sent_ns));
        finding_add_faults(r, METRIC_OUT_OF_ORDER, l, txn->ended_ns);
    }
    if (txn->sent_ns > y->sent_ns)
        *y = (struct youngest){.sent_ns = txn->sent_ns, .token = token};
}

// True when the reader of the process was so slow that its lines lay unread for an unknown time. A
// fault that slows the reader counts until recovery_limit after its end, because lines may still
// wait then.
static bool is_reader_slow(const struct check *c, const struct past *p)
{
    const struct ledger *l = c->l;
    int instance = l->log->processes[l->log->lines[p->this_line].process].instance;
    int64_t from_ns = p->empty_ns[2] - l->scenario->recovery_limit_ns;
    const struct strike *k = NULL;

    while ((k = timeline_strike(&c->timeline, k, instance, from_ns, p->this_ns)))
        if (k->verb->hits == HITS_READER && k->verb->does == SLOWS)
            return true;
    return false;
}

// Adds a finding if the token expired more than 3 s before empty_ns[2], the E of this file's head.
static void check_expiry(const struct check *c, const struct past *p, uint32_t token)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    char login[NAMES_MAX];
    int64_t expires_ns = ledger_expires_ns(l, token);

    // tokens.c judges one that was inserted as ineligible. The expiry of an absent one is unknown.
    if (token_kind_ineligible(l->plan->kinds[token]) || !(l->tokens[token].flags & TOKEN_PRESENT) ||
        expires_ns + 3 * NS_PER_S >= p->empty_ns[2] || is_reader_slow(c, p))
        return;
    ledger_name(l, token, login);
    finding_add(r, METRIC_INELIGIBLE, "%s: expired at %.3f s, read at %.3f s", login,
        ledger_seconds(l, expires_ns), ledger_seconds(l, p->this_ns));
    finding_add_faults(r, METRIC_INELIGIBLE, l, expires_ns);
}

// Returns from when on its change makes the token ineligible to every collector: from the change's
// acknowledgement, or 2 s later if the token expires, because the server's clock may be off by
// that. CLOCK_NEVER: the token may have stayed, or become again, eligible before read_ns.
static int64_t ineligible_from_ns(const struct ledger *l, uint32_t token, int64_t read_ns)
{
    const struct change_record *record;
    const struct plan_change *change = ledger_change(l, token, &record);

    if (!change || record->outcome != TXN_COMMITTED)
        return CLOCK_NEVER;
    if (record->back_sent_ns && record->back_sent_ns < read_ns)
        return CLOCK_NEVER;
    // The server may have lost the change.
    if (check_server_forgot(l, record->ended_ns, read_ns, record->ended_ns))
        return CLOCK_NEVER;
    return record->ended_ns + (change->kind == CHANGE_EXPIRE ? 2 * NS_PER_S : 0);
}

// Adds a finding if a change made the token ineligible before empty_ns[2] (E), and so before the
// collector read the token from the database. A collector reads the tokens of line n, at the
// earliest, while it writes line n - 1, and begins to write line n - 1 only when line n - 2 has
// left room in the pipe.
static void check_change(const struct check *c, const struct past *p, uint32_t token)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    char login[NAMES_MAX];
    int64_t from_ns = ineligible_from_ns(l, token, p->this_ns);
    const struct change_record *record = NULL;
    const struct plan_change *change = ledger_change(l, token, &record);

    if (!change || from_ns >= p->empty_ns[2] || is_reader_slow(c, p))
        return;
    ledger_name(l, token, login);
    finding_add(r, METRIC_INELIGIBLE, "%s: %s was acknowledged at %.3f s, read at %.3f s", login,
        change_kind_name(change->kind), ledger_seconds(l, record->ended_ns),
        ledger_seconds(l, p->this_ns));
    finding_add_faults(r, METRIC_INELIGIBLE, l, record->ended_ns);
}

// Adds a finding if the line has a name that the account lost before empty_ns[2]. A line holds the
// names of the time at which the collector read its tokens; check_change says when that was.
static void check_rename(const struct check *c, const struct past *p, const struct delivery *d)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    char email[NAMES_MAX];
    const struct change_record *record = NULL;
    const struct plan_change *rename = ledger_rename(l, d->token, &record);

    if (!d->before_rename || !rename || record->outcome != TXN_COMMITTED ||
        record->ended_ns >= p->empty_ns[2] || is_reader_slow(c, p) ||
        check_server_forgot(l, record->ended_ns, p->this_ns, record->ended_ns))
        return;
    names_email(email, d->token);
    finding_add(r, METRIC_FORGED,
        "%s: another %s was acknowledged at %.3f s; read at %.3f s with the old one", email,
        rename->kind == CHANGE_EMAIL ? "address" : "login", ledger_seconds(l, record->ended_ns),
        ledger_seconds(l, p->this_ns));
    finding_add_faults(r, METRIC_FORGED, l, record->ended_ns);
}

void check_sequence(const struct check *c)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    const struct subject_log *log = l->log;
    bool lanes = c->leased.lanes;
    struct past *pasts FREED_BY(memory_free) = memory_zeroed(log->process_count, sizeof *pasts);

    // A process's past begins with its start, before which it has read nothing from the database.
    for (size_t i = 0; i < log->process_count; i++) {
        int64_t at_ns = log->processes[i].started_ns;
        pasts[i] = (struct past){{at_ns, at_ns, at_ns}, .this_ns = at_ns, .this_line = UINT32_MAX};
    }
    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        const struct line_record *line = &log->lines[d->line];
        struct past *p = &pasts[line->process];
        // Only a genuine delivery of a planned token counts.
        if (!check_delivers(l, d))
            continue;
        advance(p, d->line, line->read_ns);
        check_change(c, p, d->token);
        check_rename(c, p, d);
        // A token that changed while it waited may rightly have been passed over and come later.
        // Only check_change judges whether it was still eligible.
        if (ledger_changed_ns(l, d->token) != CLOCK_NEVER)
            continue;
        check_expiry(c, p, d->token);
        // A repeated delivery is older than those around it, and is judged as duplicated. Where
        // collectors share the queue, there is no order among their tokens.
        if (check_delivers_first(l, d) && !scenario_shares(l->scenario))
            check_order(
                r, l, &p->lanes[lanes && token_kind_recovery(l->plan->kinds[d->token])], d->token);
    }
}
