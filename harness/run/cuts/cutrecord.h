// The trials of --every-cut and --every-kill as lines of the command's record
// (shards/shard_record.h). The trials of one scenario are one item of the record, so their lines
// have the same item number. Within an item a trial is found by its planned cuts.
#pragma once

#include <jansson.h>

#include "fault/transcript.h"
#include "report/files/environment.h"
#include "run/cuts/trial.h"
#include "shards/shard_record.h"

// Returns the number that decides which shard tries these cuts. It follows from the cuts alone,
// because machines may learn different numbers of messages.
uint64_t cutrecord_number(const struct trial_cuts *cuts);

// Writes a trial with its planned cuts and the cuts of its last try. They differ if a second cut
// that was not reached has been moved nearer.
json_t *cutrecord_trial(uint64_t item, const struct trial_cuts *planned,
    const struct trial_cuts *cuts, const struct trial_result *r);

// Writes the trial without any cut, its messages, and the environment in which it was made.
json_t *cutrecord_uncut(uint64_t item, const struct trial_result *uncut,
    const struct transcript *messages, const struct environment *where);

// What the shards' records together say of one item.
struct cutrecord {
    struct points points;         // owned
    struct trial_result *results; // owned; one for each of the points
    struct trial_result uncut;    // worst result of the shards' trials without any cut
    struct transcript transcript; // owned; messages of one trial without any cut, if possible of
                                  // one that passed
    struct environment where;     // where the trial of `transcript` was made
    int64_t took_ns;              // time of all trials together
};

// Fills in a zeroed struct. The caller frees what it owns, also on failure. ERR_SKIP when the
// record has no trial without any cut, with which each shard begins the item.
MUST_USE bool cutrecord_take(
    struct cutrecord *r, const struct record *record, uint64_t item, struct err *e);

// Finds the trial with these planned cuts, and fills in the cuts of its last try and its result.
// Returns false, and fills in nothing, when the record has no such trial.
bool cutrecord_find(const struct record *record, uint64_t item, const struct trial_cuts *planned,
    struct trial_cuts *cuts, struct trial_result *r);
