// Decides when a token is tried again, and when it is given up. Pure.
//
// Full jitter: any time between now and min(max, base × 2^errors) is as likely as any other, so
// that tokens that failed together do not come again together.
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct retry {
    int64_t base_ms;
    int64_t max_ms;
    int attempts;    // how many failed attempts make a token dead
    uint64_t random; // state of the generator; any seed will do
};

// Returns true when the errors-th failed attempt (counted from 1) was the last.
bool retry_is_last(const struct retry *r, int errors);

// Returns the longest delay of the next attempt.
int64_t retry_most_ms(const struct retry *r, int errors);

// Returns the delay of the next attempt: 0 to retry_most_ms.
int64_t retry_delay_ms(struct retry *r, int errors);
