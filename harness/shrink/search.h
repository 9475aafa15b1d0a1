// The search for a smaller scenario that still fails. Pure: an oracle says whether a candidate
// fails. The real oracle runs the candidate; those of tests invent the answer.
//
// A failure may depend on chance. So a candidate that passed is tried again, but only when nothing
// new is left to try. At the end the best candidate is tried several times more.
#pragma once

#include "shrink/sketch.h"

enum answer {
    ANSWER_PASSES,     // it passed or was inconclusive
    ANSWER_FAILS,      // it broke what the whole scenario broke
    ANSWER_PARTLY,     // it broke some of what the whole scenario broke
    ANSWER_IMPOSSIBLE, // the candidate is no valid scenario; it is never asked again
    ANSWER_STOP,       // the search must end: no time is left, it was interrupted, or nothing can
                       // be run
};

struct oracle {
    enum answer (*ask)(void *context, const struct sketch *k);
    void *context;
};

// A candidate that was not kept.
struct tried {
    uint64_t hash;
    int passes;
};

struct search {
    const struct whole *whole;
    struct oracle oracle;
    struct sketch *kept; // owned; the whole, then sketches of which each is smaller than the one
                         // before
    size_t kept_count;
    struct tried *tried; // owned
    size_t tried_count;
    int tries;    // how often a candidate may pass before it is given up
    bool stopped; // the oracle stopped the search, or memory ran out
    struct err err;
};

// How often the best candidate failed again.
struct confirmation {
    int asked, failed;
};

MUST_USE bool search_init(struct search *s, const struct whole *w, const struct oracle *oracle);

// Frees a search; accepts a zeroed struct.
void search_fini(struct search *s);

// Returns the smallest sketch so far. If nothing could be left out, it has the size of the whole.
const struct sketch *search_best(const struct search *s);

// Searches until nothing smaller fails or the oracle stops it. False: out of memory, see s->err.
MUST_USE bool search_run(struct search *s);

// Asks the oracle about the best candidate another `times` times. If the candidate does not fail
// each time, and the one before it fails more often, the search steps back to that one; this may
// happen a few times. If none of them fails again, the smallest stays, and the run of the search in
// which it failed is counted, too. It asks nothing when no sketch smaller than the whole was found.
struct confirmation search_confirm(struct search *s, int times);

// --- shared by search.c and moves.c ----------------------------------------------

// Copies the best sketch, so that something can be taken away from the copy.
MUST_USE bool search_copy_best(struct search *s, struct sketch *k);

// Tries the candidate, and owns it from now on. If it fails, it becomes the best, and the result is
// true.
bool search_attempt(struct search *s, struct sketch *candidate);

// moves.c: these return whether something could be taken away.
bool search_shorten(struct search *s);
bool search_drop_phases(struct search *s);
bool search_drop_faults(struct search *s);
bool search_reduce(struct search *s);
