#include "os/mutant.h"

#ifdef MAILPROOF_MUTANTS

#include <stdlib.h>
#include <string.h>

bool mutant_is(const char *kind, const char *name)
{
    const char *mutant = getenv("MAILPROOF_MUTANT");
    size_t len = strlen(kind);

    return mutant && strncmp(mutant, kind, len) == 0 && mutant[len] == ':' &&
           strcmp(mutant + len + 1, name) == 0;
}

#else

typedef int mutant_is_nothing_in_this_build; // C allows no empty source file

#endif
