// --skip and --skip-tag: which scenarios of a suite are not run, and why.
#pragma once

#include "options/options.h"

// ERR_USAGE when --skip has a name that is none of these scenarios, or --skip-tag a tag that none
// of them has.
MUST_USE bool skips_check(
    const struct scenario *scenarios, size_t count, const struct options *o, struct err *e);

// True when nothing keeps the scenario from being run. False, with ERR_SKIP and the reason, when it
// is left out by an option, because the subject does not make a promise that it needs, or because
// the schema lacks something.
MUST_USE bool skips_permit(const struct scenario *s, const struct options *o, struct err *e);
