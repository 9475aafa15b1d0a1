// Lookups for the checks of time: transactions by their time, and full lines.
#pragma once

#include "ledger/ledger.h"

// Returns the first of `count` times that is later than at_ns, or `count`. They are in the order of
// time, and `size` bytes lie between two of them.
size_t lookup_after(const int64_t *times_ns, size_t count, size_t size, int64_t at_ns);

// The same for a field of the items of an array.
#define FIRST_AFTER(items, count, field, at_ns)                                                    \
    lookup_after((count) ? &(items)->field : NULL, count, sizeof *(items), at_ns)

// Returns the first line that was read after a time.
static inline size_t line_after(const struct subject_log *log, int64_t at_ns)
{
    return FIRST_AFTER(log->lines, log->line_count, read_ns, at_ns);
}

// The time in which a transaction was open, or an announcement was on its way.
struct txn_span {
    int64_t from_ns;
    int64_t until_ns; // the latest end of this span and of all before it in the list
};

struct spans {
    struct txn_span *items; // owned; sorted by their beginning
    size_t count;
};

// Lists all transactions, from their first statement on. Returns false without memory.
MUST_USE bool spans_make(struct spans *s, const struct ledger *l);
// Sorts spans that were made elsewhere.
void spans_index(struct spans *s);
void spans_fini(struct spans *s);

// Returns the latest end of all spans that began at `at_ns` or before; 0 without one.
int64_t spans_latest_end(const struct spans *s, int64_t at_ns);

// True when more tokens may wait behind this line. A torn line may have been full.
static inline bool check_is_full(const struct ledger *l, const struct line_record *line)
{
    return line->state != LINE_WHOLE ||
           line->tokens >= (uint32_t)l->scenario->collector.batch_limit;
}

// True when a line holds a token that was committed at that time or later.
bool check_is_fresh(const struct ledger *l, const struct line_record *line, int64_t since_ns);
