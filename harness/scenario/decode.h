// From a tree to a struct, row by row of the grammar's tables.
#pragma once

#include "scenario/grammar.h"
#include "scenario/node.h"

// Fills the struct at `base` from `map`, which is left as it is. What has been
// filled before a failure stays for the owner to free.
MUST_USE bool decode_map(const struct table *t, const struct node *map, void *base, struct err *e);

// For decoders in files of their own: a value that is no list or map; one that
// is also a line of text; a copy of a string; an array of n->count + 1 zeroed
// items whose address goes into *slot.
MUST_USE bool decode_want_scalar(const struct node *n, struct err *e);
MUST_USE bool decode_want_line(const struct node *n, struct err *e);
MUST_USE bool decode_copy(char **to, const char *text, struct err *e);
MUST_USE bool decode_new_array(const struct node *n, size_t size, void *slot, struct err *e);
