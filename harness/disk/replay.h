// Puts an image into the states that power cuts leave, one after another. For each flush of a
// record there is a state: the disk as it would be if the power had gone just before that flush
// took effect.
//
// A server tries a state, which we call a trial, and writes to the disk as well. All these writes
// are undone before the next state. States only go forward. A trial can itself be cut, at one of
// its own flushes.
#pragma once

#include <stdint.h>

#include "disk/device.h"

struct replay;

// Begins a replay: the recorded base becomes the image of the device. Sets *flushes to the number
// of flushes in the record.
MUST_USE bool replay_begin(struct device *d, uint64_t *flushes, struct err *e);
void replay_free(struct replay *r);

// Puts the device into the state at the n-th flush, counted from 1. The image has all that the
// flushes before it made durable, and a part of the writes since then, which the seed chooses.
// `at_ns` is when the flush was answered; the cut comes just before that.
MUST_USE bool replay_state(struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left,
    int64_t *at_ns, struct err *e);

// Functions for a second cut, while a server tries a state.
//
// replay_trial_flushes returns how many flushes there were since the state was put; a flush with
// nothing to flush does not count. replay_again puts the device into the state at the n-th of them,
// from 1. Everything later is undone, and the seed chooses again among the writes since the flush
// before.
uint64_t replay_trial_flushes(const struct replay *r);
MUST_USE bool replay_again(
    struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left, struct err *e);

// replay_remember keeps a write to the device with the bytes that it replaces, so that it can be
// undone. replay_flush notes where among the writes a flush came. Both return false when memory is
// short; replay_remember also does when the trial has written too much.
MUST_USE bool replay_remember(
    struct replay *r, uint64_t offset, uint32_t length, const void *before, const void *after);
MUST_USE bool replay_flush(struct replay *r);
