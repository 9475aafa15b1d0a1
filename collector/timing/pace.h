// Decides how long to wait for a batch that is not full. Pure, and O(1) for each arrival.
//
// The adaptive window simulates one line for each of several timeouts: 0, the lower bound `least`,
// twice `least` and so on, up to the upper bound. It uses the longest of these timeouts that is
// still worth its wait. What counts is the wait of a line's first token, the longest in the line. A
// saved line is worth `least` of waiting: a timeout is worth its wait if, compared with the next
// shorter one, each line that it saves costs less than that. At a steady rate that is so if one
// token or more comes per `least`. For the step from 0 to `least`, a saved line is worth 20 times
// as much. So the window takes this step, unless fewer than one token comes per 20 `least`.
//
// The window changes its timeout seldom. Long waits raise the p99, and short waits make small
// lines, so a window that mixes both at one load is worse than a fixed pair (limit, timeout).
// Between two changes the window is such a fixed pair. To change seldom, it counts a timeout as
// worth its wait once the gain is 25% above the cost, and as no longer worth it once the gain is
// 20% below. The evidence for a change is a sum that begins again at each change and never falls
// below its start (a CUSUM test). The sum has to reach the worth of 40 lines before the window
// waits for longer, and of 160 lines before it waits for less. At a rate of one token per `least`,
// chance alone brings about a longer wait once in some hundred thousand tokens.
#pragma once

#include "base/base.h"

#define PACE_LEVELS 24

struct pace_level {
    int64_t timeout_ns;
    int64_t first_ns; // when the first token of the imagined line came
    int count;        // how many tokens the imagined line has
    bool next_worth;  // the next level is worth its wait
    double balance;   // the evidence against next_worth, which changes when this rises above 0
};

struct pace {
    int limit;       // the batch limit
    int levels;      // 0: not adaptive, every batch waits for the timeout
    int in_use;      // the level whose timeout is in use
    int64_t last_ns; // when the last token arrived
    struct pace_level level[PACE_LEVELS];
};

// With least_ns 0 the window is not adaptive.
void pace_init(struct pace *p, int64_t least_ns, int64_t most_ns, int limit);
// Counts a token that arrives now.
void pace_arrived(struct pace *p, int64_t now_ns);

// Returns when a batch that is not full fires, if its first token has waited since first_ns; never
// later than first_ns + timeout_ns.
int64_t pace_due_ns(const struct pace *p, int64_t first_ns, int64_t timeout_ns);
