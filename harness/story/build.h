// What the files that build a history share; nobody else includes it.
#pragma once

#include "story/inside.h"

struct build {
    struct told *t;
    const struct event *events;
    size_t count;
    struct node *root;
    int64_t load_ns, run_ns;   // when load and run end
    const struct event **kind; // the events of one kind, in the order of time
    size_t kind_count;
    const struct event **faults; // the faults as they stand in the file
    uint32_t *last_sample;       // per process: 1 + the index of its last sample
};

static inline int64_t at(const struct event *event, enum slot slot)
{
    int64_t ns = event->value[slot];

    return ns == CLOCK_NEVER ? 0 : STORY_START_NS + ns;
}

// Appends a zeroed item to an array; NULL without memory.
void *build_append(void *items, size_t *count, size_t size, struct err *e);

// Adds the maps of the faults to the scenario's tree, with the times of their events.
MUST_USE bool build_specs(struct build *b, struct err *e);
MUST_USE bool build_fault(struct build *b, const struct event *told, struct err *e);

// Checks that the story has all tokens that the event names.
MUST_USE bool build_want_token(const struct build *b, const struct event *event, struct err *e);

// --- measured.c ----------------------------------------------------------------------------

MUST_USE bool build_session(struct build *b, const struct event *event, struct err *e);
MUST_USE bool build_sample(struct build *b, const struct event *told, struct err *e);
MUST_USE bool build_look(struct build *b, const struct event *told, struct err *e);
MUST_USE bool build_probe(struct build *b, const struct event *told, struct err *e);
MUST_USE bool build_stall(struct build *b, const struct event *event, struct err *e);
MUST_USE bool build_presence(struct build *b, const struct event *told, struct err *e);
MUST_USE bool build_hold(struct build *b, const struct event *told, struct err *e);

// --- rows.c --------------------------------------------------------------------------------

MUST_USE bool build_row(struct build *b, const struct event *event, struct err *e);
MUST_USE bool build_attempt(struct build *b, const struct event *event, struct err *e);
