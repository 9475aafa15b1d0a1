// The modes of dequeuing, and everything in which they differ: one row for each mode.
#pragma once

#include "base/base.h"

struct policy {
    const char *name;  // its name in MAILROOM_DEQUEUE and in jobs.mode
    const char *older; // an older name that is accepted, too; NULL: none
    bool exclusive;    // only one collector works at a time; others stand by
    bool answers;      // a line is settled when its reader has answered; false: when it is written
    int in_flight;     // most lines out and not settled; 0: as many as MAILROOM_IN_FLIGHT
};

// Returns the policy of this name; NULL: there is none.
const struct policy *policy_find(const char *name);

// Writes the names of all policies, joined by commas. Returns `text`.
#define POLICY_NAMES_LEN 64
const char *policy_names(char text[POLICY_NAMES_LEN]);
