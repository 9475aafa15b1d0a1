// The doorbell (migration 000017): producers announce a token only while somebody
// holds the bell, an advisory lock. Pure.
//
// A collector that is about to sleep takes the bell, and then looks once more: a
// producer that stayed silent before has a transaction number by then, so the look
// sees its tokens or finds it running. While one of those runs, and its commit
// would ring nobody, the queue is looked at again and again; afterwards all are
// announced. Under a backlog, and while tokens come fast (flow.h), the bell is let go,
// and producers are silent; whoever lets it go looks by himself, and knows when.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bell {
    enum bell_step {
        BELL_LET_GO, // nobody rings; we look by ourselves, at look_at_ns or at once
        BELL_WANTED, // to be taken with the next look
        BELL_ASKED,  // an answer is awaited
        BELL_OURS,
    } step;
    uint64_t silent_below; // transactions below this may have stayed silent; 0: not known yet
    int64_t every_ns;      // how often to look meanwhile, or to try again
    int64_t look_at_ns;    // 0: no look is planned
};

// The answer: it is ours, or somebody else has it or tests it just now.
void bell_answered(struct bell *b, bool ours, int64_t now_ns);

// A look saw everything that is visible in this snapshot (xmin:xmax:…).
void bell_looked(struct bell *b, const char *snapshot, int64_t now_ns);

// When to look though nobody rang; 0: at once; CLOCK_NEVER: not at all.
int64_t bell_due_ns(const struct bell *b);
