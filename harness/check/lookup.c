#include "check/lookup.h"

#include <math.h>

size_t lookup_after(const int64_t *times_ns, size_t count, size_t size, int64_t at_ns)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const void *time_ns = (const char *)times_ns + mid * size;
        if (*(const int64_t *)time_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

double lookup_highest_rate(const struct scenario *s, int64_t from_ns, int64_t until_ns)
{
    int64_t begin_ns = 0;
    double highest = 0;

    for (size_t i = 0; i < s->load_count && begin_ns <= until_ns; i++) {
        const struct load_phase *phase = &s->load[i];
        begin_ns += phase->for_ns; // of the next phase
        if (begin_ns <= from_ns)
            continue;
        if (phase->closed || phase->arrivals == ARRIVALS_TRACE)
            return INFINITY;
        highest = fmax(highest, fmax(phase->rate_from, phase->rate_to));
    }
    return highest;
}

void spans_index(struct spans *s)
{
    qsort(s->items, s->count, sizeof *s->items, clock_compare);
    for (size_t i = 1; i < s->count; i++) {
        if (s->items[i].until_ns < s->items[i - 1].until_ns)
            s->items[i].until_ns = s->items[i - 1].until_ns;
    }
}

void spans_make(struct spans *s, const struct ledger *l)
{
    *s = (struct spans){.items = memory_zeroed(l->plan->txn_count, sizeof *s->items)};
    for (size_t i = 0; i < l->plan->txn_count; i++) {
        const struct txn_record *txn = &l->txns[i];
        if (txn->sent_ns)
            s->items[s->count++] = (struct txn_span){txn->sent_ns, txn->ended_ns};
    }
    spans_index(s);
}

int64_t spans_latest_end(const struct spans *s, int64_t at_ns)
{
    size_t after = FIRST_AFTER(s->items, s->count, from_ns, at_ns);

    return after ? s->items[after - 1].until_ns : 0;
}

int64_t line_answered_ns(
    const struct ledger *l, const struct leased *m, const struct line_record *line)
{
    int64_t timeout_ns = line->read_ns + m->answer_timeout_ns, last_ns = line->read_ns;

    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &l->log->deliveries[line->first_delivery + i];
        int64_t at_ns = d->replied_ns ? clock_min(d->replied_ns, timeout_ns) : timeout_ns;
        last_ns = clock_max(last_ns, at_ns);
    }
    return clock_min(last_ns, l->log->processes[line->process].ended_ns);
}

bool check_is_fresh(const struct ledger *l, const struct line_record *line, int64_t since_ns)
{
    for (uint32_t i = 0; i < line->tokens; i++) {
        uint32_t token = l->log->deliveries[line->first_delivery + i].token;
        if (token < l->plan->token_count && ledger_txn(l, token)->commit_ns >= since_ns)
            return true;
    }
    return false;
}
