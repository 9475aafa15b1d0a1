// The canary of a power cut: two files on the disk, one written and flushed when the
// run begins and after each cut, one written and not flushed just before the power
// goes. Of the second something has to be gone afterwards; the first has to be
// there, unless the disk lies.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CANARY_BYTES (INT64_C(64) * 1024)
#define CANARY_MARK 32 // characters at the end of the unflushed file

struct canary {
    unsigned turn; // each write differs from the one before
    char mark[CANARY_MARK + 1];
};

// Makes both files in `dir`, flushed.
MUST_USE bool canary_make(struct canary *c, const char *dir, struct err *e);

// Writes and flushes the one file. Long before the cut: the disk's flush is for
// everything that anybody has written.
MUST_USE bool canary_write_flushed(struct canary *c, const char *dir, struct err *e);

// Draws the mark that the other file will end with.
void canary_draw_mark(struct canary *c);

// Writes the other, past the page cache, so that the disk has it when this returns.
MUST_USE bool canary_write_unflushed(struct canary *c, const char *dir, struct err *e);

// After the cut: sectors of each that are not as they were written last, of
// CANARY_BYTES / 512.
MUST_USE bool canary_count_gone(
    const struct canary *c, const char *dir, int *flushed_gone, int *unflushed_gone, struct err *e);
