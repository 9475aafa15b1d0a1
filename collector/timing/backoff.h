// How long to wait before the next attempt to connect. Pure.
//
// Decorrelated jitter: each delay is drawn between the start and three times the one before, up to
// the cap, so that the clients of a server that came back spread out instead of returning in waves.
// The first delay after a session that worked is drawn below the start, because most losses concern
// a single backend.
#pragma once

#include <stdint.h>

#define BACKOFF_START_NS INT64_C(50000000)
// The caps, by what ended the last attempt.
#define BACKOFF_BRIEF_NS INT64_C(100000000) // somebody ended a session that worked
#define BACKOFF_SOON_NS INT64_C(400000000)  // the server refused
#define BACKOFF_CAP_NS INT64_C(5000000000) // the server is silent, or somebody has to fix something

struct backoff {
    uint64_t random; // state of the generator; any seed will do
    int64_t last_ns; // the last delay; 0: the last session worked
};

void backoff_init(struct backoff *b, uint64_t seed);

// Begins again with short delays, because a session worked.
void backoff_reset(struct backoff *b);

// Returns the next delay, at most cap_ns.
int64_t backoff_next_ns(struct backoff *b, int64_t cap_ns);
