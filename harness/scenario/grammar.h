// The scenario file's grammar as data: one table per map, one row per key. The
// rows drive decoding, defaults, unknown-key errors, writing and help.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
    FIELD_STRING,    // char *; one line, not empty
    FIELD_STRINGS,   // char **, NULL-terminated
    FIELD_WORD,      // an enum: one of `words`
    FIELD_BOOL,      // bool
    FIELD_INT,       // int, or one of `words`
    FIELD_SEED,      // uint64_t
    FIELD_SHARE,     // double, 0 to 1
    FIELD_RATE,      // two doubles, from and to; or one of `words`, which sets the bool after them
    FIELD_RANGE,     // two ints, from and to
    FIELD_BYTE_RATE, // double, bytes per second
    FIELD_PER_S,     // double, per second
    FIELD_FLAGS,     // int: a list of `words`, or-ed
    FIELD_DURATION,  // int64_t ns, or one of `words`
    FIELD_SPAN,      // two int64_t ns, from and to
    FIELD_VERB,      // const struct verb *
    FIELD_SETTINGS,  // struct settings
    FIELD_ALLOW,     // struct allowance * and its size_t count
    FIELD_JUDGED,    // struct judged_least * and its size_t count
    FIELD_EXPECT,    // struct expectation * and its size_t count
    FIELD_ITEMS,     // a list of `table` maps: an array and its size_t count
    FIELD_MAP,       // a `table` of its own, in the same struct
};

// A word that stands for a value. `refusal` is the reason why this version
// cannot do it, NULL when it can.
struct word {
    const char *name;
    int64_t value;
    const char *refusal;
};

struct table;

struct field {
    const char *key;
    enum field_type type;
    size_t offset;            // in the struct; NOT_STORED when only checked
    const char *default_text; // the default as it would be written; NULL: required
    int64_t min, max;         // of a number or a duration
    const struct word *words; // ends with a NULL name
    const struct table *table;
    unsigned param; // of enum verb_param: only verbs with this bit take the key; 0: all
    bool needed;    // a verb with that bit must be given the key
    bool any_verb;  // all verbs take the key; it has another meaning for those with that bit
    bool (*written)(const void *item); // true when it has a value to write; NULL: always
    bool optional;                     // not required, and no default: absent leaves zero
    const char *help;
};

#define NOT_STORED SIZE_MAX

struct table {
    const struct field *fields;
    size_t count;
    size_t size; // of the struct that a list item fills
};

extern const struct table scenario_table;
extern const struct table fault_table; // the part of it that describes one fault

extern const struct word promise_words[]; // of enum promise
extern const struct word dequeue_words[]; // of enum dequeue
