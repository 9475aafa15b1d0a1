// Where a token's time went, from the intended insert to the line that was read:
//
//   lag      sent - intended          the harness's own, or the server's absence
//   insert   acknowledged - sent      the transaction
//   wait     fire - acknowledged      in the batch
//   dequeue  read - fire              query, signing, writing, and batches before
//
// The batch's firing is inferred from the outside: at the acknowledgement of the
// token that made it full, or at the batch timeout after the first of its
// tokens, whichever was earlier. A boundary that lies after the read (a line
// that is read before its acknowledgement) is moved to the read, one that lies
// before its stage begins to that beginning; so the four add up to the whole,
// exactly, for every token.
#pragma once

#include "ledger/ledger.h"
#include "measure/histogram.h"

struct stage_times {
    int64_t lag_ns, insert_ns, wait_ns, dequeue_ns;
};

enum fired_by {
    FIRED_BY_LIMIT,    // full
    FIRED_BY_TIMEOUT,  // short, after the timeout of its first token
    FIRED_AT_START,    // what waited for its process: the first line of it
    FIRED_AFTER_FAULT, // what waited for a fault's end: the first line since
    FIRED_AT_END,      // short, on TERM
    FIRED_OTHERWISE,   // short, early, and none of these
    FIRED_KINDS,
};

struct stages {
    struct histogram lag, insert, wait, dequeue; // ns
    struct histogram sizes;                      // tokens per line
    uint64_t before_ack;                         // committed, and read before the acknowledgement
    uint64_t fired[FIRED_KINDS];
};

// A zeroed struct is fine for stages_fini.
MUST_USE bool stages_make(struct stages *s, const struct ledger *l, struct err *e);
void stages_fini(struct stages *s);

// When the batch of a whole line was fired, and by which of limit and timeout,
// or otherwise. CLOCK_NEVER when none of its tokens has an acknowledgement.
int64_t stages_fire_ns(const struct ledger *l, const struct line_record *line, enum fired_by *why);

// Why each line was fired, as a new array of enum fired_by, one byte a line; NULL
// without memory. Of lines that are not whole it says nothing.
MUST_USE unsigned char *stages_reasons(const struct ledger *l, struct err *e);

// "full", "timeout", …, for people.
const char *fired_name(enum fired_by why);

// Of a token whose first delivery was in a batch fired then.
struct stage_times stages_of(const struct ledger *l, uint32_t token, int64_t fire_ns);

// True when the token's time can be measured: sent, delivered and, for the
// stages and the time since the intended insert, planned for a time (a closed
// loop intends none).
bool stages_measurable(const struct ledger *l, uint32_t token);
