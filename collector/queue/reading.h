// Evaluates what a read of the queue (mailroom_read) saw: which rows make the next line, and where
// the cursor goes when that line is settled. Pure.
#pragma once

#include <libpq-fe.h>

#include "metrics/tally.h"

struct reading {
    int rows;        // the head, and the rows up to the line's last token, or all if it is not full
    int tokens;      // how many tokens the line has
    bool unsendable; // one of these tokens is unsendable
    struct passed passed; // tokens that are passed over in these rows
};

// Counts the rows of a line of up to `limit` tokens. The answer has the columns of sql/read.sql,
// and its first row is the head.
struct reading reading_count(const PGresult *answer, int limit);

// Appends where the cursor goes when the line is settled. more: tokens may wait after the line.
bool reading_place(const struct reading *seen, const PGresult *answer, bool more, struct buf *place,
    struct err *e) MUST_USE;
