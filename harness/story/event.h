// Declarations that the files of this folder share; no other folder includes them.
//
// The table in vocabulary.c has a row for each kind of event: the words of its line, the field of
// the history's record that each word fills, with its unit and its default, and the array of the
// history in which the records stand. An event holds its record in the form in which it will be
// stored. So one row serves to read, repeat, compare and write an event. Whatever a row cannot say
// about a kind is code: in build.c (text to history), and in write.c and write_records.c (history
// to text).
//
// Rejected: events as maps of YAML, read by the scenario's tables. A scenario has no words that
// fill one bit, or a flag and a time, or the growth since the previous record. `at 150` would need
// a unit and braces. And only the values that differ from their default are written, so each event
// must know which of its words were given.
#pragma once

#include "story/story.h"

#define STORY_EVENTS_MAX 50000u  // events of one story, repetitions included
#define STORY_TOKENS_MAX 100000u // planned tokens of one story; also the tokens in all its lines
#define STORY_PROCESSES_MAX 1000u
#define STORY_START_NS (1000 * NS_PER_S)           // the time 0 of a story on the run's clock
#define TIME_MAX (INT64_C(100) * 86400 * NS_PER_S) // most ns before or after the load's beginning
#define END_GRACE_NS (10 * NS_PER_MS) // by default a process lives this long after the run's end
#define NUMBER_NONE UINT32_MAX // a token that the plan does not have; a fault with a map of its own

// --- vocabulary.c ------------------------------------------------------------------------

// The kinds in the order in which build.c builds them.
enum event_kind {
    EVENT_SET,
    EVENT_LIKE,
    EVENT_REPEAT,
    EVENT_LOAD,
    EVENT_TOKEN, // after this kind, the ledger is made; kinds below may use it
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
    EVENT_ROW, // rows and attempts say what the tables hold at the end
    EVENT_ATTEMPT,
    EVENT_KINDS
};

enum value_type {
    VALUE_TIME,   // ns on the run's clock; in the text, ms since the load began
    VALUE_WHEN,   // as VALUE_TIME; the field is 0 for never
    VALUE_END,    // as VALUE_TIME; the field is CLOCK_NEVER for never
    VALUE_EXPIRY, // s in the field, ms in the text; both count from the load's beginning
    VALUE_LENGTH, // ns; in the text ms
    VALUE_ANSWER, // as VALUE_LENGTH; the field is CLOCK_NEVER for never
    VALUE_COUNT,
    VALUE_SHARE,   // millionths; in the text percent: 1% is read as 1 ms, which `unit` makes 10,000
    VALUE_TEXT,    // within quotes
    VALUE_COLUMNS, // names of columns between commas; in the field, bits of enum token_row
    VALUE_FLAG,    // the word has no value behind it: it sets the field to `flag`
    VALUE_FLAG_TIME, // as VALUE_FLAG, and the time behind the word (as VALUE_WHEN) goes into the
                     // field at `time`
};

struct event_word {
    const char *name;
    enum value_type type;
    size_t at, size; // place and size of the field within struct event
    int64_t flag;    // of VALUE_FLAG and VALUE_FLAG_TIME: what the word puts into the field
    int64_t mask;    // the bits of the field that the word is about; 0: all
    int64_t unit;    // how many ns make 1 in the field; 0 means 1
    size_t time;     // of VALUE_FLAG_TIME: place of the field that takes the time
    bool cumulative; // the field is a running sum; the text has the growth since the record before
    // The default of the field is `default_value`. With `like`, it is the field of the word with
    // that name, plus `default_value`.
    int64_t default_value;
    const char *like;
    bool no_default; // the field has no default, or only the code in defaults.c can find it
};

#define WORDS_MAX 20 // words of one kind

struct kind {
    const char *name;
    // What stands behind the name: nothing; a number; a number or a range of tokens such as 4-6;
    // the rest of the line, taken as it is; a fault's map, or the number of an earlier fault.
    enum { HEAD_NONE, HEAD_NUMBER, HEAD_RANGE, HEAD_REST, HEAD_FAULT } head;
    struct event_word words[WORDS_MAX]; // in the order in which they are written
    const char *time;                   // the word by which the events are sorted
    // Offsets in struct history of the array of these records and of their number, and the size of
    // one record. size 0: the kind has no such array.
    size_t array, count, size;
    const char *needs; // a word that must be given
    const char *why;   // the error when it is missing
};

extern const struct kind vocabulary[EVENT_KINDS];

