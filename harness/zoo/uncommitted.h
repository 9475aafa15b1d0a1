// Defect uncommitted: a collector that does not wait for commits.
//
// It leaves a trigger in the database that tells of each token at once, through
// a channel that no transaction holds back: the session's application_name.
#pragma once

#include "batch.h"
#include "session.h"
#include "settings.h"

// Writes what it overhears, one token per line, until TERM (true).
bool uncommitted_serve(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e) MUST_USE;
