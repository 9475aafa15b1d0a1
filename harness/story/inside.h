// The parts of this folder share these declarations; nobody else includes them.
//
// An event holds a record of the history as it will be stored, with the times on a story's own
// clock. A word of the text is a field of this record, and the table in vocabulary.c says which. So
// one table serves to read, to repeat, to compare and to write, and most kinds need nothing else.
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"
#include "story/story.h"

#define STORY_EVENTS_MAX 50000u  // events of one story, repetitions included
#define STORY_TOKENS_MAX 100000u // tokens, and tokens in lines
#define STORY_PROCESSES_MAX 1000u
#define STORY_START_NS (1000 * NS_PER_S)           // the time 0 of a story on the run's clock
#define TIME_MAX (INT64_C(100) * 86400 * NS_PER_S) // most ns before or behind the load's beginning
#define NUMBER_NONE UINT32_MAX // a token that the plan does not have; a fault with a map of its own

// --- vocabulary.c ------------------------------------------------------------------------

// The kinds in the order in which a history is built of them.
enum event_kind {
    EVENT_SET,
    EVENT_LOAD,
    EVENT_RUN,
    EVENT_PROCESS,
    EVENT_TOKEN,
    EVENT_CHANGE,
    EVENT_FAULT,
    EVENT_SESSION,
    EVENT_LINE,
    EVENT_ITEM, // the tokens of the line before it
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

enum value_type {
    VALUE_TIME,   // ns on the run's clock; in the text, ms since the load began
    VALUE_WHEN,   // the same; 0: never
    VALUE_END,    // the same; CLOCK_NEVER: never
    VALUE_LENGTH, // in the text, ms; a unit of the field has `flag` ns
    VALUE_ANSWER, // ns, or CLOCK_NEVER
    VALUE_COUNT,
    VALUE_SHARE,     // millionths; in the text, percent
    VALUE_TEXT,      // within quotes
    VALUE_COLUMNS,   // names of columns, with commas; bits of enum token_row
    VALUE_FLAG,      // the word says it all: the field is `flag`
    VALUE_FLAG_TIME, // the same, and a time for the field at `time`
    VALUE_BIT,       // the field has the bit `flag`
};

struct event_word {
    const char *name;
    enum value_type type;
    size_t at, size; // the field within struct event
    int64_t flag;
    size_t time;
    bool grows; // the story says by how much the field exceeds that of the record before
    // Without a word the field is `usual`; or that of the field `like`, and this much later.
    int64_t usual;
    size_t like;
    bool said; // no value is usual, or usual.c knows it
};

#define WORDS_MAX 20 // words of one kind

struct kind {
    const char *name;
    enum { HEAD_NONE, HEAD_NUMBER, HEAD_RANGE, HEAD_REST, HEAD_FAULT } head;
    struct event_word words[WORDS_MAX]; // the order in which they are written
    size_t time;                        // the field of struct event by which the events are sorted
    // Where a history keeps the records, and how large one is; size 0: elsewhere.
    size_t array, count, size;
    size_t needs;    // the field of a word that must be said
    const char *why; // the error without it; NULL: no such word
};

extern const struct kind vocabulary[EVENT_KINDS];

struct event {
    enum event_kind kind;
    struct origin origin;
    uint32_t first, last; // the numbers of tokens, of a process, of a fault
    uint32_t items;       // of a line: how many items follow it
    uint64_t given;       // the words that have a value, a bit for each
    const char *text;     // a setting, a fault's map, a reason; the story owns it
    union {
        char record[512]; // any of them
        struct {
            int64_t until_ns, stalled_ns;
            size_t refused;
        } load;
        struct {
            int64_t until_ns, others;
            size_t reconnects, strangers;
            bool interrupted;
            enum logs logs;
        } run;
        struct {
            struct process_record record;
            int signal, exit;
        } process;
        struct {
            struct txn_record record;
            int64_t due_ns;
            enum token_kind kind;
            bool settled, backlog;
        } token;
        struct {
            struct change_record record;
            enum change_kind kind;
        } change;
        struct line_record line;
        struct delivery item;
        struct fault_record fault;
        int64_t session_ns;
        struct process_sample sample;
        struct starved_sample look;
        struct probe_sample probe;
        struct stall stall;
        struct presence_look presence;
        struct presence_hold hold;
        struct {
            int64_t expires_ns;
            bool present, waiting, unmarked, told;
            uint8_t buried, outcome;
            uint16_t changed; // 0: the columns are unknown
        } row;
        struct attempt_record attempt;
    };
};

// --- event.c -----------------------------------------------------------------------------

#define FIELD(name) offsetof(struct event, name)

// NOLINTBEGIN(bugprone-macro-parentheses): a declared name has none
#define FOR_WORDS(each, e)                                                                         \
    for (const struct event_word *each = vocabulary[(e)->kind].words;                              \
         each < vocabulary[(e)->kind].words + WORDS_MAX && each->name; each++)
// NOLINTEND(bugprone-macro-parentheses)

int64_t event_get(const struct event *e, size_t at, size_t size);
void event_put(struct event *e, size_t at, size_t size, int64_t value);

// Returns the bit of a word in `given`. Words that fill the same field share one, so that only one
// of them can be said; each flag of a set has its own.
uint64_t event_bit(const struct event *e, const struct event_word *word);

// True when a word for this field was said.
bool event_has(const struct event *e, size_t field);

// Returns the first word for this field.
const struct event_word *event_word_for(const struct event *e, size_t field);

// Forgets that a word was said for this field.
void event_forget(struct event *e, size_t field);

// Gives a field a value unless a word has done so.
void event_usual(struct event *e, size_t field, int64_t value);

// Gives each field that no word has said the value that it has in the other event, if it has one.
void event_fill(struct event *e, const struct event *other);

// Says all words.
void event_give_all(struct event *e);

// True when both say the same of what they are about.
bool event_same(const struct event *a, const struct event *b);

// Takes away each word whose value is the usual one.
struct usual;
void event_spare(struct event *e, const struct usual *u);

// Returns the time by which the events of a kind are sorted, 0 without one.
int64_t event_time(const struct event *e);

// Moves the times of an event; with `all` also those that no word has said.
void event_shift(struct event *e, int64_t by_ns, bool all);

// Adds to each field that grows the value that the record before has, or takes it away.
void event_grow(struct event *e, const void *before, int sign);

// --- words.c -----------------------------------------------------------------------------

// One line while it is read.
struct words {
    const char *at; // what is left of it
    const char *start;
    struct origin origin; // of the line's first character
    struct told *told;    // keeps the texts
};

// Takes the next word, quotation or map of the line; false at the end of the line and before a ':'.
// The word is cut at `size`, and `place` is its origin.
bool words_next(struct words *w, char *word, size_t size, struct origin *place);

// Reads a time, a length or a number as the words of an event have it.
MUST_USE bool words_ms(const struct origin *at, const char *word, int64_t *ns, struct err *e);
MUST_USE bool words_count(const struct origin *at, const char *word, int64_t *count, struct err *e);

// Says which word is not known, and which known one is near.
bool words_unknown(const struct origin *at, const char *word, const char *const *known,
    size_t count, struct err *e);

// Keeps a copy of a text within quotes for as long as the story lives.
MUST_USE bool words_text(
    struct words *w, const struct origin *at, char *word, const char **text, struct err *e);

// Reads an event up to the end of the line, or up to its ':'.
MUST_USE bool event_read(struct words *w, struct event *event, struct err *e);

// Reads one token or range of tokens of a line, with what became of it; sets *end behind the last.
MUST_USE bool event_read_item(struct words *w, struct event *item, bool *end, struct err *e);

// Appends an event as event_read reads it, without a newline; an item begins with a blank.
void event_write(const struct event *event, struct buf *out);

// --- usual.c -----------------------------------------------------------------------------

// What the values that a story leaves out depend on.
struct usual {
    int64_t load_ns, run_ns;          // when load and run end
    const struct subject_log *log;    // a line's writer is looked for in it
    const void *before;               // the record of this kind before this one; NULL: none
    const struct ledger_token *token; // of a row: the token without it
};

// Fills in what the event does not say.
void event_complete(struct event *e, const struct usual *u);

// Makes the row of a token at the end of the run; `without` is the token that no row would say
// anything about.
struct event row_of(const struct ledger_token *token, const struct ledger_token *without);

// Fills in what the tables hold at the end where no row says otherwise: every committed token is
// there, every one that cannot be sent is buried, and the end of a leased one is what its last
// answer says. Only the lines that `lines` has are looked at; NULL: all.
void story_settle_rows(struct ledger_token *tokens, const struct history *h, const bool *lines);

// Returns the record before the one with this index, which is of the event's kind, NULL without
// one; of a sample: of the same process.
const void *record_before(const struct history *h, const struct event *e, size_t index);

// --- build.c -----------------------------------------------------------------------------

// Makes scenario and history of the events. The root is the scenario's tree, without its faults.
MUST_USE bool story_build(
    struct told *t, const struct event *events, size_t count, struct node *root, struct err *e);

// --- faults.c ----------------------------------------------------------------------------

// Adds the maps of the faults to the scenario's tree, with the times of their events.
MUST_USE bool story_specs(
    const struct event *events, size_t count, struct node *root, struct err *e);

// Finds the number of the fault's map among all maps; the event may name an earlier fault.
MUST_USE bool story_spec_of(const struct event *events, size_t count, const struct event *event,
    uint32_t *spec, struct err *e);

// --- claims.c ----------------------------------------------------------------------------

// Reads the claims behind =>.
MUST_USE bool claims_read(struct told *t, struct words *w, struct err *e);

// --- read.c ------------------------------------------------------------------------------

// Returns the scenario that a story begins with, as a tree.
MUST_USE bool story_base(struct node **root, struct err *e);

// Keeps a copy of a text; NULL without memory.
const char *story_keep(struct told *t, const char *text);

// --- pick.c, records.c, settings.c, write.c ----------------------------------------------

#define DROPPED UINT32_MAX // the new number of what is not written

// The text of one event. Events are written in the order of time; before them what lasts, and
// behind them what was measured and what the tables hold.
struct piece {
    int64_t ns;
    size_t number, from, len;
};

struct writer {
    const struct scenario *s;
    const struct history *h;
    const struct ledger *l;
    const struct part *part; // NULL: everything
    bool explain;
    struct usual usual;
    struct subject_log log; // the processes with their new numbers, for the default of `by`
    uint32_t *token_no, *process_no;
    bool *line_kept;
    struct line_record *guessed; // when each line was written, if nobody says it
    struct buf *out;
    struct piece *pieces;
    size_t piece_count;
    bool failed;
};

// True when a time touches the part that is written.
static inline bool is_inside(const struct writer *w, int64_t from_ns, int64_t until_ns)
{
    return !w->part || (from_ns <= w->part->until_ns && until_ns >= w->part->from_ns);
}

// Chooses what is written, and gives tokens and processes their new numbers.
void write_pick(struct writer *w);

// Writes the settings that are not those of every story.
MUST_USE bool write_scenario(const struct writer *w);

// Writes the records of a kind, one event each.
void write_records(struct writer *w, enum event_kind kind);

// Writes what the tables hold at the end, where a reader would not expect it.
MUST_USE bool write_rows(struct writer *w);
void write_attempts(struct writer *w);

// Returns the record as an event of which everything is said.
struct event write_event_of(const struct writer *w, enum event_kind kind, const void *record);

// Takes away what a reader fills in by itself.
void write_spare(const struct writer *w, struct event *event);

// Writes an event without what a reader fills in by itself.
void write_event(struct writer *w, struct event *event);

// Writes an event that is spared already, at its place in the order of time.
void write_spared(struct writer *w, const struct event *event, int64_t ns);

// True when the second event says of the next numbers what the first says.
bool write_follows(const struct event *event, const struct event *next);
