#include "timing/retry.h"

#include <assert.h>

bool retry_is_last(const struct retry *r, int errors)
{
    return errors >= r->attempts;
}

int64_t retry_most_ms(const struct retry *r, int errors)
{
    int64_t most = r->base_ms;

    assert(errors >= 1);
    for (int i = 0; i < errors && most < r->max_ms; i++)
        most *= 2;
    return most < r->max_ms ? most : r->max_ms;
}

// splitmix64, by Sebastiano Vigna (public domain): every seed is a good one.
static uint64_t draw_retry(struct retry *r)
{
    uint64_t z = r->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int64_t retry_delay_ms(struct retry *r, int errors)
{
    return (int64_t)(draw_retry(r) % ((uint64_t)retry_most_ms(r, errors) + 1));
}
