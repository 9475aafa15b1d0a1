// Searches for a smaller scenario that still fails. Pure: an oracle says whether a candidate fails.
// The real oracle runs the candidate; the oracles of tests make up their answers.
//
// A failure may depend on chance. So candidates that passed are tried again, but only when no new
// candidate is left to try. At the end, the best candidate is tried several times more.
#pragma once

#include "plan/plan.h"
#include "scenario/scenario.h"

// --- sketch.c ----------------------------------------------------------------------
//
// A sketch describes a smaller form of a scenario whose run broke an invariant: which stretches of
// its phases and which of its planned faults are left, and limits on everything else.
//
// A smaller sketch is made by taking away more. sketch_apply makes a scenario of a sketch. All
// functions are pure.

// The scenario and the plan from which all sketches of a search are made.
struct whole {
    const struct scenario *scenario;
    const struct plan *plan;
};

// A stretch of a phase; when from_ns == to_ns, nothing of the phase is left.
struct span {
    int64_t from_ns, to_ns;
};

// Features of a load that can be taken away. A comment says what the load then has instead.
enum plain {
    PLAIN_ROLLBACK = 1 << 0,
    PLAIN_HOLD_OPEN = 1 << 1,
    PLAIN_INELIGIBLE = 1 << 2,
    PLAIN_UNSENDABLE = 1 << 3,
    PLAIN_RECOVERY = 1 << 4,
    PLAIN_ROWS = 1 << 5, // one row in a transaction
    PLAIN_NAMES = 1 << 6,
    PLAIN_INSERT = 1 << 7, // insert: row
    PLAIN_BACKLOG = 1 << 8,
    PLAIN_CHANGES = 1 << 9,
    PLAIN_ACCOUNTS = 1 << 10, // one token for each account
    PLAIN_IDS = 1 << 11,      // ids from 1 on
    PLAIN_ALL = (1 << 12) - 1,
};

struct sketch {
    struct span *spans; // owned; for each phase, the stretch that is left
    bool *faults;       // owned; for each planned fault, whether it is left
    int halvings;       // how often all rates were halved
    int connections;    // upper limit of the connections in each phase
    int instances;      // number of collectors
    unsigned plain;     // bits of enum plain: the features that were taken away
};

// Make the sketch from which nothing is taken away, and a copy of a sketch.
void sketch_whole(struct sketch *k, const struct whole *w);
struct sketch sketch_copy(const struct sketch *from, const struct whole *w);

// Frees a sketch; accepts a zeroed struct.
void sketch_fini(struct sketch *k);

// Returns the length of the load that is left.
int64_t sketch_load_ns(const struct sketch *k, const struct whole *w);

// Returns when a planned fault happens in the load that is left; -1 when its time is gone.
int64_t sketch_fault_ns(const struct sketch *k, const struct whole *w, size_t fault);

// Returns the number of planned faults that are left.
size_t sketch_fault_count(const struct sketch *k, const struct whole *w);

// Keeps only the part [from_ns, to_ns) of the load that is left, and the faults in it.
void sketch_cut(struct sketch *k, const struct whole *w, int64_t from_ns, int64_t to_ns);

// Takes away the faults that cannot happen any more because their time or their collector is gone.
void sketch_drop_gone_faults(struct sketch *k, const struct whole *w);

// Returns a hash that is the same for equal sketches.
uint64_t sketch_hash(const struct sketch *k, const struct whole *w);

// Returns a drain that is long enough for a good collector, but not longer than the scenario's.
int64_t sketch_drain_ns(const struct scenario *s);

// Takes away from `s` all that the sketch takes away; `s` was loaded from the same file as the
// whole. Also shortens the drain, and removes expectations of anything but invariants, because a
// shorter load has other figures.
void sketch_apply(const struct sketch *k, const struct whole *w, struct scenario *s);

enum answer {
    ANSWER_PASSES,     // the candidate did not break what the search is for
    ANSWER_FAILS,      // the candidate broke what the search is for
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
    bool stopped; // the oracle stopped the search
};

// How often the best candidate was tried again at the end, and how often it failed.
struct confirmation {
    int asked, failed;
};

// Begins a search with the whole scenario as the best sketch.
void search_init(struct search *s, const struct whole *w, const struct oracle *oracle);

// Frees a search; accepts a zeroed struct.
void search_fini(struct search *s);

// Returns the best sketch: the smallest so far that failed or, after search_confirm, the one that
// it chose. This is the whole if nothing could be left out.
const struct sketch *search_best(const struct search *s);

// Searches until nothing smaller fails or the oracle stops the search.
void search_run(struct search *s);

// Tries the best sketch another `times` times. If it does not fail each time, tries the larger
// sketches before it in the same way, and the one that fails most often becomes the best. Once some
// sketch has failed again, goes back only a few steps from the smallest. If none fails again, the
// smallest stays the best, and its one failure during the search is counted in the result, too.
// Tries nothing when no sketch smaller than the whole was found.
struct confirmation search_confirm(struct search *s, int times);

// --- shared by search.c and moves.c ----------------------------------------------

// Tries a candidate, and owns it from now on. True when it fails, which is what the search looks
// for; it is then the best sketch. False without a trial when it equals the best one, has used up
// its tries, or when the search has stopped.
bool search_attempt(struct search *s, struct sketch *candidate);

// moves.c: each tries to take something away from the best sketch. A smaller one that still fails
// becomes the best. True when there was one.
bool search_shorten(struct search *s);     // a part of the load
bool search_drop_phases(struct search *s); // whole phases of the load
bool search_drop_faults(struct search *s); // faults
bool search_reduce(struct search *s);      // instances, connections, features, rates
