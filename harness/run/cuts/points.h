// Chooses where the trials of --every-cut and --every-kill cut: on both sides of every message that
// a small workload exchanges, and at pairs of messages. Pure.
#pragma once

#include "scenario/messages.h"
#include "scenario/verbs.h"

// What happens at a message: the connection is cut, or the collector is killed.
enum cut_action { ACTION_CUT, ACTION_KILL };

struct cut_point {
    enum message_sender sender;
    unsigned char type; // enum message_type, or the protocol's own byte
    int n;              // number of the message among those of its kind, from 1
    enum cut_side side;
};

#define POINTS_CUTS_MAX 2

// The cuts of one trial. For the second cut, messages are counted from the first cut on.
struct trial_cuts {
    struct cut_point at[POINTS_CUTS_MAX];
    int count;
};

struct points {
    struct trial_cuts *items; // owned; `singles` single cuts, sorted by kind, then the pairs
    size_t count, singles;
};

// Makes two cuts for each message, one before it and one after it. `counts` has the number of
// messages by sender and type. `only` restricts the kinds; NULL: all. ERR_SYSTEM when there is no
// message of the kind, ERR_USAGE when there are too many.
MUST_USE bool points_make(
    struct points *p, unsigned counts[2][256], const struct message_kind *only, struct err *e);

// Adds `pairs` trials with two cuts: the first is one of the single cuts, and the second comes
// while a collector recovers from it. `recovery` is the number of messages of each sender that a
// recovery takes, roughly. The pairs are a random sample, because all of them would be too many.
// The same seed gives the same pairs.
MUST_USE bool points_add_pairs(
    struct points *p, size_t pairs, uint64_t seed, const unsigned recovery[2], struct err *e);

void points_fini(struct points *p);

// Room for a text such as "before client Bind number 3, then after server any number 12".
#define POINTS_TEXT 160
const char *points_text(const struct trial_cuts *cuts, char text[POINTS_TEXT]);

const char *points_side(enum cut_side side);
