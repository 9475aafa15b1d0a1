// Applies --set key.path=value to the tree before the tree is decoded. So an option obeys the same
// rules as the file, and an error names the option.
//
// A number in the path names an item of a list, counted from 0. In a list of three, number 3 adds
// an item. Maps and lists that are missing on the way are made.
//
// The value is YAML, except below the keys that hold free names: expect, allow, collector.env,
// postgres.settings. There the rest of the path is one name, and the value is taken as it stands.
// So `--set 'expect.latency.p99=>= 1ms'` needs no quotes within quotes.
#pragma once

#include "scenario/node.h"

// Applies one "key.path=value". `set` must outlive the tree, whose nodes point to it. `place` is
// where `set` stands if it comes from a file, NULL if it comes from the command line. Fails with
// ERR_USAGE.
MUST_USE bool override_apply(
    struct node *root, const char *set, const struct origin *place, struct err *e);
