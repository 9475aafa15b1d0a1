// The bell (migration 000017): producers announce a token only while somebody holds the bell, an
// advisory lock. Pure.
//
// A collector that is about to sleep takes the bell, and then looks once more. A producer that
// stayed silent has had a transaction number since before the bell was taken, so the look either
// sees its tokens or finds its transaction running. That transaction will not announce its commit,
// so the collector looks again and again until it has ended. All later tokens are announced.
//
// On most servers some transaction runs for hours, or in another database. So before the second
// look the collector asks whether any such transaction has inserted tokens, which its locks tell.
// If none has, one more look is enough. The question reads the locks of the whole server, so it is
// not asked before the first look, which may show that no such transaction runs.
//
// Under a backlog, and while tokens come fast (flow.h), the collector lets the bell go, so
// producers are silent, and looks at times of its own choice. It never sleeps without the bell or a
// planned look. Where several collectors share one bell, a sleeping collector without the bell
// tries to take it at least once a second. A collector that is held up by its reader takes the
// bell, too, so that producers announce tokens to the others.
#pragma once

#include "base/base.h"

struct bell {
    enum bell_step {
        BELL_LET_GO, // we do not have the bell, and look by ourselves, at look_at_ns
        BELL_WANTED, // the bell is to be taken with the next look
        BELL_ASKED,  // we asked for the bell, and the answer is awaited
        BELL_OURS,
    } step;
    uint64_t silent_below; // running transactions below this may have stayed silent; 0: none has
    int64_t pause_ns;      // the last pause between two looks, or two tries to take the bell
    int64_t look_at_ns;    // when the next look is due, or in BELL_WANTED the next try to take the
                           // bell; 0: in BELL_LET_GO at once, in any other step none is planned
};

// Call it with the answer to a try to take the bell. silent_below > 0: the bell is ours, and
// producers with lower transaction numbers may have stayed silent. 0: somebody else has the bell,
// or is testing it at this moment.
void bell_answered(struct bell *b, uint64_t silent_below, int64_t now_ns);

// Call it when a look saw everything that is visible in this snapshot (the text xmin:xmax:…). All
// transactions below xmin have ended.
void bell_looked(struct bell *b, const char *snapshot, int64_t now_ns);

// True when a look is due only because a running transaction may have inserted tokens without an
// announcement. Before the look, the caller asks the server whether there is such a transaction.
bool bell_should_ask(const struct bell *b, int64_t now_ns);

// Call it when no running transaction has inserted tokens unannounced: the next look sees all
// tokens that were not announced.
void bell_none_silent(struct bell *b);

// Returns when to look without an announcement; 0: at once; CLOCK_NEVER: not at all.
int64_t bell_due_ns(const struct bell *b);
