// The states that power cuts leave, one after another, on one image: for each
// flush of a record, the disk as it would be had the power gone just before that
// flush took effect.
//
// A state is tried by a server, which writes to the disk as well; before the
// next state all of that is undone. States only go forward.
#pragma once

#include <stdint.h>

#include "disk/device.h"

struct replay;

// The device's image becomes a copy of the recorded base. `flushes` gets how many
// there are.
MUST_USE bool replay_begin(struct device *d, uint64_t *flushes, struct err *e);
void replay_free(struct replay *r);

// Puts the device into the state at the n-th flush, from 1: what the flushes
// before it made durable, and a choice, by the seed, of what was written since.
// `at_ns` is when the flush was asked for.
MUST_USE bool replay_state(struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left,
    int64_t *at_ns, struct err *e);

// Keeps the bytes that a write to the device replaces, so that it can be undone.
MUST_USE bool replay_remember(
    struct replay *r, uint64_t offset, uint32_t length, const void *before);
