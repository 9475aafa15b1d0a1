// Two sets of runs of one scenario: better, worse or no difference. Pure.
//
// A run is one value, not the thousands of tokens in it: those share the moods
// of the machine. Correctness comes first; speed is judged by a few metrics, and
// the more of them, the stricter each (Bonferroni), so that all together raise
// a false alarm in at most 5% of comparisons of like with like.
#pragma once

#include "measure/stats.h"
#include "report/stored.h"

struct side {
    const char *name;
    struct stored *runs; // owned
    size_t count;
};

enum change {
    CHANGE_NONE,
    CHANGE_BETTER,
    CHANGE_WORSE,
    CHANGE_UNKNOWN, // too few runs to tell
};

// One metric of speed or cost.
struct compared {
    enum metric_id id;
    double base, new;         // medians
    struct stats_ratio ratio; // new / base; the interval is as strict as the test
    enum change change;
};

#define COMPARED_MAX 8

struct comparison {
    const char *scenario;
    const struct side *base, *new;
    size_t base_used, new_used; // without those that were inconclusive
    size_t broke_base[METRIC_COUNT], broke_new[METRIC_COUNT]; // runs that broke an invariant
    size_t violated_base, violated_new; // runs, for more than promises on time
    enum change correctness;
    struct compared rows[COMPARED_MAX];
    size_t row_count;
    double confidence; // of each row's interval
    enum change overall;
};

// Differences smaller than `min_effect` (0.1: a tenth) do not count, however
// certain they are. The runs of both sides are of one scenario.
MUST_USE bool compare_sides(struct comparison *c, const struct side *base, const struct side *new,
    double min_effect, struct err *e);

// The run broke more than promises on time, which a stalled machine breaks too.
bool compare_violated_for_good(const struct stored *run);

const char *change_name(enum change change);

// 4 worse, 2 unknown, else 0.
int change_exit_code(enum change change);

bool side_add(struct side *s, const struct stored *run);
void side_fini(struct side *s);
