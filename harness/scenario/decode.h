// Decodes a tree into a struct, following the rows of the grammar's tables.
#pragma once

#include "scenario/grammar.h"
#include "scenario/node.h"

// Fills the struct at `base` from `map`, which stays unchanged. After a failure the members that
// were filled keep their values, and the owner frees them.
MUST_USE bool decode_map(const struct table *t, const struct node *map, void *base, struct err *e);

// Helpers for decoders in other files. check_is_scalar checks that a value is neither a list nor
// a map, and check_is_line that it is also one line of text.
MUST_USE bool check_is_scalar(const struct node *n, struct err *e);
MUST_USE bool check_is_line(const struct node *n, struct err *e);

// Decode a list of the field's words into an int with their bits, and a share into a double.
MUST_USE bool decode_words(const struct field *f, const struct node *n, void *slot, struct err *e);
MUST_USE bool decode_share(const struct field *f, const struct node *n, void *slot, struct err *e);

// --- objectives.c ------------------------------------------------------------------------

// Decode `allow`, `judged` and `expect` for decode.c. `slot` is the address of the pointer to the
// array; the array's size_t count stands right after that pointer.
MUST_USE bool objectives_decode_allow(
    const struct field *f, const struct node *n, void *slot, struct err *e);
MUST_USE bool objectives_decode_judged(
    const struct field *f, const struct node *n, void *slot, struct err *e);
MUST_USE bool objectives_decode_expect(
    const struct field *f, const struct node *n, void *slot, struct err *e);
