// The canary of a power cut is two files on the disk. One is written and flushed when the run
// begins and after each cut. The other is written and not flushed just before the power goes. After
// the cut a part of the second file must be gone, and the first must be there unless the disk lies.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CANARY_BYTES (INT64_C(64) * 1024)
#define CANARY_MARK 32 // bytes at the end of the unflushed file

struct canary {
    unsigned turn; // number of writes of the first file, so that each differs from the one before
    unsigned
        marks; // number of marks since then, so that each write of the second file differs, too
    char mark[CANARY_MARK + 1];
};

// Makes both files in `dir` and flushes them.
MUST_USE bool canary_make(struct canary *c, const char *dir, struct err *e);

// Writes and flushes the first file. Call it long before the cut, because the disk's flush also
// covers all other writes.
MUST_USE bool canary_write_flushed(struct canary *c, const char *dir, struct err *e);

// Draws the mark at the end of the second file. Each write of it needs a new one: after a flush of
// the write before, the same bytes would seem to have survived.
void canary_draw_mark(struct canary *c);

// Writes the second file, past the page cache, so that the disk has it when this returns.
MUST_USE bool canary_write_unflushed(struct canary *c, const char *dir, struct err *e);

// Call it after the cut. Counts the sectors of each file, of CANARY_BYTES / 512, that differ from
// the last write.
MUST_USE bool canary_count_gone(
    const struct canary *c, const char *dir, int *flushed_gone, int *unflushed_gone, struct err *e);
