#include "timing/backoff.h"

void backoff_init(struct backoff *b, uint64_t seed)
{
    *b = (struct backoff){.random = seed};
}

void backoff_reset(struct backoff *b)
{
    b->last_ns = 0;
}

// splitmix64, by Sebastiano Vigna (public domain): every seed is a good one.
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// Draws a number from low to high, both included.
static int64_t draw_between(struct backoff *b, int64_t low, int64_t high)
{
    return low + (int64_t)(draw(&b->random) % (uint64_t)(high - low + 1));
}

int64_t backoff_next_ns(struct backoff *b, int64_t cap_ns)
{
    if (b->last_ns == 0) {
        // The next delay is drawn as if this one were BACKOFF_START_NS. Otherwise its range might
        // end below its start: three times a short delay may be less than BACKOFF_START_NS.
        b->last_ns = BACKOFF_START_NS;
        return draw_between(b, BACKOFF_FIRST_NS, BACKOFF_START_NS);
    }
    b->last_ns = draw_between(b, BACKOFF_START_NS, clock_min(3 * b->last_ns, cap_ns));
    return b->last_ns;
}

// --- a token that is tried again -----------------------------------------------------

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
    return clock_min(most, r->max_ms);
}

int64_t retry_delay_ms(struct retry *r, int errors)
{
    return (int64_t)(draw(&r->random) % ((uint64_t)retry_most_ms(r, errors) + 1));
}
