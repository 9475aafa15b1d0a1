#include "plan/rng.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed, uint64_t stream)
{
    // Seed and stream are both scrambled, so that neighbouring numbers give unlike states. The
    // factor keeps seed 1 with stream 2 from giving the numbers of seed 2 with stream 1.
    uint64_t state = splitmix64(&seed);

    state ^= splitmix64(&stream) * 0xff51afd7ed558ccdu;
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix64(&state);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

// This is xoshiro256**; the shifts and factors are its own.
uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double rng_uniform(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    assert(n > 0);
    // The 2^64 mod n smallest numbers are rejected, because with them some remainders would be
    // likelier than others.
    uint64_t surplus = (0 - n) % n;
    uint64_t x;

    do
        x = rng_next(r);
    while (x < surplus);
    return x % n;
}

// Von Neumann's method ("Various techniques used in connection with random digits", 1951) counts
// how long a run of uniform numbers keeps falling. The first number of a run of odd length is the
// fraction, and each run of even length before it adds 1. The method needs only comparisons and no
// logarithm, which may differ between machines and so would change a plan.
double rng_exponential(struct rng *r)
{
    double whole = 0;

    for (;;) {
        double first = rng_uniform(r);
        double last = first;
        bool odd = true;

        for (;;) {
            double next = rng_uniform(r);
            if (next >= last)
                break;
            last = next;
            odd = !odd;
        }
        if (odd)
            return whole + first;
        whole += 1;
    }
}
