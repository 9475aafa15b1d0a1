// Finds the processes that a collector leaves running when it ends at TERM. Each process that the
// harness starts gets a mark in its environment, which all its descendants inherit, whatever group,
// session or parent they have. A program that clears its environment is not found.
//
// A sender or a helper that the collector has started may need a moment to end. So a process counts
// only if it still lives LITTER_GRACE_NS after the collector's end; it is then killed.
#pragma once

#include "subject/subject.h"

// The second that a collector has at TERM, plus half a second, the longest slack that a run
// measures.
#define LITTER_GRACE_NS (1500 * NS_PER_MS)

#define LITTER_MARK_MAX 100

// Writes the mark, a variable NAME=value, for the process that was started at started_ns for this
// instance of a subject.
void litter_mark(char mark[LITTER_MARK_MAX], int instance, int64_t started_ns);

// The ended processes of which it is not yet known what they have left.
struct litter {
    uint32_t *processes; // owned
    size_t count;
};

void litter_fini(struct litter *l); // accepts a zeroed struct

// Remembers that this process has ended at TERM.
void litter_expect(struct litter *l, uint32_t process);

// Looks for processes that the ended ones have left running, kills them after their grace, and
// records in the log whatever can be decided now.
// Returns when to look again; CLOCK_NEVER: all is decided.
int64_t litter_look(struct litter *l, struct subject_log *log, int64_t now_ns);
