// Reads the answers of a sender, one line each. Pure.
//
//   12 sent                               all tokens of line 12 that have no answer yet
//   12 error transient 454 try later      the same; or permanent
//   12.3 sent                             the third token of line 12
//   12.3 error transient 452 mailbox full
//   12.3 error permanent 550 no such user
#pragma once

#include "base/base.h"

enum answer_kind { ANSWER_SENT, ANSWER_TRANSIENT, ANSWER_PERMANENT };

#define ANSWER_TEXT_MAX 200

struct answer {
    int64_t line;
    int place; // from 1; 0: all tokens of the line that have no answer yet
    enum answer_kind kind;
    char text[ANSWER_TEXT_MAX + 1]; // its beginning; '?' stands for what is not printable ASCII
};

// Parses one answer, given without its line end. Returns false, with the reason in *why, when it
// has none of the forms above; nothing is guessed.
bool answer_parse(struct answer *a, const char *line, size_t len, const char **why) MUST_USE;
