// Holds the times that a collector takes to read a batch from the queue and write its line:
// measured batch by batch, or one time for all batches. Pure.
//
// A line is written one "read" after its batch fired. If the batch fired before the previous line
// was written, its line is written one "turn" after that line. A turn includes the time in which
// the collector moves its cursor past the previous line and flushes this change.
#pragma once

#include "plan/rng.h"

struct query_time {
    uint32_t tokens; // number of tokens in the batch
    int64_t ns;
};

struct query_list {
    struct query_time *items; // owned; sorted by tokens since queries_ready
    size_t count;
};

struct queries {
    struct query_list reads; // times of batches that fired after the previous line was written
    struct query_list turns; // times of batches that had to wait for the previous line
};

// Adds one time to a list.
void queries_add(struct query_list *list, uint32_t tokens, int64_t ns);

// Adds all times of `from` to `to`.
void queries_join(struct queries *to, const struct queries *from);

// Prepares for queries_draw: sorts the times by tokens, and fills an empty list from the other one.
// When both are empty, they stay so.
void queries_ready(struct queries *q);

// Returns a random time out of those of about a hundred batches whose sizes are nearest to
// `tokens`, or of all batches of exactly this size if they are more. The list must not be empty.
int64_t queries_draw(const struct query_list *list, uint32_t tokens, struct rng *rng);

// Write both lists as CSV, and read them back. ERR_USAGE names the line that cannot be read, or
// says that there is none.
bool queries_print_csv(const struct queries *q, struct buf *out);
MUST_USE bool queries_parse_csv(struct queries *q, const char *text, struct err *e);

// Returns the median of a list's times in ms; NAN for an empty list.
double queries_median_ms(const struct query_list *list);

void queries_fini(struct queries *q);
