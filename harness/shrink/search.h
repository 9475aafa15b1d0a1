// The search for a smaller scenario that still fails. Pure: an oracle says whether a candidate
// fails. The real one runs the candidate; those of tests make the answer up.
//
// A failure may depend on chance. A candidate that passed is tried again only when nothing new is
// left to try, and the best one is tried several times more at the end.
#pragma once

#include "shrink/sketch.h"

enum answer {
    ANSWER_PASSES,     // or was inconclusive
    ANSWER_FAILS,      // breaks what the whole broke
    ANSWER_PARTLY,     // breaks some of what was broken
    ANSWER_IMPOSSIBLE, // no scenario at all: never asked again
    ANSWER_STOP,       // no time left, interrupted, or cannot be run
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
    struct sketch *kept; // owned; the whole, then each smaller than the one before
    size_t kept_count;
    struct tried *tried; // owned
    size_t tried_count;
    int tries;    // how often a candidate may pass before it is given up
    bool stopped; // by the oracle, or without memory
    struct err err;
};

// How often the best candidate failed again.
struct confirmation {
    int asked, failed;
};

MUST_USE bool search_init(struct search *s, const struct whole *w, const struct oracle *oracle);

// Accepts a zeroed struct.
void search_fini(struct search *s);

// Returns the smallest sketch so far; of the same size as the whole when nothing is left out.
const struct sketch *search_best(const struct search *s);

// Searches until nothing smaller fails or the oracle stops it. False: out of memory, see s->err.
MUST_USE bool search_run(struct search *s);

// Asks for the best candidate `times` more. A candidate that does not fail each time is given up
// for the one before it if that fails more often; this may happen a few times. Asks nothing when
// nothing smaller than the whole was found.
struct confirmation search_confirm(struct search *s, int times);

// --- shared by search.c and moves.c ----------------------------------------------

// Copies the best, so that something can be taken away from the copy.
MUST_USE bool search_copy_best(struct search *s, struct sketch *k);

// Takes the candidate over. Returns whether it fails; then it is the best.
bool search_attempt(struct search *s, struct sketch *candidate);

// moves.c: return whether something could be taken away.
bool search_shorten(struct search *s);
bool search_drop_phases(struct search *s);
bool search_drop_faults(struct search *s);
bool search_reduce(struct search *s);
