// Defect uncommitted: a collector that does not wait for commits.
//
// It installs a trigger in the database that shows each token at once in the session's
// application_name, where others see it before the commit.
#pragma once

#include "batch.h"
#include "session.h"
#include "settings.h"

// Writes the tokens that it overhears, one per line, until TERM (true).
bool uncommitted_serve(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e) MUST_USE;
