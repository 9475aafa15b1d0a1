// The stages of a token's latency, from the intended insert to the read of its line:
//
//   lag      sent - intended          the harness's own, or the server's absence
//   insert   acknowledged - sent      the transaction
//   wait     fire - acknowledged      in the batch
//   dequeue  read - fire              query, signing, writing, and batches before
//
// The time at which the batch fired is inferred from the outside. It is the acknowledgement of the
// token that made the batch full, or the batch timeout after its first token, whichever was
// earlier. With an adaptive window it may have fired before that timeout, and then `wait` holds
// what belongs to `dequeue`.
//
// A line may be read before its tokens are acknowledged. So a boundary that lies after the read
// moves to the read, and one that lies before the beginning of its stage moves to that beginning.
// Therefore the four stages always add up exactly to the whole.
#pragma once

#include "ledger/ledger.h"
#include "measure/histogram.h"

struct stage_times {
    int64_t lag_ns, insert_ns, wait_ns, dequeue_ns;
};

enum fired_by {
    FIRED_BY_LIMIT,    // the line is full
    FIRED_BY_TIMEOUT,  // short: its first token had waited for the batch timeout
    FIRED_AT_START,    // a process's first short line: its tokens had waited for the start
    FIRED_AFTER_FAULT, // a process's first short line after a fault: its tokens had waited for the
                       // fault's end
    FIRED_AT_END,      // short: sent because the collector got TERM
    FIRED_OTHERWISE,   // short and early, for none of the other reasons, as by an adaptive window
    FIRED_KINDS,
};

struct stages {
    struct histogram lag, insert, wait, dequeue; // length of each stage, ns
    struct histogram sizes;                      // tokens per line
    uint64_t before_ack; // acknowledged tokens that were read before their acknowledgement
    uint64_t fired[FIRED_KINDS];
};

// stages_make measures all whole lines and their tokens. stages_fini accepts a zeroed struct.
void stages_make(struct stages *s, const struct ledger *l);
void stages_fini(struct stages *s);

// Returns when the batch of a whole line fired; CLOCK_NEVER: it holds no valid delivery of a
// planned token. A token whose connection was lost counts as acknowledged at that time. Sets *why
// to FIRED_BY_LIMIT, FIRED_BY_TIMEOUT or FIRED_OTHERWISE.
int64_t stages_fire_ns(const struct ledger *l, const struct line_record *line, enum fired_by *why);

// Returns a new array of bytes with the reason (enum fired_by) why each line fired. The caller
// frees it. The entries of lines that are not whole have no meaning.
unsigned char *stages_reasons(const struct ledger *l);

// Returns the reason as a word to be shown: "full", "timeout", …
const char *fired_name(enum fired_by why);

// Returns the stages of a token. fire_ns is when the batch of its first delivery fired.
struct stage_times stages_of(const struct ledger *l, uint32_t token, int64_t fire_ns);

// True when the token's stages, and its latency since the intended insert, can be measured: it was
// sent and delivered, has an intended time, which a closed loop does not give, and did not wait for
// the collector's start.
bool stages_measurable(const struct ledger *l, uint32_t token);

// Records how long a token took to come out for the first time: since its intended insert, if that
// can be measured, and since its acknowledgement. A token of the backlog waited for the collector's
// start, which says nothing about the collector's speed, so it is left out.
void stages_record_latencies(const struct ledger *l, uint32_t token,
    struct histogram *from_intended, struct histogram *from_commit);
