// The bell's requests; bell.h says what it is for.
#pragma once

#include <libpq-fe.h>

#include "base/err.h"

struct collector;

bool ring_take(struct collector *c, struct err *e) MUST_USE;   // if it is to be taken now
bool ring_let_go(struct collector *c, struct err *e) MUST_USE; // we look by ourselves
bool ring_on_bell(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// We shall not look for a while: others that sleep must hear of what comes.
bool ring_keep(struct collector *c, struct err *e) MUST_USE;
