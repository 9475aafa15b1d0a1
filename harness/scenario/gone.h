// A table of what older versions understood, with what to write instead. Errors quote it.
// CHANGELOG.md lists the same rows under "Upgrading"; a test compares the two.
#pragma once

#include "base/base.h"

struct gone {
    const char *where; // the subcommand; "": a key of scenarios and manifests
    const char *was, *now;
};

// Returns row i; NULL beyond the last.
const struct gone *gone_row(size_t i);

// Writes "; it is now: X" if an older version understood `was`, else "". Returns `text`.
#define GONE_TEXT_MAX 120
const char *gone_text(const char *where, const char *was, char text[GONE_TEXT_MAX]);
