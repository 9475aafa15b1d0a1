// The question of doubt, after a lost session: which rows are ours, and which tokens of lines that
// were out still wait?
#pragma once

#include <libpq-fe.h>

#include "base/base.h"

struct in_doubt {
    enum { DOUBT_DUE, DOUBT_ASKED, DOUBT_ANSWERED } step; // of the question
    bool rows_left;  // the answer may not have named all our rows
    bool rows_asked; // in_doubt_ask_rows was sent; the question itself is still due
};

struct collector;

// in_doubt_ask asks which rows are ours, and which tokens of lines that were out still wait.
// in_doubt_ask_rows asks only for the rows, so that they can be given to others while the reader
// has not taken a line whole. in_doubt_on_answer deals with the answer to either question.
bool in_doubt_ask(struct collector *c, struct err *e) MUST_USE;
bool in_doubt_ask_rows(struct collector *c, struct err *e) MUST_USE;
bool in_doubt_on_answer(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
