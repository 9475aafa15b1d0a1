// The canary proves that a power cut took effect. It is two files on the disk. The first is written
// and flushed when the run begins and after each cut. The second is written just before the cut,
// and not flushed. After the cut a part of the second file must be gone and, if the disk is honest,
// the first must be complete.
#pragma once

#include "base/base.h"

#define CANARY_BYTES (INT64_C(64) * 1024)
#define CANARY_MARK 32 // length of the mark at the end of the second file

struct canary {
    unsigned turn;  // number of writes of the first file, so that each differs from the one before
    unsigned marks; // number of marks drawn since the first file was last written, so that each
                    // write of the second file differs, too
    char mark[CANARY_MARK + 1];
};

// Makes both files in `dir` and flushes them.
MUST_USE bool canary_make(struct canary *c, const char *dir, struct err *e);

// Writes and flushes the first file. Call it long before the cut, because this flush also makes all
// other writes on the disk durable.
MUST_USE bool canary_write_flushed(struct canary *c, const char *dir, struct err *e);

// Draws a new mark for the end of the second file. Each write of that file needs a new one: if the
// write before was flushed, the same bytes would seem to have survived the cut.
void canary_draw_mark(struct canary *c);

// Writes the second file, past the page cache, so that the disk has it when this returns.
MUST_USE bool canary_write_unflushed(struct canary *c, const char *dir, struct err *e);

// Call it after the cut. Counts for each file the sectors, of CANARY_BYTES / 512, that are not as
// they were last written.
MUST_USE bool canary_count_gone(
    const struct canary *c, const char *dir, int *flushed_gone, int *unflushed_gone, struct err *e);
