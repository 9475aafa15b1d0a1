// Where a run was made: versions, the machine, what was proved of its disk. Kept
// in env.json, from which a later rendering takes it back.
#pragma once

#include "base/err.h"
#include "postgres/durability.h"

struct environment {
    char mailproof[32], commit[48]; // of the program that made the run
    int postgres_version;
    char kernel[128], machine[128];
    int cpus, memory_mb;
    struct durability_proof proof;
};

// Of this machine and this program.
void environment_take(
    struct environment *v, const struct durability_proof *proof, int postgres_version);

// From the env.json of a result folder; ERR_USAGE names what is wrong with it.
MUST_USE bool environment_read(struct environment *v, const char *folder, struct err *e);

// A new json_t object, for env.json and result.json.
struct json_t;
struct json_t *environment_json(const struct environment *v);
