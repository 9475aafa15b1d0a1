// A batch: the rows that were read from the queue, and the line that they become.
//
// A batch knows where the cursor is, and where it moves when the line is written. Some of the rows
// in between do not get into the line: ineligible rows, and rows that become dead letters.
#pragma once

#include <libpq-fe.h>

#include "base/base.h"
#include "addresses.h"
#include "defect.h"

// A cursor position in the server's text format. It is not interpreted here, but only given back to
// the server.
struct position {
    char xid[24];
    char id[24];
};

struct batch {
    enum defect defect;
    struct buf line;         // fields of all tokens, without the newline
    int tokens;              // number of tokens in the line
    int walked;              // number of rows in the batch
    int passed;              // number of the batch's rows that are not eligible
    struct position from;    // where the cursor was when the rows were read
    struct position to;      // the last row, to which the cursor moves
    struct buf ids;          // ids of all rows, separated by commas
    struct buf dead;         // ids of the rows that become dead letters, separated by commas
    struct buf dead_reasons; // reasons of these dead letters, separated by commas
    struct buf token;        // fields of the token that is being added
    unsigned added;          // defect drops-some: number of tokens added since the program started
    struct addresses seen;   // defects once-per-address and keeps-addresses
    bool stale;              // defect stale-at-start: tokens that were consumed or suspended go
                             // out, too
    bool away;               // defect forgets-old: all waiting tokens have waited for long, and are
                             // taken for expired
};

void batch_init(struct batch *b, enum defect defect);
void batch_fini(struct batch *b);
// Forgets the rows and the line.
void batch_clear(struct batch *b);

// Forgets the rows but not the line, because the cursor has moved past the rows.
void batch_moved(struct batch *b);

// Defect invents: adds a token of an account that does not exist to the line, with a correct
// signature.
bool batch_invent(struct batch *b, const uint8_t *key, struct err *e) MUST_USE;

// Adds one row of sql/read.sql. Its token is signed with the key and appended to the line, unless
// the row is not eligible or becomes a dead letter.
bool batch_add(
    struct batch *b, const PGresult *rows, int row, const uint8_t *key, struct err *e) MUST_USE;
