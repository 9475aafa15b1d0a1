// Lookups for the checks: what comes first after a time, how fast the load is, which transactions
// were open, which lines are full or fresh, and which deliveries count.
#pragma once

#include "ledger/ledger.h"
#include "scenario/leased.h"

// Returns the index of the first of `count` times that is later than at_ns; `count` when none is.
// The times are sorted, and each begins `size` bytes after the one before.
size_t lookup_after(const int64_t *times_ns, size_t count, size_t size, int64_t at_ns);

// Returns the index of the first item whose `field`, a time, is later than at_ns; `count` when none
// is. The items are sorted by this field.
#define FIRST_AFTER(items, count, field, at_ns)                                                    \
    lookup_after((count) ? &(items)->field : NULL, count, sizeof *(items), at_ns)

// Returns the index of the first line that was read after a time; the number of lines when none
// was.
static inline size_t line_after(const struct subject_log *log, int64_t at_ns)
{
    return FIRST_AFTER(log->lines, log->line_count, read_ns, at_ns);
}

// Returns the highest rate of the load between two times, which count from its beginning; INFINITY
// where a phase has no rate of its own, because it is a closed loop or a recording.
double lookup_highest_rate(const struct scenario *s, int64_t from_ns, int64_t until_ns);

// The time in which a transaction was open or, in early.c, from a token's COMMIT until the window
// that it may have opened can fire at the latest.
struct txn_span {
    int64_t from_ns;  // the first member, for clock_compare
    int64_t until_ns; // the latest end of this span and of all before it in the list
};

struct spans {
    struct txn_span *items; // owned; sorted by their beginning
    size_t count;
};

// Lists all transactions that were sent, each from its first statement on.
void spans_make(struct spans *s, const struct ledger *l);
// Sorts spans that were made elsewhere, and raises each until_ns to the latest end so far.
void spans_index(struct spans *s);

// Returns the latest end of all spans that began at `at_ns` or before; 0 when none did.
int64_t spans_latest_end(const struct spans *s, int64_t at_ns);

// True when the line is full, so that further tokens may still wait. A line that is not whole
// counts as full, because it may have been.
static inline bool check_is_full(const struct ledger *l, const struct line_record *line)
{
    return line->state != LINE_WHOLE ||
           line->tokens >= (uint32_t)l->scenario->collector.batch_limit;
}

// True when this is a valid delivery of a token that the plan has.
static inline bool check_delivers(const struct ledger *l, const struct delivery *d)
{
    return d->flags == 0 && d->token < l->plan->token_count;
}

// True when the delivery is valid and in the line in which its token first came.
static inline bool check_delivers_first(const struct ledger *l, const struct delivery *d)
{
    return check_delivers(l, d) && l->tokens[d->token].first_line == d->line;
}

// Returns until when a line awaited answers: until each of its tokens had its answer or had waited
// for the answer timeout, or the process ended.
int64_t line_answered_ns(
    const struct ledger *l, const struct leased *m, const struct line_record *line);

// True when a line holds a token whose COMMIT was sent at since_ns or later.
bool check_is_fresh(const struct ledger *l, const struct line_record *line, int64_t since_ns);
