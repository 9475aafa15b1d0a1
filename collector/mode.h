// The ways to dequeue, and everything in which they differ.
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct mode {
    const char *name;  // its name in MAILROOM_DEQUEUE and in jobs.mode
    const char *older; // an earlier name that stays accepted; NULL: none
    bool alone;        // one collector at a time; others stand by
    bool takes;        // a batch becomes ours before its line is begun, and is confirmed after it.
                       // With lanes this is so in every mode (queue_takes).
};

// Returns the mode of this name; NULL: there is none.
const struct mode *mode_find(const char *name);

// Writes the names of all modes, joined by commas. Returns `text`.
#define MODE_NAMES_LEN 64
const char *mode_names(char text[MODE_NAMES_LEN]);
