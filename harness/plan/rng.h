// The plan's random numbers: xoshiro256**, seeded through splitmix64 (Blackman
// and Vigna, "Scrambled linear pseudorandom number generators", 2021). The same
// seed gives the same numbers on every machine.
#pragma once

#include "base/base.h"

struct rng {
    uint64_t s[4];
};

// Starts one stream of random numbers. A seed has many streams, which are independent. `stream` is
// the number of the stream, so that each use (arrivals, kinds, …) can have its own.
void rng_init(struct rng *r, uint64_t seed, uint64_t stream);

// Returns the next 64 random bits.
uint64_t rng_next(struct rng *r);

// Returns a number that is uniform in [0, 1), 53 bits.
double rng_uniform(struct rng *r);

// Returns a number that is uniform in [0, n), n > 0, without modulo bias.
uint64_t rng_below(struct rng *r, uint64_t n);

// Returns a number that is exponentially distributed with mean 1.
double rng_exponential(struct rng *r);
