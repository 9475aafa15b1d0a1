// Decides how long to wait for a batch that is not full. Pure, and O(1) for each arrival.
//
// The adaptive window simulates one line for each of several timeouts: 0, the lower bound `least`,
// twice `least` and so on, up to the upper bound. It uses the longest timeout that is still worth
// it. A timeout is worth it if it saves lines, compared with the next shorter timeout, and each
// line that it saves costs less than `least` of additional waiting. At a steady rate that is so
// from one token per `least` on. For the step from 0 to `least`, a saved line may cost 20 times as
// much. So the window takes this step unless twenty lines together gain hardly one further token by
// it. Such a rate is a trickle.
//
// The window changes its timeout seldom. The p99 is made by the longest waits and small lines by
// the shortest, so a window that mixes both at one load is worse than a fixed pair. Between two
// changes it is a fixed pair (limit, timeout). So a timeout begins to be worth its wait when it
// gains 25% more than it costs, and ceases to be when it loses 20%. The evidence for a change is a
// sum that begins again at each change and never falls below its start (a CUSUM test). It has to
// reach the worth of 40 lines before the window waits for longer, and of 160 lines before it waits
// for less. At a rate of one token per `least`, chance alone brings about a longer wait once in
// some hundred thousand tokens.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACE_LEVELS 24

struct pace_level {
    int64_t timeout_ns;
    int64_t first_ns; // when the first token of the imagined line came
    int count;        // how many tokens the imagined line has
    bool next_worth;  // the next level is worth its wait
    double balance;   // the evidence against next_worth; when it rises above 0, next_worth changes
};

struct pace {
    int limit;
    int levels;      // 0: not adaptive, every batch waits for the timeout
    int now;         // the level whose timeout is in use
    int64_t last_ns; // when the last token arrived
    struct pace_level level[PACE_LEVELS];
};

// With least_ns 0 the window is not adaptive.
void pace_init(struct pace *p, int64_t least_ns, int64_t most_ns, int limit);
void pace_arrived(struct pace *p, int64_t now_ns);

// Returns when a batch that is not full fires, if its first token has waited since first_ns; never
// later than first_ns + timeout_ns.
int64_t pace_due_ns(const struct pace *p, int64_t first_ns, int64_t timeout_ns);
