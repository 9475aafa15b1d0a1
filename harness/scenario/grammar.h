// The scenario file's grammar as data: one table per map, one row per key. The rows drive decoding,
// defaults, unknown-key errors, writing and help.
#pragma once

#include "scenario/verbs.h"

enum field_type {
    FIELD_STRING,    // char *; one line, not empty; one of `words` if there are any
    FIELD_STRINGS,   // char **, NULL-terminated
    FIELD_WORD,      // an enum: one of `words`
    FIELD_BOOL,      // bool
    FIELD_INT,       // int, or one of `words`
    FIELD_SEED,      // uint64_t
    FIELD_SHARE,     // double, 0 to 1
    FIELD_RATE,      // two doubles, from and to; or one of `words`, which sets the bool after the
                     // two
    FIELD_RANGE,     // two ints, from and to
    FIELD_BYTE_RATE, // double, bytes per second
    FIELD_PER_S,     // double, per second
    FIELD_FLAGS,     // int: the bits of a list of `words`
    FIELD_QUOTED, // struct quoted_flags: a list of `words`, or a map with the evidence of each word
    FIELD_DURATION, // int64_t ns, or one of `words`
    FIELD_SPAN,     // two int64_t ns: the shortest and the longest duration
    FIELD_VERB,     // const struct verb *
    FIELD_SETTINGS, // struct settings
    FIELD_ALLOW,    // struct allowance * and its size_t count
    FIELD_JUDGED,   // struct judged_least * and its size_t count
    FIELD_EXPECT,   // struct expectation * and its size_t count
    FIELD_ITEMS,    // a list of `table` maps: an array and its size_t count
    FIELD_MAP,      // a map with a `table` of its own, whose fields are in the same struct
};

// A word that stands for a value.
struct word {
    const char *name;
    int64_t value;
};

struct table;

struct field {
    const char *key;
    enum field_type type;
    size_t offset;            // offset in the struct
    const char *default_text; // the default as the file would have it; NULL: there is none, and
                              // the key is required unless it is `optional`
    int64_t min, max;         // limits of a number or a duration
    const struct word *words; // the list ends with a NULL name
    const struct table *table;
    unsigned param; // bits of enum verb_param: only verbs with one of them take the key; 0: all do
    bool needed;    // verbs with a bit of `param` require the key
    bool any_verb;  // all verbs take the key, but it means something else for those with a bit of
                    // `param`
    bool (*written)(const void *item); // true when the key fits the item's other keys; NULL: always
    bool optional;                     // not required and without a default: an absent key leaves
                                       // zero
    const char *help;
};

struct table {
    const struct field *fields;
    size_t count;
    size_t size; // size of the struct that an item of a list fills
};

// The greatest values of a phase's `for` and `backlog`.
#define PHASE_NS_MAX (INT64_C(24) * 3600 * NS_PER_S)
#define BACKLOG_MAX 10000000

// The largest seed; every JSON reader keeps it exactly.
#define SEED_MAX ((INT64_C(1) << 53) - 1)

extern const struct table scenario_table;
extern const struct table fault_table; // the part of scenario_table that describes one fault

extern const struct word promise_words[]; // the words of enum promise
extern const struct word dequeue_words[]; // the words of enum dequeue

// Return the word with this name, and the name of the word with this value. NULL when there is
// none, or when `words` is NULL.
const struct word *word_find(const struct word *words, const char *name);
const char *word_name(const struct word *words, int64_t value);

// Appends the words whose bits are set in `flags`, comma-separated.
void words_print(const struct word *words, int flags, struct buf *out);

const char *fault_target_name(enum fault_target target);
const char *fault_through_name(enum fault_through through);
