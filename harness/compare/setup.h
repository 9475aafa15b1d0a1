// Were the runs that are to be compared made with the same scenario, on the same
// machine, against the same server, by the same rules? Read from result folders.
#pragma once

#include "base/buf.h"
#include "compare/compare.h"

// All runs of both sides against the first of the base. ERR_USAGE names what makes
// them incomparable: the keys of the scenario that differ, the rules by which they
// were judged, cuts on one side only. The seed, the collector's command and where the
// server comes from may differ.
MUST_USE bool setup_check(const struct side *base, const struct side *new, struct err *e);

// What differs and may: machine, server, program, seeds. One sentence each.
void setup_notes(struct comparison *c);

// Appends the keys in which two resolved scenarios differ, "load.0.rate: 200/s in
// base, 300/s in new"; returns how many. Pure.
size_t setup_differences(
    const char *base, size_t base_len, const char *new, size_t new_len, struct buf *out);
