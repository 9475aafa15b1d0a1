// Puts an image into the states that power cuts leave, one after another. For each flush of a
// record there is a state: the disk as it would be if the power had gone just before that flush
// took effect.
//
// A server is started on each state; this is called a trial. The server's writes are undone before
// the next state. The states come only in the order of the flushes. The power can also be cut again
// during a trial, at one of the trial's own flushes.
#pragma once

#include "disk/device.h"

struct replay;

// Begins a replay: the recorded base becomes the image of the device. Sets *flushes to the number
// of flushes in the record. A failure leaves the device as it was.
MUST_USE bool replay_begin(struct device *d, uint64_t *flushes, struct err *e);
void replay_free(struct replay *r);

// Puts the device into the state at the n-th flush, counted from 1. The image has all writes before
// flush n - 1, and a part of those between it and flush n, which the seed chooses. *left counts the
// writes between the two flushes, and what the cut leaves of them. `at_ns` is when flush n was
// answered; the cut comes just before.
MUST_USE bool replay_state(struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left,
    int64_t *at_ns, struct err *e);

// Functions for a second cut, during a trial.
//
// replay_trial_flushes returns the number of flushes in the trial so far, without those that had
// nothing to flush. replay_again puts the device into the state just before the n-th of them,
// counted from 1: undoes all later writes, and lets the seed choose among the writes since the
// flush before it.
uint64_t replay_trial_flushes(const struct replay *r);
MUST_USE bool replay_again(
    struct device *d, uint64_t n, uint64_t seed, struct cache_cut *left, struct err *e);

// replay_remember stores a write to the device and the bytes that it replaces, so that the write
// can be undone; false when the trial has written too much. replay_flush notes where among the
// writes a flush came.
MUST_USE bool replay_remember(
    struct replay *r, uint64_t offset, uint32_t length, const void *before, const void *after);
void replay_flush(struct replay *r);
