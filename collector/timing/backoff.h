// How long to wait before the next attempt: to connect, to start a sender, or to send a token.
// Pure.
//
// Decorrelated jitter: each delay is drawn between BACKOFF_START_NS and three times the delay
// before it, and is at most the cap. So when a server comes back its clients spread out instead of
// returning in waves. The first delay after a session that worked is from BACKOFF_FIRST_NS to
// BACKOFF_START_NS, because most losses concern a single backend.
#pragma once

#include "base/base.h"

#define BACKOFF_FIRST_NS INT64_C(10000000)
#define BACKOFF_START_NS INT64_C(50000000)
// The longest delays, by what ended the last attempt.
#define BACKOFF_BRIEF_NS INT64_C(100000000) // a session that worked was ended or lost
#define BACKOFF_SOON_NS INT64_C(400000000)  // the server refused
#define BACKOFF_CAP_NS INT64_C(5000000000) // the server is silent, or somebody has to fix something

struct backoff {
    uint64_t random; // state of the generator; any seed will do
    int64_t last_ns; // the last delay, or BACKOFF_START_NS if it was shorter; 0: the last session
                     // or sender worked, or there was none
};

void backoff_init(struct backoff *b, uint64_t seed);

// Call it when a session or a sender has worked: delays begin again with short ones.
void backoff_reset(struct backoff *b);

// Returns the next delay, at most cap_ns.
int64_t backoff_next_ns(struct backoff *b, int64_t cap_ns);

// --- a token that is tried again -----------------------------------------------------

// Decides when a token is tried again, and when it is given up.
//
// Full jitter: any time between now and min(max, base × 2^errors) is as likely as any other, so
// that tokens that failed together do not come again together.
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
struct retry {
    int64_t base_ms;
    int64_t max_ms;
    int attempts;    // how many failed attempts make a token dead
    uint64_t random; // state of the generator; any seed will do
};

// Returns true when the errors-th failed attempt (counted from 1) was the last.
bool retry_is_last(const struct retry *r, int errors);

// Returns the longest delay that the attempt after the errors-th failed one may have.
int64_t retry_most_ms(const struct retry *r, int errors);

// Draws the delay of that attempt: 0 to retry_most_ms.
int64_t retry_delay_ms(struct retry *r, int errors);
