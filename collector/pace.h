// Is a batch that is not full worth waiting for? Pure, and O(1) for each arrival.
//
// The adaptive window waits while the next token is likely to come soon. Arrivals
// are counted with weights that fade with their age, by e in 2 × least: an
// exponentially weighted rate. At a steady rate r the count is r × 2 × least just
// before an arrival and one more after it, so a count of three stands for one token
// in `least`, which is what the lower bound means. From then on the window waits.
//
// Two silences are told apart. Gaps between arrivals at random (Poisson) exceed
// twelve times their mean once in 160,000, and the count overrates a rate by less
// than twice as a rule (twelve is then six: once in 400). So after such a gap the
// line fires, for no more is coming; it never fires for a gap shorter than `least`.
// And after a gap of 16 × least the load is a trickle again: nothing waits until
// the count is three once more. The distance between that and one in `least` keeps
// a steady rate between the two from changing its mind.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pace {
    int64_t least_ns; // 0: not adaptive, every batch waits for the timeout
    int64_t last_ns;  // the last arrival
    int64_t quiet_ns; // busy: a silence of this length fires the line
    double count;     // of arrivals, weighted by age, at last_ns
    bool busy;        // waiting is worth it
};

void pace_init(struct pace *p, int64_t least_ns);
void pace_arrived(struct pace *p, int64_t now_ns);

// When a batch fires that is not full, whose first token waits since first_ns;
// never later than first_ns + timeout_ns.
int64_t pace_due_ns(const struct pace *p, int64_t first_ns, int64_t timeout_ns);
