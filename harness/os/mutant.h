// Mutates the harness, to test its tests. The CMake option MAILPROOF_MUTANTS (the preset "mutants")
// makes a build for this. In that build, the environment variable MAILPROOF_MUTANT names one part
// of the harness, which then does nothing: "fault:delay", "check:lost", "run:every-cut". Some test
// must then fail; ci/mutants tries all the names. In every other build this compiles to nothing.
#pragma once

#include "base/base.h"

#ifdef MAILPROOF_MUTANTS
// True when MAILPROOF_MUTANT is KIND:NAME.
bool mutant_is(const char *kind, const char *name);
#else
static inline bool mutant_is(const char *kind, const char *name)
{
    (void)kind;
    (void)name;
    return false;
}
#endif
