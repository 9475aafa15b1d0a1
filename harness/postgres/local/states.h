// Puts a server's crashable disk into the states in which power cuts would have left it: one for
// each flush of a workload that ran once and was recorded.
#pragma once

#include "postgres/provider.h"

struct state {
    int64_t at_ns;   // when the flush was answered in the recording; the cut comes just before that
    int64_t writes;  // number of writes that were not flushed at the cut
    int64_t sectors; // number of sectors that these writes touched
    int64_t kept;    // number of these sectors that hold their newest version
};

// Begins to record everything that reaches the disk. Each flush then takes at least `flush_ns`, so
// that a reader has that time to read the lines which were written before the flush. ERR_USAGE when
// the server has no crashable disk.
MUST_USE bool states_record(struct server *s, int64_t flush_ns, struct err *e);

// Ends the recording, kills the server, and puts the disk back into the state at the recording's
// beginning. *count becomes the number of states: one for each flush, and one for the end.
MUST_USE bool states_begin(struct server *s, uint64_t *count, struct err *e);

// Kills the server if it still runs on an earlier state, and puts the disk into the n-th state,
// counted from 1: as a power cut at the n-th flush would have left it. `seed` chooses which
// unflushed sectors it keeps. n must grow from call to call. Afterwards the server may be started.
MUST_USE bool states_put(
    struct server *s, uint64_t n, uint64_t seed, struct state *out, struct err *e);

// Counts the flushes since the disk was put into its state, except those that had nothing to flush.
MUST_USE bool states_count_flushes(struct server *s, uint64_t *flushes, struct err *e);

// Kills the server, and puts the disk into the state in which a second cut would leave it at the
// n-th flush that states_count_flushes counts, from 1. out->at_ns is 0, because that flush is not
// in the recording.
MUST_USE bool states_put_again(
    struct server *s, uint64_t n, uint64_t seed, struct state *out, struct err *e);

// True when the file system had to be repaired at its last mount, because the second cut had torn
// the superblock.
bool states_repaired(struct server *s);
