// Describes where a run was made: versions, the machine, the proof of its disk's durability.
// env.json keeps this description, and a later rendering reads it from there.
#pragma once

#include "postgres/durability.h"

struct environment {
    char mailproof[32], commit[48]; // version and commit of the program that made the run
    int postgres_version;
    char kernel[128], machine[128];
    int cpus, memory_mb;
    struct durability_proof proof;
};

// Describes this machine and this program.
void environment_take(
    struct environment *v, const struct durability_proof *proof, int postgres_version);

// Reads the env.json of a result folder; ERR_USAGE names the mistake in it.
MUST_USE bool environment_read(struct environment *v, const char *folder, struct err *e);

struct json_t;
// Fills in *v from an object that environment_json has made. Returns false when the object lacks
// the parts that every description has.
bool environment_parse(struct environment *v, const struct json_t *from);

// Returns the description as a new json_t object, for env.json and result.json.
struct json_t *environment_json(const struct environment *v);
