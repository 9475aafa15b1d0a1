// Makes small random changes to an input, for runs without libFuzzer. The changes are the same on
// every machine.
#pragma once

#include "plan/rng.h"

// Changes `data` in a few places; `other` is an input to take pieces from.
// Returns the new length, at most `most`.
size_t mutate(struct rng *rng, uint8_t *data, size_t len, size_t most, const uint8_t *other,
    size_t other_len);
