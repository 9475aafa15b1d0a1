// When is a token tried again, and when no more? (pure)
//
// Full jitter: any time between now and min(max, base × 2^errors) is as likely as
// any other, so that what failed together does not come again together.
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct retry {
    int64_t base_ms;
    int64_t max_ms;
    int attempts;    // that count, after which a token is dead
    uint64_t random; // state; seed it with anything
};

// Returns true when the errors-th failed attempt (counted from 1) was the last.
bool retry_is_last(const struct retry *r, int errors);

// The longest that the next attempt may be put off.
int64_t retry_most_ms(const struct retry *r, int errors);

// For how long it is put off: 0 to retry_most_ms.
int64_t retry_delay_ms(struct retry *r, int errors);
