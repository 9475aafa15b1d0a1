// The state of mailproof explore: the search's folder and journal, the draws that wait, and the
// failures under investigation.
#pragma once

#include "explore/search_record.h"
#include "options/options.h"
#include "run/run_pool.h"

// At most this many draws wait; exploring_next chooses among them.
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
    SUSPECT_TO_CONFIRM, // the draw is run again, to see whether it fails again
    SUSPECT_TO_SHRINK,  // the draw failed again, and its scenario waits to be shrunk
    SUSPECT_SHRINKING,  // its scenario is being shrunk
    SUSPECT_OVER,       // done: the journal has the failure
};

// A draw that broke something.
struct suspect {
    enum suspect_state state;
    struct tried tried;
    char folder[1000]; // result folder of the run that first broke something
    char path[1000];   // path of the drawn scenario
    char output[1000]; // path for the shrunk scenario; "": shrinking was not begun
    char example[256];
    unsigned ended, running, failed; // numbers of further runs; those that failed have also ended
    pid_t shrink;                    // the process that shrinks it; 0: none
    double found_s;                  // seconds since the search began, over all calls
};

struct exploring {
    const struct options *options;
    uint64_t seed;
    int jobs;
    int64_t began_ns, deadline_ns;
    struct overrides sets;                          // the overrides of the options without --seed
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
    uint64_t next;           // place of the next draw number; see draw_number_at
    size_t taken;            // number of draws that were chosen in this call
    size_t judged, unjudged; // numbers of draws that this call has run, with and without a verdict
    char why_unjudged[160];  // why the last draw without a verdict has none
    struct run_pool runners;
    struct tried running[RUN_POOL_MAX]; // for each worker, the draw that it runs: number, mode
                                        // and verbs
    int64_t run_began_ns[RUN_POOL_MAX]; // for each worker, when its run began; 0: it is idle
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

// True when all draws of the search are run or, if their number has no limit, its time is over, so
// that a further call has nothing to do. False after a signal.
bool exploring_done(const struct exploring *x);

// Returns the seconds that all calls of this search have taken so far, including this one.
double exploring_seconds(const struct exploring *x);

// Writes the path of a file in a folder of the search's folder; `name` "": the path of that folder.
MUST_USE bool exploring_path(
    const struct exploring *x, char out[1000], const char *folder, const char *name, struct err *e);

// --- suspects.c --------------------------------------------------------------------
//
// Investigates draws that broke something, called suspects. Each is run again, shrunk and named,
// and then joined with an equal failure if there is one. The search calls these functions between
// its runs.

// Adds a draw that broke something. `folder` holds the draw's result, `example` tells in words what
// went wrong. False when the draw is not investigated, because a known failure explains all that it
// broke or the list is full; its files are then needed no more.
bool suspects_add(struct exploring *x, const struct tried *t, const char *draw_path,
    const char *folder, const char *example);

// Returns a suspect that needs a further run, and counts this run as under way; NULL when none
// needs one.
struct suspect *suspects_begin_further_run(struct exploring *x);

// Takes the result of a further run; `t` is NULL when the run was not judged.
MUST_USE bool suspects_answer(
    struct exploring *x, struct suspect *s, const struct tried *t, struct err *e);

// Concludes suspects whose `mailproof shrink` has ended, and starts it for others while fewer than
// `places` such processes run. *shrinking gets the number of those that run.
MUST_USE bool suspects_shrink(struct exploring *x, int places, int *shrinking, struct err *e);

// Returns how many suspects are still under investigation.
size_t suspects_open(const struct exploring *x);

// Ends the running `mailproof shrink` processes and stores what is known about unfinished suspects.
MUST_USE bool suspects_end(struct exploring *x, struct err *e);
