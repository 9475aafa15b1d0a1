// The state of mailproof explore: the search's folder and journal, the draws that wait, and the
// failures under investigation.
#pragma once

#include "run/run_pool.h"
#include "options/options.h"
#include "explore/search_record.h"

// At most this many draws wait. Mostly, the one that adds most to the coverage is run next.
#define EXPLORING_WINDOW 16
#define EXPLORING_BASES_MAX 64
#define EXPLORING_SUSPECTS_MAX 200

// A draw that waits to be run. Its scenario does not depend on earlier draws.
struct candidate {
    uint64_t number;
    char path[1000];
    struct scenario scenario;
    struct plan plan;
};

enum suspect_state {
    SUSPECT_CONFIRM, // the draw is run again, to see whether it fails again
    SUSPECT_SHRINK,  // the draw failed again, and its scenario waits to be shrunk
    SUSPECT_SHRINKS, // its scenario is being shrunk
    SUSPECT_OVER,    // done: the journal has the failure
};

// A draw that broke something.
struct suspect {
    enum suspect_state state;
    struct tried tried;
    char folder[1000]; // result folder of the run that first broke something
    char path[1000];   // path of the drawn scenario
    char output[1000]; // path for the shrunk scenario; "": shrinking was not begun
    char example[256];
    unsigned asked, running, failed; // further runs: ended, under way, and failed again
    pid_t shrink;                    // the process that shrinks it; 0: none
    double found_s;                  // seconds since the search began, over all calls
};

struct exploring {
    const struct options *options;
    uint64_t seed;
    int jobs;
    int64_t began_ns, deadline_ns;
    struct overrides sets;                          // the overrides of the options, but for --seed
    bool wanted[METRIC_COUNT];                      // a draw is investigated only if it breaks one
                                                    // of these invariants
    struct draw_limits limits[EXPLORING_BASES_MAX]; // one for each base; without bases, only the
                                                    // first is used
    char *bases[EXPLORING_BASES_MAX];               // owned; YAML of the scenarios to start from
    size_t base_count;
    uint64_t *numbers; // owned; the draw numbers that --only lists; NULL: all numbers
    size_t number_count;
    char about[6000]; // all that decides which scenario a number stands for
    char collector[1000];
    struct journal journal;
    char dir[PATH_MAX / 4];
    struct candidate pool[EXPLORING_WINDOW];
    size_t pool_count;
    uint64_t next; // place of the next draw number; see draw_number_at
    size_t taken;  // number of draws that were chosen in this call
    struct run_pool runners;
    struct tried running[RUN_POOL_MAX]; // for each worker, the draw that it runs: number, mode and,
                                        // in took_s, when it began
    struct suspect *suspects;           // owned
    size_t suspect_count;
    int64_t shown_ns; // when the progress was last printed
};

// Fills in a zeroed struct from the options, makes the search's folder and opens its journal. Call
// exploring_fini also on failure.
MUST_USE bool exploring_init(struct exploring *x, const struct options *o, struct err *e);
void exploring_fini(struct exploring *x);

// Moves the draw to run next out of the waiting ones to *c, which the caller then owns. False when
// no draw is left, or after an error, which sets e->kind.
MUST_USE bool exploring_next(struct exploring *x, struct candidate *c, struct err *e);
void candidate_fini(struct candidate *c);

// True when all draws of the search are run or its time is over, so that a further call has nothing
// to do. False after a signal.
bool exploring_done(const struct exploring *x);

// Returns the seconds that all calls of this search have taken so far, including this one.
double exploring_seconds(const struct exploring *x);

// Writes the path of a file in a folder of the search's folder; `name` "": the path of that folder.
MUST_USE bool exploring_path(
    const struct exploring *x, char out[1000], const char *folder, const char *name, struct err *e);
