// --skip and --skip-tag: which scenarios of a suite are not run, and why.
#pragma once

#include "options/options.h"

// ERR_USAGE when --skip names no scenario among these, or --skip-tag no tag that one of them has.
MUST_USE bool skips_check(
    const struct scenario *scenarios, size_t count, const struct options *o, struct err *e);

// False, with ERR_SKIP and the reason, when an option, a promise that the subject does not make or
// the schema keeps the scenario from being run.
MUST_USE bool skips_none(const struct scenario *s, const struct options *o, struct err *e);
