// What older versions understood, and what says the same now: one table, from which errors tell the
// new way. CHANGELOG.md has its rows under "Upgrading"; a test compares them.
#pragma once

#include <stddef.h>

struct gone {
    const char *where; // the subcommand; "": a key of scenarios and manifests
    const char *was, *now;
};

// Returns row i; NULL beyond the last.
const struct gone *gone_row(size_t i);

// Writes "; it is now: X", or "" for what never was. The result is valid until the next call with
// the same buffer.
#define GONE_TEXT_MAX 120
const char *gone_text(const char *where, const char *was, char text[GONE_TEXT_MAX]);
