// What a collector leaves behind when it ends at TERM: processes that live on. Each process that
// the harness starts gets a mark in its environment, which all its descendants inherit, whatever
// group, session or parent they have. A program that clears its environment is not found.
//
// A sender below the collector, or a helper, may need a moment to end. So a process counts only
// when it still lives LITTER_GRACE_NS after the collector's end; it is then killed.
#pragma once

#include "base/clock.h"
#include "subject/subject.h"

// One second, as a collector has at TERM, and the longest slack that a run measures.
#define LITTER_GRACE_NS (1500 * NS_PER_MS)

#define LITTER_MARK_MAX 100

// Writes the mark, a variable NAME=value, of the process that was started at that time for an
// instance of its subject.
void litter_mark(char mark[LITTER_MARK_MAX], int instance, int64_t started_ns);

// A list of the ends that are still to be looked at.
struct litter {
    uint32_t *processes; // owned
    size_t count;
};

void litter_fini(struct litter *l); // accepts a zeroed struct

// Remembers that this process has ended at TERM.
MUST_USE bool litter_expect(struct litter *l, uint32_t process);

// Looks at what the ended processes have left, and records what is decided in the log. Returns when
// to look again; CLOCK_NEVER: there is nothing to look at.
int64_t litter_look(struct litter *l, struct subject_log *log, int64_t now_ns);
