// From a tree to a struct, row by row of the grammar's tables.
#pragma once

#include "scenario/grammar.h"
#include "scenario/node.h"

// Fills the struct at `base` from `map`, which is left as it is. What has been
// filled before a failure stays for the owner to free.
MUST_USE bool decode_map(const struct table *t, const struct node *map, void *base, struct err *e);
