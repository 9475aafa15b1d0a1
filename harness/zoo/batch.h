// A batch: the rows that were read from the queue and become one line.
//
// A batch knows where the cursor is and to where it moves when the line is out. On this way there
// may be rows that do not get into the line: ineligible rows, and rows for dead_letters.
#pragma once

#include <libpq-fe.h>
#include <stdint.h>

#include "base/buf.h"
#include "addresses.h"
#include "base/err.h"
#include "defect.h"

// A cursor position, in the server's text format, because we only hand it back.
struct position {
    char xid[24];
    char id[24];
};

struct batch {
    enum defect defect;
    struct buf line; // fields of all tokens, without the newline
    int tokens;      // number of tokens in the line
    int walked;      // number of rows from `from` to `to`
    int passed;      // number of these rows that are not eligible
    struct position from;
    struct position to;
    struct buf ids;          // ids of the rows from `from` to `to`, separated by commas
    struct buf dead;         // ids for dead_letters, separated by commas
    struct buf dead_reasons; // the reasons for these dead letters
    struct buf token;        // room for the token that is being added
    unsigned added;          // defect drops-some: number of tokens since the start of the program
    struct addresses seen;   // defects once-per-address and keeps-addresses
    bool stale;              // defect stale-at-start: takes tokens that are not eligible, too
    bool away;               // defect forgets-old: all that waits has waited for long
};

void batch_init(struct batch *b, enum defect defect);
void batch_fini(struct batch *b);
void batch_clear(struct batch *b);

// Forgets the rows but not the line: the cursor has passed them.
void batch_moved(struct batch *b);

// Defect invents: adds a token of an account that does not exist, with a correct signature.
bool batch_invent(struct batch *b, const uint8_t *key, struct err *e) MUST_USE;

// Adds one row of sql/read.sql, and signs its token with the key.
bool batch_add(
    struct batch *b, const PGresult *rows, int row, const uint8_t *key, struct err *e) MUST_USE;
