// Declarations that the files of this folder share; no other folder includes them.
//
// The table in vocabulary.c has a row for each kind of event: the words of its line, the field of
// the history's record that each word fills, with its unit and its default, and the array of the
// history in which the records stand. An event holds its record in the form in which it will be
// stored. So one row serves to read, repeat, compare and write an event. What is special about a
// kind is left for build.c (text to history) and write.c, records.c (history to text).
//
// Rejected: events as maps of YAML, read by the scenario's tables. A word here may fill a bit, a
// flag with a time, or the growth since the record before, none of which a scenario has; `at 150`
// would need a unit and braces; and a value that was said must be told from a default, because only
// the former is written.
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"
#include "story/story.h"

#define STORY_EVENTS_MAX 50000u  // events of one story, repetitions included
#define STORY_TOKENS_MAX 100000u // planned tokens of one story; also the tokens in all its lines
#define STORY_PROCESSES_MAX 1000u
#define STORY_START_NS (1000 * NS_PER_S)           // the time 0 of a story on the run's clock
#define TIME_MAX (INT64_C(100) * 86400 * NS_PER_S) // most ns before or after the load's beginning
#define NUMBER_NONE UINT32_MAX // a token that the plan does not have; a fault with a map of its own

// --- vocabulary.c ------------------------------------------------------------------------

// The kinds in the order in which a history is built of them.
enum event_kind {
    EVENT_SET,
    EVENT_LIKE,
    EVENT_REPEAT,
    EVENT_LOAD,
    EVENT_TOKEN, // after this kind, the ledger is made; all kinds below need it
    EVENT_RUN,
    EVENT_PROCESS,
    EVENT_CHANGE,
    EVENT_FAULT,
    EVENT_SESSION,
    EVENT_LINE,
    EVENT_ITEM, // tokens of the line before the item
    EVENT_SAMPLE,
    EVENT_LOOK,
    EVENT_PROBE,
    EVENT_FLUSH,
    EVENT_STALL,
    EVENT_PRESENCE,
    EVENT_HOLD,
    EVENT_ROW, // this and the next say what the tables hold at the end
    EVENT_ATTEMPT,
    EVENT_KINDS
};

enum value_type {
    VALUE_TIME,   // ns on the run's clock; in the text, ms since the load began
    VALUE_WHEN,   // as VALUE_TIME; the field is 0 for never
    VALUE_END,    // as VALUE_TIME; the field is CLOCK_NEVER for never
    VALUE_EXPIRY, // as VALUE_TIME, but the field, too, counts from the load's beginning
    VALUE_LENGTH, // ns; in the text ms
    VALUE_ANSWER, // as VALUE_LENGTH; the field is CLOCK_NEVER for never
    VALUE_COUNT,
    VALUE_SHARE,   // millionths; in the text percent, which is read as if it were ms; `unit` is 100
    VALUE_TEXT,    // within quotes
    VALUE_COLUMNS, // names of columns, with commas; bits of enum token_row
    VALUE_FLAG,    // the word has no value behind it: it sets the field to `flag`
    VALUE_FLAG_TIME, // as VALUE_FLAG, and the time behind the word (as VALUE_WHEN) goes into the
                     // field at `time`
};

struct event_word {
    const char *name;
    enum value_type type;
    size_t at, size; // place and size of the field within struct event
    int64_t flag;
    int64_t mask; // the bits of the field that the word is about; 0: all
    int64_t unit; // how many ns make 1 in the field; 0 means 1
    size_t time;
    bool grows; // the story says by how much the field exceeds that of the record before this one
    // The default of the field: `usual` or, with `like`, the field of the word with that name plus
    // `usual`.
    int64_t usual;
    const char *like;
    bool said; // this table has no default: there is none, or usual.c knows it
};

#define WORDS_MAX 20 // words of one kind

struct kind {
    const char *name;
    enum { HEAD_NONE, HEAD_NUMBER, HEAD_RANGE, HEAD_REST, HEAD_FAULT } head;
    struct event_word words[WORDS_MAX]; // in the order in which they are written
    const char *time;                   // the word by which the events are sorted
    // Where struct history has the array of these records and their number, and the size of one
    // record. size 0: they are kept elsewhere.
    size_t array, count, size;
    const char *needs; // a word that must be said
    const char *why;   // the error when it is missing
};