struct event {
    enum event_kind kind;
    struct origin origin;
    // The first and the last number of its tokens. For one token, process or fault, both are its
    // number. Of a repeat, `first` is how often.
    uint32_t first, last;
    uint32_t items;   // of a line: how many EVENT_ITEM follow it in the array of events
    uint64_t given;   // the words that the event has, a bit for each
    const char *text; // a setting, another story, a fault's map, a reason; not owned
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
        struct ledger_token row; // its field `row` has the columns that differ from the default
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

// Read and set the field of a word, or those bits of it that the word is about.
int64_t event_get(const struct event *e, const struct event_word *word);
void event_put(struct event *e, const struct event_word *word, int64_t value);

// Read and set what stands behind the word in the text. Of a flag with a time that is the time, and
// of every other word its field.
int64_t event_value(const struct event *e, const struct event_word *word);
void event_put_value(struct event *e, const struct event_word *word, int64_t value);

// Returns the bit of a word in `given`. Words for the same bits of a field share one, so that only
// one of them can be given.
uint64_t event_bit(const struct event *e, const struct event_word *word);

// Returns the word with this name or, where several words fill the same field, the first of them.
const struct event_word *event_word(const struct event *e, const char *name);

// True when this word is given, or another one for the same field.
bool event_has(const struct event *e, const char *name);

// Marks this word as not given. Its field keeps its value.
void event_unset(struct event *e, const char *name);

// Puts a default into the field of this word and marks the word as given, unless it is given
// already, or another one for the same field.
void event_default(struct event *e, const char *name, int64_t value);

// Copies all words that are given in `other` into `e`, also over those that `e` has.
void event_merge(struct event *e, const struct event *other);

// Marks all words as given.
void event_set_all(struct event *e);

// True when `next` has the same words and values as `e`, and its numbers begin just after those of
// `e`. Both can then be written as one event.
bool event_follows(const struct event *e, const struct event *next);

// Returns the time by which the events of this kind are sorted; 0 when they have none.
int64_t event_time(const struct event *e);

// Moves the times of an event by `by_ns`. With `all`, they go over to another clock: every time
// moves, but not an expiry, which counts from the load's beginning on either clock. Without `all`,
// the event comes again later: the times whose words are given move, and so does an expiry.
void event_shift(struct event *e, int64_t by_ns, bool all);

// Turns the cumulative fields from growths into sums (sign 1) or from sums into growths (sign -1):
// adds or subtracts their values in the record `before`, if there is one (not NULL).
void event_accumulate(struct event *e, const void *before, int sign);

// Returns the history's records of a kind and sets *count to their number; NULL when there are
// none.
const char *event_records(const struct history *h, enum event_kind kind, size_t *count);

// Returns the record before the one with this index; for a sample, the one before of the same
// process. NULL: there is none. `e` gives the kind and, for a sample, the process.
const void *event_record_before(const struct history *h, const struct event *e, size_t index);

// --- defaults.c -----------------------------------------------------------------------------

// What defaults depend on, beside the event itself.
struct default_context {
    int64_t load_ns, run_ns;       // when load and run end, since the load began
    const struct subject_log *log; // its processes, to find a line's writer
    const void *before;            // the record of this kind before this one; NULL: none
    const struct event *row;       // for a row: what the tables hold when no row says otherwise
};

// Fills in the default of every word that has one and is not given, and marks the word as given.
void event_complete(struct event *e, const struct default_context *u);

// Marks each word as not given whose value event_complete would fill in again.
void event_drop_defaults(struct event *e, const struct default_context *u);

// Returns an event that says all that the tables hold of a token at the end. `without` is the same
// token as default_rows leaves it; the event has the columns that differ from it.
struct event row_event(const struct ledger_token *token, const struct ledger_token *without);

// Fills in what the tables hold at the end where no row says otherwise: every committed token is
// there, every committed token that cannot be sent has a dead letter, and in leased mode the
// outcome of a token is what its last final answer says. lines[i] says whether the answers to line
// i count; NULL: all do.
void default_rows(struct ledger_token *tokens, const struct history *h, const bool *lines);

// --- words.c -----------------------------------------------------------------------------

// One line while it is read.
struct words {
    const char *at; // what is left of the line
    const char *start;
    struct origin origin; // of the line's first character
    struct story *story;  // keeps the texts
    bool claims; // the line is one of claims: , ( and ) are words of their own, and a ':' is an
                 // ordinary character
};

// Takes the next word, quotation or map of the line. False at the end of the line and before a ':';
// then `word` is empty. A word that is too long for `size` is cut; *place is where it begins.
bool words_next(struct words *w, char *word, size_t size, struct origin *place);

// Returns the index of the word among the known ones. Without a match, returns `count`, and the
// error names the nearest known word or, if none is near, all of them.
size_t words_find(const struct origin *at, const char *word, const char *const *known, size_t count,
    struct err *e);

// Sets *text to the text within the quotes of `word`, a copy that lives as long as the story. `at`
// is the word's place, for the error when it has no quotes.
MUST_USE bool words_unquote(
    struct words *w, const struct origin *at, char *word, const char **text, struct err *e);

// Reads an event up to the end of the line, or up to its ':'.
MUST_USE bool event_read(struct words *w, struct event *event, struct err *e);

// Reads one item of a line: a token or a range of tokens, and the words behind it. Sets *end when
// there was no further one.
MUST_USE bool event_read_item(struct words *w, struct event *item, bool *end, struct err *e);

// Appends the words that the event has, as event_read reads them, without a newline. An item begins
// with a blank.
void event_write(const struct event *event, struct buf *out);

// --- build.c, faults.c -------------------------------------------------------------------

// Makes scenario and history of the events. `root` is the scenario's tree; story_build adds the
// faults to it.
MUST_USE bool story_build(
    struct story *t, const struct event *events, size_t count, struct node *root, struct err *e);

// Adds the maps of the faults to the scenario's tree, with the times of their events.
MUST_USE bool story_specs(
    const struct event *events, size_t count, struct node *root, struct err *e);

// Sets *spec to the index of the fault's map among all maps of the story. An event without a map
// names a fault that has one; false when it does not.
MUST_USE bool story_spec_of(const struct event *events, size_t count, const struct event *event,
    uint32_t *spec, struct err *e);

// --- claims.c, read.c --------------------------------------------------------------------

// Reads the claims after =>.
MUST_USE bool claims_read(struct words *w, struct err *e);

// Sets *root to the scenario with which every story begins, as a tree that the caller frees.
MUST_USE bool story_base(struct node **root, struct err *e);

// Returns a copy of a text that lives as long as the story.
const char *story_keep(struct story *t, const char *text);

// --- write.c, write_pick.c, write_records.c, write_settings.c ----------------------------

#define DROPPED UINT32_MAX // the new number of a token or process that is not written

// The text of one event within the buffer of events. write.c sorts the pieces by time.
struct piece {
    int64_t ns;       // its time; INT64_MIN puts it before all events with a time, INT64_MAX behind
    size_t from, len; // its place in the buffer, in the order of writing, and its length
};

struct writer {
    const struct scenario *s;
    const struct history *h;
    const struct ledger *l;
    struct part *part; // NULL: everything
    bool explain;      // defaults are written, too
    struct default_context defaults;
    struct subject_log log; // the processes with their new numbers, for the default of `by`
    uint32_t *token_no, *process_no; // per token and process of the run: its number in the text
    uint32_t *fault_no; // per fault of the scenario: the number of the first written event that has
                        // its map; DROPPED: none yet
    uint32_t fault_count;
    bool *line_kept;
    struct line_record *guessed; // the lines, with the times of writing that a reader guesses when
                                 // the text does not say them
    struct buf *out;
    struct buf map; // the YAML of the last fault's map
    struct piece *pieces;
    size_t piece_count;
};

// True when a stretch of time touches the part that is written.
static inline bool is_inside(const struct writer *w, int64_t from_ns, int64_t until_ns)
{
    return !w->part || (from_ns <= w->part->until_ns && until_ns >= w->part->from_ns);
}

// True when the tokens keep their numbers, because there are few enough for a story.
static inline bool write_keeps_numbers(const struct writer *w)
{
    return w->h->plan.token_count <= STORY_TOKENS_MAX;
}

// Chooses what is written, and gives tokens and processes their new numbers.
void write_pick(struct writer *w);

// True when a fault is written: one that may excuse what comes within the part.
bool write_keeps_fault(const struct writer *w, const struct fault_record *f);

// Writes the settings that differ from those with which every story begins; with `explain`, also
// those that do not differ.
MUST_USE bool write_scenario(const struct writer *w);

// Writes the records of a kind, one event each.
void write_records(struct writer *w, enum event_kind kind);

// Writes what the tables hold at the end, where a reader would not expect it.
void write_rows(struct writer *w);

// Returns the record as an event in which all words are given, its times on the story's clock.
struct event write_event_of(const struct writer *w, enum event_kind kind, const void *record);

// Marks the words that have their default as not given; with `explain`, does nothing.
void write_drop_defaults(const struct writer *w, struct event *event);

// Writes an event without the words that have their default.
void write_event(struct writer *w, struct event *event);

// Writes the words that the event has; `ns` is its place in the order of time.
void write_event_at(struct writer *w, const struct event *event, int64_t ns);
