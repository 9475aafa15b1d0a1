// Skip-locked: whose claims have lost their collector, and since when. Pure.
//
// Each has a time of its own, so that the death of one does not begin the
// grace of another again. Who is not told of any more has come back, or has
// nothing left that is claimed.
#pragma once

#include <stdint.h>

#define GONE_MAX 16                       // as many as skip_orphans.sql tells of
#define GONE_TEXT_LEN (20 * GONE_MAX + 2) // their numbers as an array

struct gone {
    int n;
    struct {
        int64_t claimant;
        int64_t since_ns;
    } who[GONE_MAX];
};

// The database tells who is gone now, as an array: {12,34}.
void gone_seen(struct gone *g, const char *array, int64_t now_ns);

// Those that have been gone for the grace, in the same form; returns `text`.
const char *gone_due(
    const struct gone *g, int64_t grace_ns, int64_t now_ns, char text[GONE_TEXT_LEN]);
