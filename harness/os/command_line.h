// Splits a command line at its blanks. There are no quotes, because no shell is involved.
#pragma once

#include "base/base.h"

// Appends the words of a line to the array, which stays NULL-terminated. The caller frees each word
// and the array.
void command_line_split(char ***words, size_t *count, const char *line);
