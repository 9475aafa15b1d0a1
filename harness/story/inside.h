// The parts of this folder share these declarations; nobody else includes them.
#pragma once

#include "story/story.h"
#include "story/words.h"

#define STORY_EVENTS_MAX 50000u  // events of one story, repetitions included
#define STORY_TOKENS_MAX 100000u // tokens, and tokens in lines
#define STORY_PROCESSES_MAX 1000u
#define STORY_START_NS (1000 * NS_PER_S) // the time 0 of a story on the run's clock

// --- build.c -----------------------------------------------------------------------------

// Makes scenario and history of the events. The root is the scenario's tree, without its faults.
MUST_USE bool story_build(
    struct told *t, const struct event *events, size_t count, struct node *root, struct err *e);

// --- defaults.c ---------------------------------------------------------------------------

// Fills in what the event does not say, except what depends on other events. `run_ns` is when the
// run ends; a line's writer is looked for in `log`.
void event_complete(struct event *event, int64_t run_ns, const struct subject_log *log);

// Fills in what the tables hold at the end where no row says otherwise: every committed token is
// there, every one that cannot be sent is buried, and the end of a leased one is what its last
// answer says. Only the lines that `lines` has are looked at; NULL: all.
void story_settle_rows(struct ledger_token *tokens, const struct history *h, const bool *lines);

// --- fields.c -----------------------------------------------------------------------------

enum record {
    RECORD_PROCESS,
    RECORD_TXN,
    RECORD_CHANGE,
    RECORD_LINE,
    RECORD_FAULT,
    RECORD_DELIVERY,
    RECORD_PROBE,
    RECORD_STALL,
};

// Fills the fields of a record for which the event has a value.
void record_fill(enum record kind, void *record, const struct event *event);

// Gives the event the values of all fields of a record; start_ns is the time 0 of the story on the
// record's clock.
void record_tell(enum record kind, const void *record, struct event *event, int64_t start_ns);

// --- claims.c ----------------------------------------------------------------------------

// Reads the claims behind =>. `keep` keeps a copy of a text.
MUST_USE bool claims_read(struct told *t, struct words *w,
    const char *(*keep)(void *arg, const char *text), void *arg, struct err *e);

// --- read.c ------------------------------------------------------------------------------

// Returns the scenario that a story begins with, as a tree.
MUST_USE bool story_base(struct node **root, struct err *e);
