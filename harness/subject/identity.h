// Identifies the tested program by its content: a name may stay while the program
// behind it changes.
#pragma once

#include "base/err.h"

// Returns "mailroom-collector sha256:1a2b3c4d5e6f": each word of the command that names a file,
// with the beginning of its content's checksum. argv[0] is looked up in PATH, the others in `dir`
// (NULL: where we are). `before`: what is known besides, such as a subject's name and version;
// NULL: nothing. Owned by the caller; NULL without memory.
char *identity_of(char *const *argv, const char *dir, const char *before);
