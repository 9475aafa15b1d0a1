// The send budget as this collector knows it. The token bucket itself is in the database, for all
// collectors of the queue (mailroom_spend, migration 000019). Pure.
//
// A collector pays for the tokens of a line before it begins the line. If that line is not begun,
// the payment counts for the next line, but only for a moment: the bucket fills up meanwhile, and
// both together would be more than the budget allows. After that the payment is lost.
#pragma once

#include <stdint.h>

struct budget {
    int held;               // tokens that are paid for, in no line yet
    int64_t asked_ns;       // when we last asked to pay
    int64_t lost_ns;        // when what is held is lost
    int64_t spent_until_ns; // nothing is left before this time; 0: as far as we know, something is
};

void budget_asked(struct budget *b, int64_t now_ns);

// The database granted this many tokens. If it granted none, something is left again in wait_ms.
void budget_answered(struct budget *b, int granted, int64_t wait_ms, int64_t now_ns);

// Returns how many tokens are paid for.
int budget_held(const struct budget *b, int64_t now_ns);

// A line of this many tokens was written.
void budget_used(struct budget *b, int tokens);
