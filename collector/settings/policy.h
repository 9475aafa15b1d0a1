// The ways to dequeue, and everything in which they differ.
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct policy {
    const char *name;  // its name in MAILROOM_DEQUEUE and in jobs.mode
    const char *older; // an earlier name that stays accepted; NULL: none
    bool exclusive;    // one collector at a time; others stand by
    bool answers;      // a line is settled by its reader's answers, else by being written
    int in_flight;     // most lines that are out and not settled; 0: MAILROOM_IN_FLIGHT says it
};

// Returns the policy of this name; NULL: there is none.
const struct policy *policy_find(const char *name);

// Writes the names of all policies, joined by commas. Returns `text`.
#define POLICY_NAMES_LEN 64
const char *policy_names(char text[POLICY_NAMES_LEN]);
