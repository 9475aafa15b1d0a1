// How long is a batch that is not full worth waiting for? Pure, and O(1) for each
// arrival.
//
// The adaptive window runs in thought a line for each of some timeouts: none, the
// lower bound, twice as long and so on, up to the upper bound. It waits for the longest
// that is still worth it. A timeout is worth it while each line that it saves, beside
// the one before, costs less than `least` of holding lines open. At a steady rate that
// is so from one token in `least`. The lower bound itself is worth much more than
// nothing (20 times as much): it is waited for unless it brings hardly one further
// token for twenty lines, which is a trickle.
//
// It changes its mind seldom. The p99 is made by the longest waits and small lines by
// the shortest, so a window that mixes both at one load is worse than a fixed pair.
// Between two changes it is the fixed pair (limit, timeout). So what is to be worth its
// wait must gain 25% more than it costs, and what is to be so no more, lose 20%. Evidence
// adds up from the last change, or from when there was least of it (a CUSUM test), to 40
// lines before it waits for longer, and to 160 before it waits for less. By chance the
// former comes at a rate of one in `least` once in some hundred thousand tokens.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACE_LEVELS 24

struct pace_level {
    int64_t timeout_ns;
    int64_t first_ns; // of the line in thought
    int count;        // tokens in it
    bool next_worth;  // the next level is
    double balance;   // of what speaks against that; above 0 it changes
};

struct pace {
    int limit;
    int levels;      // 0: not adaptive, every batch waits for the timeout
    int now;         // the level that is waited for
    int64_t last_ns; // the last arrival
    struct pace_level level[PACE_LEVELS];
};

// least_ns 0: not adaptive.
void pace_init(struct pace *p, int64_t least_ns, int64_t most_ns, int limit);
void pace_arrived(struct pace *p, int64_t now_ns);

// When a batch fires that is not full, whose first token waits since first_ns;
// never later than first_ns + timeout_ns.
int64_t pace_due_ns(const struct pace *p, int64_t first_ns, int64_t timeout_ns);
