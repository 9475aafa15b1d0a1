#include "ledger/handlers.h"

#define NONE UINT32_MAX

// Returns when the handler of this delivered job ended, by its answer or by the death of its
// process; CLOCK_NEVER: it still ran at the end. Sets *died to whether its process died before it
// answered. A process that ended after the drain was asked to end, and did not die.
static int64_t handler_end_ns(const struct ledger *l, const struct delivery *d, bool *died)
{
    const struct process_record *p = &l->log->processes[l->log->lines[d->line].process];

    *died = d->replied_ns == 0 && p->ended_ns < l->drain_end_ns;
    if (d->replied_ns != 0)
        return d->replied_ns;
    return *died ? p->ended_ns : CLOCK_NEVER;
}

// Returns the longer of two durations. `so_far` is CLOCK_NEVER before the first one.
static int64_t longest(int64_t so_far, int64_t next)
{
    return so_far == CLOCK_NEVER || next > so_far ? next : so_far;
}

// Counts how a handler that began at began_ns follows the one before it of the same job: while that
// one still ran, after its process died, or after it failed.
static void compare_with_before(
    struct handlers *h, const struct ledger *l, const struct delivery *before, int64_t began_ns)
{
    bool died;
    int64_t end_ns = handler_end_ns(l, before, &died);

    if (began_ns < end_ns) {
        h->at_once++;
    } else if (died) {
        h->came_again++;
        h->again_ns = longest(h->again_ns, began_ns - end_ns);
    } else if (before->reply == REPLY_PERMANENT) {
        h->gap_min_ns = clock_min(h->gap_min_ns, began_ns - end_ns);
        h->gap_max_ns = longest(h->gap_max_ns, began_ns - end_ns);
    }
}

void handlers_read(struct handlers *h, const struct ledger *l)
{
    const size_t tokens = l->plan->token_count;
    // Per job: the index of its last delivery so far, and the number of its failed attempts.
    uint32_t *last FREED_BY(memory_free) = memory_allocate(tokens * sizeof *last);
    uint32_t *attempts FREED_BY(memory_free) = memory_zeroed(tokens, sizeof *attempts);

    *h = (struct handlers){
        .again_ns = CLOCK_NEVER, .gap_min_ns = CLOCK_NEVER, .gap_max_ns = CLOCK_NEVER};
    for (size_t t = 0; t < tokens; t++)
        last[t] = NONE;
    // The deliveries are in the order in which their lines were read.
    for (uint32_t i = 0; i < l->log->delivery_count; i++) {
        const struct delivery *d = &l->log->deliveries[i];
        // REPLY_NONE: the harness told this handler nothing, so it is not counted.
        if (d->token >= tokens || d->reply == REPLY_NONE)
            continue;
        if (last[d->token] != NONE)
            compare_with_before(
                h, l, &l->log->deliveries[last[d->token]], l->log->lines[d->line].read_ns);
        bool died;
        handler_end_ns(l, d, &died);
        h->in_hand += died;
        if (d->reply == REPLY_PERMANENT) {
            uint32_t number = ++attempts[d->token];
            h->failing += number == 1;
            h->attempts = number > h->attempts ? number : h->attempts;
        }
        last[d->token] = i;
    }
}
