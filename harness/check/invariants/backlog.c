#include "check/invariants/backlog.h"

static const int64_t shortest_ns = 20 * NS_PER_MS;
static const size_t steps_max = 1000000;

size_t backlog_step(const struct backlog *b, int64_t at_ns)
{
    if (at_ns <= b->from_ns)
        return 0;
    size_t i = (size_t)((at_ns - b->from_ns) / b->step_ns);

    return i < b->count ? i : b->count - 1;
}

void backlog_make(struct backlog *b, const struct ledger *l)
{
    int64_t length_ns = l->drain_end_ns > l->start_ns ? l->drain_end_ns - l->start_ns : 0;

    *b = (struct backlog){.from_ns = l->start_ns, .step_ns = shortest_ns};
    // In a run of days the steps get longer, so that the array does not get larger.
    while (length_ns / b->step_ns > (int64_t)steps_max)
        b->step_ns *= 2;
    b->count = (size_t)(length_ns / b->step_ns) + 1;
    b->waiting = memory_zeroed(b->count, sizeof *b->waiting);
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        const struct txn_record *txn = ledger_txn(l, token);
        int64_t read_ns = ledger_read_ns(l, token);
        // A token that never came out must not look like a backlog that stays. One that was read
        // before its COMMIT was answered never waited.
        if (txn->outcome != TXN_COMMITTED || read_ns == CLOCK_NEVER || read_ns <= txn->ended_ns)
            continue;
        b->waiting[backlog_step(b, txn->ended_ns)]++;
        b->waiting[backlog_step(b, read_ns)]--;
    }
    // So far waiting[] has the differences from one step to the next.
    for (size_t i = 1; i < b->count; i++)
        b->waiting[i] += b->waiting[i - 1];
}
