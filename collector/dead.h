// The unsendable tokens of a batch, as parameters of the statement that passes them: one array
// literal for each column of the table dead_letters.
#pragma once

#include "base/buf.h"
#include "batch.h"

struct dead {
    bool any;
    struct buf tokens, reasons;
};

// False: there is no memory. The caller calls dead_fini in either case.
bool dead_init(struct dead *d, const struct batch *b) MUST_USE;
void dead_fini(struct dead *d);
