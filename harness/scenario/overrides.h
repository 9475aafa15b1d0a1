// Applies --set key.path=value to the tree before it is decoded. So an option obeys the same rules
// as the file, and an error names the option.
//
// A number in the path names an item of a list; the number behind the last item adds one. Maps that
// are missing on the way are made.
//
// The value is YAML, except below the keys that hold free names: expect, allow, collector.env,
// postgres.settings. There the rest of the path is one name, and the value is taken as it stands.
// So `--set 'expect.latency.p99=>= 1ms'` needs no quotes within quotes.
#pragma once

#include "scenario/node.h"

// `set` must outlive the tree. `place` is where it stands when it does not come from the command
// line; else NULL. Fails with ERR_USAGE.
MUST_USE bool override_apply(
    struct node *root, const char *set, const struct origin *place, struct err *e);
