// A batch: the rows that were read from the queue and become one line.
//
// A batch knows from where to where the cursor moves when the line is out. It
// may have walked over rows that do not get into the line: the ineligible, and
// those for dead_letters.
#pragma once

#include <libpq-fe.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "defect.h"

// A cursor position in the server's text format: we only hand it back.
struct position {
    char xid[24];
    char id[24];
};

struct batch {
    enum defect defect;
    struct buf line; // fields of all tokens, without the newline
    int tokens;      // in the line
    int walked;      // the number of rows from `from` to `to`
    int passed;      // the number of these that are not eligible
    struct position from;
    struct position to;
    struct buf ids;          // of the rows walked over, comma-joined
    struct buf dead;         // ids for dead_letters, comma-joined
    struct buf dead_reasons; // and their reasons
    struct buf token;        // scratch: the token that is being added
    unsigned added;          // defect drops-some: tokens since the start of the program
    bool stale;              // defect stale-at-start: takes tokens that are not eligible, too
};

void batch_init(struct batch *b, enum defect defect);
void batch_fini(struct batch *b);
void batch_clear(struct batch *b);

// Forgets the rows but not the line: the cursor has passed them.
void batch_moved(struct batch *b);

// Defect invents: adds a well-signed token of an account that does not exist.
bool batch_invent(struct batch *b, const uint8_t *key, struct err *e) MUST_USE;

// Adds one row of sql/read.sql, and signs its token with the key.
bool batch_add(
    struct batch *b, const PGresult *rows, int row, const uint8_t *key, struct err *e) MUST_USE;
