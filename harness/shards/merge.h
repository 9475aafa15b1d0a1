// Joins the records of shards. They are sorted, so that the result does not depend on the order in
// which the folders are named.
#pragma once

#include "shards/shard_record.h"

// The joined records of shards that belong to the same work.
struct merged {
    json_t *head;   // owned; the first line of one of the records
    json_t *lines;  // owned; the lines of all shards, sorted by shard; each has the folder of its
                    // record under "in"
    char gaps[400]; // says which shards are missing or did not finish; "": none
};

struct merges {
    struct merged *items; // owned; one for each work, sorted by `command` and `about` of their
                          // heads (shard_record.h)
    size_t count;
};

// Finds the records of shards in the folders and up to six levels below them, but in no link and no
// hidden folder, and joins those of the same work. ERR_USAGE when there is no such record, when a
// shard is there twice, or when shards of the same work had different options or versions. Call
// merges_fini also on failure.
MUST_USE bool merge_records(struct merges *m, char *const *folders, struct err *e);
void merges_fini(struct merges *m);
