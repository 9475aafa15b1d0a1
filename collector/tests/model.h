// A model of the protocol by which collectors share a queue, for every order of events.
//
// Two collectors work on three tokens, one token a line. The model tries all orders in which they
// take, write, settle, lose an answer or a session, die, are told to end, adopt and give back, and
// in which the server crashes and the clock goes on. Nothing of it is the collector's code: it
// shows that the rules are enough, and that each of them is needed.
#pragma once

#include "base/base.h"

struct model_rules {
    bool exclusive; // one collector at a time; tokens go out in order
    bool answers;   // a line is settled by an answer, which may come after a lost session
    bool budget;    // one line between two steps of the clock
    bool lazy;      // the first line after a rest is taken by its settle
    bool async;     // a crash may lose takes that were answered

    // The rule that is left out.
    enum {
        NO_RULE,
        RULE_KEY,   // a row is known by its number alone, which may come again after a crash
        RULE_CLAIM, // a claim leaves the others' rows, which are adopted one by one
        RULE_PAID,  // a payment counts for whoever adopts the row, whenever that is
        RULE_DOUBT, // an earlier session's lines are forgotten with their rows
    } without;
};

struct model_found {
    const char *broken; // the promise that was broken; NULL: none was
    uint64_t states;    // how many states were seen
    char schedule[512]; // the events that lead there
};

// Tries all orders of up to `depth` events.
struct model_found model_explore(const struct model_rules *rules, int depth);
