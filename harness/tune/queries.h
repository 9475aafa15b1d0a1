// The times that a collector takes to dequeue and write a batch: measured for each batch, or one
// time for all. Pure.
//
// A line is written one "read" after its batch fired. When the batch fired before the previous line
// was written, its line comes one "turn" after that line, because in between the cursor moves and
// is flushed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/rng.h"

struct query_time {
    uint32_t tokens; // number of tokens in the batch
    int64_t ns;
};

struct query_list {
    struct query_time *items; // owned
    size_t count;
    bool sorted;
};

struct queries {
    struct query_list reads; // times of batches that fired after the line before them was written
    struct query_list turns; // times of batches that had to wait for that line
};

MUST_USE bool queries_add(struct query_list *list, uint32_t tokens, int64_t ns, struct err *e);

// Adds all times of `from`.
MUST_USE bool queries_join(struct queries *to, const struct queries *from, struct err *e);

// Call it before the first draw. Sorts the times by tokens, and fills an empty list from the other
// one. ERR_USAGE when both are empty.
MUST_USE bool queries_ready(struct queries *q, struct err *e);

// Draws a time from those of the batches that are nearest in size.
int64_t queries_draw(const struct query_list *list, uint32_t tokens, struct rng *rng);

// These write the lists as a file, and read them back. ERR_USAGE names the line that cannot be
// read.
bool queries_print_csv(const struct queries *q, struct buf *out);
MUST_USE bool queries_parse_csv(struct queries *q, const char *text, struct err *e);

// Returns the median of the times; NAN for an empty list.
double queries_median_ms(const struct query_list *list);

void queries_fini(struct queries *q);
