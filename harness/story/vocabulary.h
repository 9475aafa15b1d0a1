// The words of each kind of event, in the order in which they are written.
#pragma once

#include "story/words.h"

#define WORDS_MAX 20 // words of one kind

enum value_type {
    VALUE_TIME,   // ms since the load began
    VALUE_WHEN,   // the same, or never
    VALUE_LENGTH, // ms
    VALUE_ANSWER, // the same, or never
    VALUE_COUNT,
    VALUE_SHARE,     // percent; the slot holds millionths
    VALUE_TEXT,      // within quotes
    VALUE_COLUMNS,   // names of columns, with commas; the slot holds bits of enum token_row
    VALUE_FLAG,      // the word says it all
    VALUE_FLAG_TIME, // the word, and a time for the next slot
};

struct word {
    const char *name;
    enum slot slot;
    enum value_type type;
    int64_t flag;
};

enum head { HEAD_NONE, HEAD_NUMBER, HEAD_RANGE, HEAD_REST, HEAD_FAULT };

struct kind {
    const char *name;
    enum head head;
    struct word words[WORDS_MAX]; // the order in which they are written
};

extern const struct kind vocabulary[EVENT_KINDS];
