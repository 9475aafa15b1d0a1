// The states that power cuts leave, one after another, on one image: for each
// flush of a record, the disk as it would be had the power gone just before that
// flush took effect.
//
// A state is tried by a server, which writes to the disk as well; before the
// next state all of that is undone. States only go forward. A trial can be cut itself, at one of
// its own flushes.
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
// `at_ns` is when the flush was answered: the cut came just before.
MUST_USE bool replay_state(struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left,
    int64_t *at_ns, struct err *e);

// A second cut, while a server tries a state. How many flushes there were since the state was put,
// those left out that had nothing to flush; and the device in the state at the n-th of them, from
// 1: everything later is undone, and of what was written since the flush before it the seed chooses
// again.
uint64_t replay_trial_flushes(const struct replay *r);
MUST_USE bool replay_again(
    struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left, struct err *e);

// Keeps a write to the device with the bytes that it replaces, so that it can be undone; and where
// a flush came. False when memory is short, or the trial has written too much.
MUST_USE bool replay_remember(
    struct replay *r, uint64_t offset, uint32_t length, const void *before, const void *after);
MUST_USE bool replay_flush(struct replay *r);
