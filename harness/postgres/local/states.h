// The states in which power cuts leave a server's crashable disk: one for each flush of a workload
// that ran once and was recorded.
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "postgres/provider.h"

struct state {
    int64_t at_ns;                 // when the flush was answered; the cut comes just before that
    int64_t writes, sectors, kept; // see disk/cache.h
};

// Records all that reaches the disk. Each flush takes at least `flush_ns`, which is the time that a
// reader has to read the lines that were written before the flush. ERR_SKIP or ERR_USAGE where the
// server's disk is not ours.
MUST_USE bool states_record(struct server *s, int64_t flush_ns, struct err *e);

// Ends the recording, kills the server, and puts the disk back to the recording's beginning.
// `count` gets the number of states: one for each flush, and one for the end.
MUST_USE bool states_begin(struct server *s, uint64_t *count, struct err *e);

// Kills the server that runs on the last state, and puts the disk into the n-th state, counted from
// 1. n must grow from call to call. Afterwards the server may be started.
MUST_USE bool states_put(
    struct server *s, uint64_t n, uint64_t seed, struct state *out, struct err *e);

// Counts the flushes since the state was put, except those that had nothing to flush.
MUST_USE bool states_count_flushes(struct server *s, uint64_t *flushes, struct err *e);

// Kills the server that runs on a state, and puts the disk into the state that a second cut leaves
// at the n-th of these flushes, counted from 1.
MUST_USE bool states_put_again(
    struct server *s, uint64_t n, uint64_t seed, struct state *out, struct err *e);

// True when the file system had to be repaired before it could be mounted, because the second cut
// tore its superblock.
bool states_repaired(struct server *s);
