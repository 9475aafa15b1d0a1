// The stories that test the checks. Each one says what the checks must find in it, and that they
// find nothing else.
#pragma once

#include "check/story.h"

struct story_case {
    const char *name;
    void (*tell)(struct story *s);
    const char *broken; // "metric=count …", in the order of the metrics; "" for none
    enum verdict verdict;
};

struct story_cases {
    const struct story_case *cases;
    size_t count;
};

extern const struct story_cases stories_tokens, stories_lines, stories_timing, stories_machine,
    stories_repeats, stories_processes, stories_vitals, stories_causes, stories_several,
    stories_sharing, stories_capacity, stories_outcome, stories_lanes, stories_budget,
    stories_verdicts;

// Two of three committed tokens never come out.
void tell_lost(struct story *s);

// A token that the wire cannot carry, and its dead letter.
void tell_dead_letter(struct story *s);
