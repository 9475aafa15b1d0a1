// The trials of --every-cut and --every-kill as lines of the command's record
// (shards/shard_record.h). All lines of a run of the command have the number of that run; a trial
// is known by its cuts.
#pragma once

#include <jansson.h>

#include "fault/transcript.h"
#include "report/files/environment.h"
#include "run/cuts/trial.h"
#include "shards/shard_record.h"

// Returns the number that decides which shard tries these cuts. It follows from the cuts alone,
// because machines may learn different numbers of messages.
uint64_t cutrecord_number(const struct trial_cuts *cuts);

// Writes a trial with its cuts and, as `was`, with the cuts that were asked for. NULL without
// memory.
json_t *cutrecord_trial(uint64_t item, const struct trial_cuts *was, const struct trial_cuts *cuts,
    const struct trial_result *r);

// Writes the trial without a cut, its messages, and where it was made.
json_t *cutrecord_uncut(uint64_t item, const struct trial_result *uncut,
    const struct transcript *messages, const struct environment *where);

// All that the shards' records say of an item.
struct cutrecord {
    struct points points;         // owned
    struct trial_result *results; // owned; one for each of the points
    struct trial_result uncut;    // this and the next two are of one shard
    struct transcript transcript; // owned
    struct environment where;
    int64_t took_ns; // time of all trials together
};

// Fills in a zeroed struct. The caller takes over what it owns, also on failure. ERR_SKIP when the
// record has nothing of the item.
MUST_USE bool cutrecord_take(
    struct cutrecord *r, const struct record *record, uint64_t item, struct err *e);

// Finds the result of a trial that was asked for; false when the record has none.
bool cutrecord_find(const struct record *record, uint64_t item, const struct trial_cuts *was,
    struct trial_cuts *cuts, struct trial_result *r);
