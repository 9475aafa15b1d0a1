// The bell (migration 000017): producers announce a token only while somebody holds the bell, an
// advisory lock. Pure.
//
// A collector that is about to sleep takes the bell, and then looks once more. A producer that
// stayed silent before has a transaction number by then, so the look either sees its tokens or
// finds its transaction running. In the second case its commit will not be announced, so the
// collector looks again and again until the transaction has ended. All later tokens are announced.
//
// Some transaction runs on most servers, for hours or in another database. So before the second
// look the collector asks which of them have inserted tokens, by their locks, and forgets the
// others. It does not ask at once, because the locks of the whole server must be read for it, and
// when nothing runs the first look says so.
//
// Under a backlog, and while tokens come fast (flow.h), the collector lets the bell go, and
// producers are silent. It then looks at times of its own choice. It never sleeps without one of
// the two, the bell or a planned look. Where several collectors share one bell, a sleeper without
// it tries again at least once a second, and one that is held up by its reader takes it, so that
// the others are rung.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bell {
    enum bell_step {
        BELL_LET_GO, // producers are silent; we look by ourselves, at look_at_ns or at once
        BELL_WANTED, // the bell is to be taken with the next look
        BELL_ASKED,  // an answer is awaited
        BELL_OURS,
    } step;
    uint64_t silent_below; // transactions below this may have stayed silent; 0: none that runs
    int64_t every_ns;      // the last pause between two looks, or two tries to take the bell
    int64_t look_at_ns;    // 0: no look is planned
};

// The answer came: the bell is ours, and producers with a lower transaction number may have stayed
// silent. 0: somebody else has it, or is testing it just now.
void bell_answered(struct bell *b, uint64_t silent_below, int64_t now_ns);

// A look saw everything that is visible in this snapshot (xmin:xmax:…): all transactions below xmin
// have ended.
void bell_looked(struct bell *b, const char *snapshot, int64_t now_ns);

// True when a look is due only because a transaction runs that may have stayed silent: ask first
// whether one does that has inserted tokens.
bool bell_suspects(const struct bell *b, int64_t now_ns);

// None does. The next look sees all tokens that were not announced.
void bell_cleared(struct bell *b);

// Returns when to look without an announcement; 0: at once; CLOCK_NEVER: not at all.
int64_t bell_due_ns(const struct bell *b);
