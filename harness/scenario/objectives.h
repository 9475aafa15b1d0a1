// Decodes the maps `allow`, `judged` and `expect`, whose keys are the metrics of metrics.h.
// decode.c calls these functions for fields of these types. `slot` is the address of an array that
// has its count behind it.
#pragma once

#include "scenario/grammar.h"
#include "scenario/node.h"

MUST_USE bool objectives_decode_allow(
    const struct field *f, const struct node *n, void *slot, struct err *e);
MUST_USE bool objectives_decode_judged(
    const struct field *f, const struct node *n, void *slot, struct err *e);
MUST_USE bool objectives_decode_expect(
    const struct field *f, const struct node *n, void *slot, struct err *e);
