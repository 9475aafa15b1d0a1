// Mutates the harness, to test its tests: in a build of its own (the CMake option
// MAILPROOF_MUTANTS, the preset "mutants") the environment variable MAILPROOF_MUTANT names one part
// that claims to work and does nothing: "fault:delay", "check:lost", "run:every-cut". Some test
// must turn red then; ci/mutants tries them all. In every other build this compiles to nothing.
#pragma once

#include <stdbool.h>

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
