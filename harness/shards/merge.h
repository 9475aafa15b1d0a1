// Puts the records of shards together. The same lines come out in whatever order the folders are
// named.
#pragma once

#include "shards/shard_record.h"

// The work of some shards that belong together.
struct merged {
    json_t *head;   // owned; the first line of a shard's record
    json_t *lines;  // owned; the lines of all shards by shard, each with its folder under "in"
    char gaps[400]; // which shards are missing or did not finish; "": none
};

struct merges {
    struct merged *items; // owned; in the order of their command and what it is about
    size_t count;
};

// Finds the records of shards in the folders and below. Links are not followed. ERR_USAGE when
// there are none, when a shard is there twice, or when shards of the same work were not asked the
// same. Call merges_fini also on failure.
MUST_USE bool merge_records(struct merges *m, char *const *folders, struct err *e);
void merges_fini(struct merges *m);
