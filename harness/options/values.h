// Reads the values of the options that take a number, a percentage, a server or an override.
#pragma once

#include "options/options.h"

enum read_id {
    READ_POSTGRES,
    READ_SEED,
    READ_SET,
    READ_REPEAT,
    READ_JOBS,
    READ_DRAWS,
    READ_SHARD,
    READ_RETRIES,
    READ_PAIRS,
    READ_RUNS,
    READ_SEEDS,
    READ_MIN_EFFECT,
    READ_PRECISION,
    READ_PASS_ENV,
    READ_AS,
    READ_PROMISES,
    READ_SCALE,
};

// Stores the value of an option. ERR_USAGE: the error names the option and says what it takes.
MUST_USE bool values_read(struct options *o, enum read_id id, const char *value, struct err *e);
