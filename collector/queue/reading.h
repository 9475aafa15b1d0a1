// Counts what a read of the queue (mailroom_read) saw: how much makes the next line, and where the
// cursor goes when that line is settled. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/buf.h"
#include "base/err.h"
#include "metrics/tally.h"

struct reading {
    int rows;        // of the answer, up to the last token of the line, or all; the head counts
    int tokens;      // that can be sent
    bool unsendable; // but no line can carry one of them
    struct passed passed;
};

// Counts the rows of a line of up to `limit` tokens. The answer has the columns of sql/read.sql,
// and its first row is the head.
struct reading reading_count(const PGresult *answer, int limit);

// Appends the place behind the line. more: rows may wait behind those of the answer.
bool reading_place(const struct reading *seen, const PGresult *answer, bool more, struct buf *place,
    struct err *e) MUST_USE;
