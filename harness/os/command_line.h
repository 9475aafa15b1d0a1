// Puts command lines together. The array of words ends with NULL, and is NULL while it has no word.
// The caller frees each word and the array.
#pragma once

#include "base/base.h"

// Appends one word, and takes it over from the caller, who has allocated it.
void command_line_add(char ***words, size_t *count, char *word);

// Appends the words of a line, which is split at its blanks. There are no quotes, because no shell
// is involved.
void command_line_split(char ***words, size_t *count, const char *line);
