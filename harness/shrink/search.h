// Searches for a smaller scenario that still fails. Pure: an oracle says whether a candidate fails.
// The real oracle runs the candidate; the oracles of tests make up their answers.
//
// A failure may depend on chance. So candidates that passed are tried again, but only when no new
// candidate is left to try. At the end, the best candidate is tried several times more.
#pragma once

#include "shrink/sketch.h"

enum answer {
    ANSWER_PASSES,     // the candidate passed or was inconclusive
    ANSWER_FAILS,      // the candidate broke what the whole scenario broke
    ANSWER_PARTLY,     // the candidate broke some of what the whole scenario broke
    ANSWER_IMPOSSIBLE, // the candidate is no valid scenario; it is never asked again
    ANSWER_STOP,       // the search must end, because no time is left, it was interrupted, or
                       // nothing can be run
};

struct oracle {
    enum answer (*ask)(void *context, const struct sketch *k);
    void *context;
};

// A candidate that was tried, and how often it passed; INT_MAX: it is impossible.
struct tried {
    uint64_t hash;
    int passes;
};

struct search {
    const struct whole *whole;
    struct oracle oracle;
    struct sketch *kept; // owned; first the whole, then the sketches that failed, each smaller than
                         // the one before
    size_t kept_count;
    struct tried *tried; // owned
    size_t tried_count;
    int tries;    // a candidate is not tried again after it has passed this many times
    bool stopped; // the oracle stopped the search, or memory ran out
    struct err err;
};

// How often the best candidate was tried again at the end, and how often it failed.
struct confirmation {
    int asked, failed;
};

// Begins a search with the whole scenario as the best sketch. False when memory is short, see
// s->err.
MUST_USE bool search_init(struct search *s, const struct whole *w, const struct oracle *oracle);

// Frees a search; accepts a zeroed struct.
void search_fini(struct search *s);

// Returns the best sketch, the smallest so far that failed. This is the whole if nothing could be
// left out.
const struct sketch *search_best(const struct search *s);

// Searches until nothing smaller fails or the oracle stops the search. False when memory is short,
// see s->err.
MUST_USE bool search_run(struct search *s);

// Tries the best sketch another `times` times. If it does not fail each time, tries the larger
// sketches before it in the same way, and the one that fails most often becomes the best. Once some
// sketch has failed again, only a few larger ones are tried. If none fails again, the smallest
// stays the best, and its one failure during the search is counted in the result, too. Tries
// nothing when no sketch smaller than the whole was found.
struct confirmation search_confirm(struct search *s, int times);

// --- shared by search.c and moves.c ----------------------------------------------

// Copies the best sketch, so that something can be taken away from the copy. False when memory is
// short.
MUST_USE bool search_copy_best(struct search *s, struct sketch *k);

// Tries a candidate, and owns it from now on. True when it fails; it is then the best sketch. False
// without a trial when it equals the best one, or when the search has stopped.
bool search_attempt(struct search *s, struct sketch *candidate);

// moves.c: each tries to take something away from the best sketch, and is true when something could
// go.
bool search_shorten(struct search *s);
bool search_drop_phases(struct search *s);
bool search_drop_faults(struct search *s);
bool search_reduce(struct search *s);
