// Decides how long to wait for a batch that is not full. Pure, and O(1) for each arrival.
//
// The adaptive window imagines one line for each of some timeouts: none, the lower bound, twice the
// lower bound and so on, up to the upper bound. It waits for the longest timeout that is still
// worth it. A timeout is worth it while each line that it saves, compared with the timeout before,
// costs less than `least` of holding lines open. At a steady rate that is so from one token per
// `least` on. The step from no wait to the lower bound may cost 20 times as much: the window takes
// it unless twenty lines gain hardly one further token by it, which is a trickle.
//
// The window changes its timeout seldom. The p99 is made by the longest waits and small lines by
// the shortest, so a window that mixes both at one load is worse than a fixed pair. Between two
// changes it is the fixed pair (limit, timeout). So a timeout begins to be worth its wait when it
// gains 25% more than it costs, and ceases to be when it loses 20%. The evidence for a change is a
// sum that begins again at each change and never falls below 0 (a CUSUM test). It has to reach the
// worth of 40 lines before the window waits for longer, and of 160 before it waits for less. At a
// rate of one token per `least`, chance alone brings about a longer wait once in some hundred
// thousand tokens.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACE_LEVELS 24

struct pace_level {
    int64_t timeout_ns;
    int64_t first_ns; // of the imagined line
    int count;        // tokens in it
    bool next_worth;  // the next level is
    double balance;   // the evidence against next_worth; above 0 next_worth changes
};

struct pace {
    int limit;
    int levels;      // 0: not adaptive, every batch waits for the timeout
    int now;         // the level whose timeout is in use
    int64_t last_ns; // the last arrival
    struct pace_level level[PACE_LEVELS];
};

// least_ns 0: not adaptive.
void pace_init(struct pace *p, int64_t least_ns, int64_t most_ns, int limit);
void pace_arrived(struct pace *p, int64_t now_ns);

// Returns when a batch that is not full fires, if its first token has waited since first_ns; never
// later than first_ns + timeout_ns.
int64_t pace_due_ns(const struct pace *p, int64_t first_ns, int64_t timeout_ns);