extern const struct kind vocabulary[EVENT_KINDS];

struct event {
    enum event_kind kind;
    struct origin origin;
    uint32_t first,
        last; // the first and the last number of its tokens, or the number of its process or fault;
              // of a repeat, `first` is how often
    uint32_t items;   // of a line: how many items follow it
    uint64_t given;   // the words that have a value, a bit for each
    const char *text; // a setting, a fault's map, a reason; the story owns it
    union {
        char record[512]; // the record, whatever its kind
        struct {
            int64_t every_ns, step;
        } repeat;
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
        struct ledger_token row; // but its field `row` says which columns differ from the default
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

// event_get returns the field of a word, or those bits of it that the word is about. event_value
// returns the number that stands behind the word in the text: for a flag with a time, the time; for
// all others, what event_get returns. The other two set what these return.
int64_t event_get(const struct event *e, const struct event_word *word);
int64_t event_value(const struct event *e, const struct event_word *word);
void event_put(struct event *e, const struct event_word *word, int64_t value);
void event_put_value(struct event *e, const struct event_word *word, int64_t value);

// Returns the bit of a word in `given`. Words for the same bits of a field share one, so that only
// one of them can be said.
uint64_t event_bit(const struct event *e, const struct event_word *word);

// Returns the word with this name or, where several words fill the same field, the first of them.
const struct event_word *event_word(const struct event *e, const char *name);

// True when this word was said, or another one for the same field.
bool event_has(const struct event *e, const char *name);
void event_forget(struct event *e, const char *name);

// Gives the field of the word with this name a value, unless one of its words was said already.
void event_usual(struct event *e, const char *name, int64_t value);

// Takes over what the other event says. Where both say something, the other one counts.
void event_say(struct event *e, const struct event *other);

// Marks all words as said.
void event_give_all(struct event *e);

// True when `next` says the same as `e`, of the numbers just after those of `e`.
bool event_follows(const struct event *e, const struct event *next);

// Returns the time by which the events of this kind are sorted; 0 when they have none.
int64_t event_time(const struct event *e);

// Moves the times of an event; with `all`, those that no word has said as well.
void event_shift(struct event *e, int64_t by_ns, bool all);

// Adds to each field that grows the value in the record before, or with sign -1 subtracts it.
// `before` NULL: does nothing.
void event_grow(struct event *e, const void *before, int sign);

// Returns the history's records of a kind and sets *count to their number; NULL when there are
// none.
const char *event_records(const struct history *h, enum event_kind kind, size_t *count);

// Returns the record before the one with this index; for a sample, the one before it of the same
// process. NULL: there is none.
const void *event_record_before(const struct history *h, const struct event *e, size_t index);

// --- usual.c -----------------------------------------------------------------------------

// What the values that a story leaves out depend on.
struct usual {
    int64_t load_ns, run_ns;       // when load and run end, since the load began
    const struct subject_log *log; // its processes, to find a line's writer
    const void *before;            // the record of this kind before this one; NULL: none
    const struct event *row;       // for a row: what the tables hold when no row says otherwise
};

// Fills in what the event does not say.
void event_complete(struct event *e, const struct usual *u);

// Marks each word as not said whose value event_complete would fill in again.
void event_spare(struct event *e, const struct usual *u);

// Returns an event that says all that the tables hold of a token at the end. `without` is the same
// token as usual_rows leaves it; changed columns are given as the difference from it.
struct event usual_row(const struct ledger_token *token, const struct ledger_token *without);

// Fills in what the tables hold at the end where no row says otherwise: every committed token is
// there, every committed token that cannot be sent has a dead letter, and in leased mode the
// outcome of a token is what its last answer says. lines[i] says whether the answers to line i
// count; NULL: all do.
void usual_rows(struct ledger_token *tokens, const struct history *h, const bool *lines);

// --- words.c -----------------------------------------------------------------------------

// One line while it is read.
struct words {
    const char *at; // what is left of the line
    const char *start;
    struct origin origin; // of the line's first character
    struct told *told;    // keeps the texts
    bool claims; // the line is one of claims: , ( and ) are words of their own, and a ':' is an
                 // ordinary character
};

// Takes the next word, quotation or map of the line; false at the end of the line and before a ':'.
// A word that is too long for `size` is cut; *place is where it begins.
bool words_next(struct words *w, char *word, size_t size, struct origin *place);

// Returns the index of the word among the known ones. Without a match it returns `count`, and the
// error names the nearest known word or, if none is near, all of them.
size_t words_which(const struct origin *at, const char *word, const char *const *known,
    size_t count, struct err *e);

// Sets *text to the text within the quotes of `word`, a copy that lives as long as the story. False
// when there are no quotes.
MUST_USE bool words_text(
    struct words *w, const struct origin *at, char *word, const char **text, struct err *e);

// Reads an event up to the end of the line, or up to its ':'.
MUST_USE bool event_read(struct words *w, struct event *event, struct err *e);

// Reads one token or range of tokens of a line, with what became of it; sets *end when there was no
// further one.
MUST_USE bool event_read_item(struct words *w, struct event *item, bool *end, struct err *e);

// Appends an event as event_read reads it, without a newline; an item begins with a blank.
void event_write(const struct event *event, struct buf *out);

// --- build.c, faults.c -------------------------------------------------------------------

// Makes scenario and history of the events. `root` is the scenario's tree; story_build adds the
// faults to it.
MUST_USE bool story_build(
    struct told *t, const struct event *events, size_t count, struct node *root, struct err *e);

// Adds the maps of the faults to the scenario's tree, with the times of their events.
MUST_USE bool story_specs(
    const struct event *events, size_t count, struct node *root, struct err *e);

// Sets *spec to the number of the fault's map among all maps. An event without a map names an
// earlier fault; false when that has none.
MUST_USE bool story_spec_of(const struct event *events, size_t count, const struct event *event,
    uint32_t *spec, struct err *e);

// --- claims.c, read.c --------------------------------------------------------------------

// Reads the claims after =>.
MUST_USE bool claims_read(struct words *w, struct err *e);

// Returns the scenario that a story begins with, as a tree.
MUST_USE bool story_base(struct node **root, struct err *e);

// Keeps a copy of a text; NULL without memory.
const char *story_keep(struct told *t, const char *text);

// --- pick.c, records.c, write.c, write_settings.c ----------------------------------------

#define DROPPED UINT32_MAX // the new number of a token or process that is not written

// The text of one event. The text has events in the order of time; before them stands what lasts,
// and after them what was measured and what the tables hold.
struct piece {
    int64_t ns;
    size_t number, from, len;
};

struct writer {
    const struct scenario *s;
    const struct history *h;
    const struct ledger *l;
    struct part *part; // NULL: everything
    bool explain;
    struct usual usual;
    struct subject_log log; // the processes with their new numbers, for the default of `by`
    uint32_t *token_no, *process_no;
    uint32_t *fault_no; // per fault of the scenario: the number of the first written event that has
                        // its map; DROPPED: none yet
    uint32_t fault_count;
    bool *line_kept;
    struct line_record *guessed; // the lines, with the times of writing that a reader guesses when
                                 // the text does not say them
    struct buf *out, map;
    struct piece *pieces;
    size_t piece_count;
    bool failed;
};

// True when a time touches the part that is written.
static inline bool is_inside(const struct writer *w, int64_t from_ns, int64_t until_ns)
{
    return !w->part || (from_ns <= w->part->until_ns && until_ns >= w->part->from_ns);
}

// True when the tokens keep their numbers.
static inline bool write_keeps_numbers(const struct writer *w)
{
    return w->h->plan.token_count <= STORY_TOKENS_MAX;
}

// Chooses what is written, and gives tokens and processes their new numbers.
void write_pick(struct writer *w);

// Writes the settings that differ from those with which every story begins.
MUST_USE bool write_scenario(const struct writer *w);

// Writes the records of a kind, one event each.
void write_records(struct writer *w, enum event_kind kind);

// Writes what the tables hold at the end, where a reader would not expect it.
MUST_USE bool write_rows(struct writer *w);

// Returns the record as an event in which all words are said.
struct event write_event_of(const struct writer *w, enum event_kind kind, const void *record);

// Marks the words as not said that a reader fills in by itself; with `explain`, does nothing.
void write_spare(const struct writer *w, struct event *event);

// Writes an event without the words that a reader fills in by itself.
void write_event(struct writer *w, struct event *event);

// Writes an event to which write_spare was applied already; `ns` is its place in the order of time.
void write_spared(struct writer *w, const struct event *event, int64_t ns);
