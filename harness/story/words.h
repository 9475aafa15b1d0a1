// The words of a story: a line of text to an event, and back. Two tables drive both directions.
//
// Times are ns since the load began; in the text they are ms. A word fills a slot, and every kind
// of event has words of its own.
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "scenario/node.h"

enum slot {
    SLOT_AT,
    SLOT_DUE,
    SLOT_COMMIT,
    SLOT_ACK,
    SLOT_FROM,
    SLOT_UNTIL,
    SLOT_EMPTY,
    SLOT_SEEN,
    SLOT_BACK,
    SLOT_BACK_ACK,
    SLOT_PLANNED,
    SLOT_SOUGHT,
    SLOT_STRUCK,
    SLOT_UNDONE,
    SLOT_SERVED,
    SLOT_LEFT,
    SLOT_LEFT_OUT,
    SLOT_OK,
    SLOT_BY,
    SLOT_INSTANCE,
    SLOT_EXIT,
    SLOT_SIGNAL,
    SLOT_ASKED,
    SLOT_OUTCOME,
    SLOT_KIND,
    SLOT_THERE,
    SLOT_BACKLOG,
    SLOT_PRESENT,
    SLOT_BURIED,
    SLOT_WAITING,
    SLOT_UNMARKED,
    SLOT_EXPIRES,
    SLOT_CHANGED,
    SLOT_TOLD,
    SLOT_NUMBER,
    SLOT_STATE,
    SLOT_FORGED,
    SLOT_NAMED,
    SLOT_REFUSED,
    SLOT_OLD_NAME,
    SLOT_REPLY,
    SLOT_REPLIED,
    SLOT_RSS,
    SLOT_CPU,
    SLOT_WAKEUPS,
    SLOT_STARVED,
    SLOT_WAITED,
    SLOT_OWN,
    SLOT_BUSY,
    SLOT_LOAD,
    SLOT_RAN,
    SLOT_STALLED,
    SLOT_TOOK,
    SLOT_FAILED,
    SLOT_INTERRUPTED,
    SLOT_OTHERS,
    SLOT_RECONNECTS,
    SLOT_STRANGERS,
    SLOT_TEXT,
    SLOTS
};

// The kinds in the order in which a history is built of them.
enum event_kind {
    EVENT_SET,
    EVENT_FAULT,
    EVENT_LOAD,
    EVENT_RUN,
    EVENT_PROCESS,
    EVENT_TOKEN,
    EVENT_CHANGE,
    EVENT_LINE,
    EVENT_ITEM, // the tokens of the line before it
    EVENT_SESSION,
    EVENT_SAMPLE,
    EVENT_LOOK,
    EVENT_PROBE,
    EVENT_FLUSH,
    EVENT_STALL,
    EVENT_PRESENCE,
    EVENT_HOLD,
    EVENT_ROW, // from here on, what the tables hold at the end
    EVENT_ATTEMPT,
    EVENT_KINDS
};

#define TIME_MAX (INT64_C(100) * 86400 * NS_PER_S) // most ns before or behind the load's beginning
#define NUMBER_NONE UINT32_MAX // a token that the plan does not have; a fault with a map of its own

struct event {
    enum event_kind kind;
    struct origin origin;
    uint32_t first, last; // the numbers of tokens, of a process, of a fault
    uint32_t items;       // of a line: how many items follow it
    uint64_t given;       // the slots that have a value, a bit for each
    int64_t value[SLOTS];
    const char *text; // a setting, a fault's map, a reason; the story owns it
};

// One line while it is read.
struct words {
    const char *at; // what is left of it
    const char *start;
    struct origin origin; // of the line's first character
};

static inline bool event_has(const struct event *e, enum slot slot)
{
    return e->given >> slot & 1;
}

void event_set(struct event *e, enum slot slot, int64_t value);

// Moves an event in time, and to other numbers of tokens or processes.
void event_shift(struct event *e, int64_t by_ns, uint32_t numbers);

// Takes the next word, quotation or map of the line; false at the end of the line and before a ':'.
// The word is cut at `size`, and `place` is its origin.
bool words_next(struct words *w, char *word, size_t size, struct origin *place);

// Reads a time, a length or a number as the words of an event have it.
MUST_USE bool words_ms(const struct origin *at, const char *word, int64_t *ns, struct err *e);
MUST_USE bool words_count(const struct origin *at, const char *word, int64_t *count, struct err *e);

// Says which word is not known, and which known one is near.
bool words_unknown(const struct origin *at, const char *word, const char *const *known,
    size_t count, struct err *e);

// Reads an event up to the end of the line, or up to its ':'. `keep` keeps a copy of a text for as
// long as the event lives; NULL without memory.
MUST_USE bool event_read(struct words *w, struct event *event,
    const char *(*keep)(void *arg, const char *text), void *arg, struct err *e);

// Reads one token or range of tokens of a line, with what became of it; sets *end behind the last.
MUST_USE bool event_read_item(struct words *w, struct event *item, bool *end, struct err *e);

// Appends an event as event_read reads it, without a newline; an item begins with a blank.
void event_write(const struct event *event, struct buf *out);

const char *event_name(enum event_kind kind);
