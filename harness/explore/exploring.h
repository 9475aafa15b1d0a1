// The state of mailproof explore: the search's folder and journal, the next draws, and the
// failures under investigation.
#pragma once

#include "run/run_pool.h"
#include "options/options.h"
#include "explore/search_record.h"

// The number of draws that wait. The waiting draw that adds most to the coverage is run next.
#define EXPLORING_WINDOW 16
#define EXPLORING_BASES_MAX 64
#define EXPLORING_SUSPECTS_MAX 200

// A draw that may come next. Its scenario does not depend on earlier draws.
struct candidate {
    uint64_t number;
    char path[1000];
    struct scenario scenario;
    struct plan plan;
};

enum suspect_state {
    SUSPECT_CONFIRM, // it is run again
    SUSPECT_SHRINK,  // it waits to be shrunk
    SUSPECT_SHRINKS, // it is being shrunk
    SUSPECT_OVER,    // it is a failure in the journal
};

// A draw that broke something.
struct suspect {
    enum suspect_state state;
    struct tried tried;
    char folder[1000]; // result folder of the run that showed it
    char path[1000];   // path of the drawn scenario
    char output[1000]; // path for the shrunk scenario
    char example[256];
    unsigned asked, running, failed;
    pid_t shrink;
    double found_s;
};

struct exploring {
    const struct options *options;
    uint64_t seed;
    int jobs;
    int64_t began_ns, deadline_ns;
    struct overrides sets;                          // --set and --postgres, without --seed
    bool wanted[METRIC_COUNT];                      // invariants that a draw must break to be
                                                    // investigated
    struct draw_limits limits[EXPLORING_BASES_MAX]; // by base; without bases, only the first is
                                                    // used
    char *bases[EXPLORING_BASES_MAX];               // owned; the texts of the bases
    size_t base_count;
    uint64_t *numbers; // owned; the numbers that --only lists; NULL: all numbers
    size_t number_count;
    char about[6000]; // all that decides which scenario a number stands for
    char collector[1000];
    struct journal journal;
    char dir[PATH_MAX / 4];
    struct candidate pool[EXPLORING_WINDOW];
    size_t pool_count;
    uint64_t next; // number of the next draw
    size_t taken;  // number of draws in this call
    struct run_pool runners;
    struct tried running[RUN_POOL_MAX]; // by worker, the run that is going on: number, mode and
                                        // time of beginning
    struct suspect *suspects;           // owned
    size_t suspect_count;
    int64_t shown_ns;
};

// Fills in a zeroed struct: options, folder, journal. Call exploring_fini also on failure.
MUST_USE bool exploring_init(struct exploring *x, const struct options *o, struct err *e);
void exploring_fini(struct exploring *x);

// Takes the best of the waiting draws. False when no draw is left, or on an error, which sets
// e->kind.
MUST_USE bool exploring_next(struct exploring *x, struct candidate *c, struct err *e);
void candidate_fini(struct candidate *c);

// True when no draw is left that this call or another one of this search has to make.
bool exploring_done(const struct exploring *x);

// Returns the seconds that all calls of this search have taken together.
double exploring_seconds(const struct exploring *x);

// Makes a path below the search's folder.
MUST_USE bool exploring_path(
    const struct exploring *x, char out[1000], const char *folder, const char *name, struct err *e);
