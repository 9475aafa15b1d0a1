// starved: a lane got less or more than its share. A higher lane goes before a lower one, but once
// the oldest token of the lower lane has waited for the ageing bound, the lower lane gets one line
// in four. Only first deliveries count, because a retry goes before all lanes. There are three
// cases:
// - While a token of a higher lane waited, more lines of a lower lane went out than one in four.
// - While a token of a higher lane waited, lines went out whose tokens had not aged.
// - A token of a lower lane had waited for MAILROOM_AGEING + 1 s + slack, and more than 4 ×
//   instances lines went out without any token of its lane.
//
// In each case more lines are allowed, as many as may have been taken before the token was visible:
// in leased mode in flight × instances, else 2 × instances, for the line in hand and the next one.
// In the first case each instance may also have one line more, because each counts its own.
// A wait that begins in a stall counts from the stall's end. Lines and tokens that a fault touches
// are not judged.
#include "check/inside.h"

// How many lines a collector may have taken in the modes without answers: the one that it has in
// hand, and the next one.
#define IN_HAND 2

struct lanes {
    const struct check *c;
    int margin;             // number of lines that may have been taken before the token was visible
    uint32_t *lower_before; // [i] counts the lines before line i that held a token of a lower lane
    uint32_t *young_before; // [i] counts those of them in which no token of a lower lane had aged
    uint32_t *lower_tokens; // tokens of the lower lane, in the order of their acknowledgement
    size_t lower_count;
};

// True when the token belongs to the higher lane, which is the one that `lanes` names first.
static bool is_higher(const struct check *c, uint32_t token)
{
    const char *first =
        token_kind_recovery(c->l->plan->kinds[token]) ? "password_recovery," : "activation,";

    return strncmp(c->leased.lanes, first, strlen(first)) == 0;
}

// Tells what a line holds. Sets *lower when it holds first deliveries of the lower lane, *young
// when none of these tokens had waited for the ageing bound, and *again when it holds repeated
// deliveries.
static void tell_lanes_of(
    const struct lanes *n, uint32_t index, bool *lower, bool *young, bool *again)
{
    const struct ledger *l = n->c->l;
    const struct line_record *line = &l->log->lines[index];
    int64_t ageing_ns = n->c->leased.ageing_ns;

    *lower = *again = false;
    *young = true;
    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &l->log->deliveries[line->first_delivery + i];
        // A delivery with a flag, such as a forged one, says nothing about the order.
        if (!check_delivers(l, d))
            continue;
        if (!check_delivers_first(l, d)) {
            // A retry goes before all lanes, so a line with one says nothing about their order.
            *again = true;
        } else if (!is_higher(n->c, d->token)) {
            *lower = true;
            *young = *young && ledger_txn(l, d->token)->sent_ns + ageing_ns > line->read_ns;
        }
    }
    *young = *young && *lower;
}

// Checks the lower lane's share. Each instance gives the lane one line in four once the lane's
// oldest token has aged, that is, has waited for the ageing bound. So while an aged token waits, no
// more than `most` lines in a row may hold no token of its lane. The database rounds a token's time
// to the second, so a token has certainly aged one second after the bound.
static void judge_share(const struct lanes *n)
{
    const struct check *c = n->c;
    const struct ledger *l = c->l;
    int most = 4 * l->scenario->collector.instances + n->margin, run = 0;
    size_t oldest = 0; // index of the oldest of the lower tokens that still wait

    for (uint32_t i = 0; i < l->log->line_count; i++) {
        int64_t now_ns = l->log->lines[i].read_ns;
        bool lower, young, again;
        while (oldest < n->lower_count && ledger_read_ns(l, n->lower_tokens[oldest]) <= now_ns)
            oldest++;
        // From here on no token of a lower lane waits.
        if (oldest == n->lower_count)
            return;
        int64_t aged_ns =
            ledger_txn(l, n->lower_tokens[oldest])->ended_ns + c->leased.ageing_ns + NS_PER_S;
        struct sight aged = check_seen(c, aged_ns, now_ns);
        tell_lanes_of(n, i, &lower, &young, &again);
        // A line counts only when all have seen that the token has aged, and no fault touches it.
        run = lower || again || aged.by_ns > now_ns || aged.cause.kind != CAUSE_NONE ? 0 : run + 1;
        if (run <= most)
            continue;
        finding_add(c->r, METRIC_STARVED,
            NAMES_TOKEN
            " of a lower lane had waited since %.3f s, and got none of %d %s up to %.3f "
            "s",
            n->lower_tokens[oldest],
            ledger_seconds(l, ledger_txn(l, n->lower_tokens[oldest])->ended_ns), run,
            NOUN(run, "line", "lines"), ledger_seconds(l, now_ns));
        // The next finding needs as many lines in a row again.
        run = 0;
    }
}

// Judges how many lines of the lower lane went out while this token of the higher lane waited.
// Lines count from when all must have seen the token: an earlier one may have been written without.
static void judge_overtaken(const struct lanes *n, uint32_t token)
{
    const struct check *c = n->c;
    const struct ledger *l = c->l;
    struct sight seen = check_seen(c, ledger_txn(l, token)->ended_ns, ledger_read_ns(l, token));
    uint32_t from = (uint32_t)line_after(l->log, seen.by_ns), to = l->tokens[token].first_line;

    judged_add(c->r, METRIC_STARVED, 1, seen.cause);
    if (from >= to || seen.cause.kind != CAUSE_NONE)
        return;
    uint32_t lower = n->lower_before[to] - n->lower_before[from],
             young = n->young_before[to] - n->young_before[from];
    // One line in four belongs to the lower lane. Each instance counts its own lines, so each may
    // have given the lower lane one more.
    uint32_t share = (to - from) / 4 + (uint32_t)l->scenario->collector.instances;
    if (young <= (uint32_t)n->margin && lower <= share + (uint32_t)n->margin)
        return;
    finding_add(c->r, METRIC_STARVED,
        NAMES_TOKEN " of a higher lane, acknowledged at %.3f s, was overtaken by %u %s of a lower "
                    "one "
                    "until %.3f s, %u of them without any token that had aged",
        token, ledger_seconds(l, ledger_txn(l, token)->ended_ns), lower,
        NOUN(lower, "line", "lines"), ledger_seconds(l, ledger_read_ns(l, token)), young);
}

static int by_acknowledgement(const void *a, const void *b, void *ledger)
{
    int64_t x = ledger_txn(ledger, *(const uint32_t *)a)->ended_ns;
    int64_t y = ledger_txn(ledger, *(const uint32_t *)b)->ended_ns;

    return (x > y) - (x < y);
}

// Fills in lower_before and young_before. A subtraction then counts the lines between two lines.
static void count_lines(struct lanes *n)
{
    for (uint32_t i = 0; i < n->c->l->log->line_count; i++) {
        bool lower, young, again;
        tell_lanes_of(n, i, &lower, &young, &again);
        n->lower_before[i + 1] = n->lower_before[i] + lower;
        n->young_before[i + 1] = n->young_before[i] + young;
    }
}

void check_lanes(const struct check *c)
{
    const struct ledger *l = c->l;
    size_t lines = l->log->line_count + 1;
    struct lanes n = {.c = c};

    if (!c->leased.lanes)
        return;
    n.lower_before = memory_zeroed(lines, sizeof *n.lower_before);
    n.young_before = memory_zeroed(lines, sizeof *n.young_before);
    n.lower_tokens = memory_allocate(l->plan->token_count * sizeof *n.lower_tokens);
    n.margin = (c->leased.on ? c->leased.in_flight : IN_HAND) * l->scenario->collector.instances;
    count_lines(&n);
    for (uint32_t t = 0; t < l->plan->token_count; t++) {
        // Only a token counts that was acknowledged and came out.
        if (l->tokens[t].deliveries == 0 || ledger_txn(l, t)->outcome != TXN_COMMITTED)
            continue;
        if (is_higher(c, t)) {
            // No other lane is above the higher one, so each line of the lower lane that went out
            // meanwhile has overtaken this token.
            judge_overtaken(&n, t);
            continue;
        }
        judged_add(c->r, METRIC_STARVED, 1, CAUSE_IS_NONE);
        n.lower_tokens[n.lower_count++] = t;
    }
    qsort_r(n.lower_tokens, n.lower_count, sizeof *n.lower_tokens, by_acknowledgement,
        (void *)(uintptr_t)l);
    judge_share(&n);
    free(n.lower_before);
    free(n.young_before);
    free(n.lower_tokens);
}
