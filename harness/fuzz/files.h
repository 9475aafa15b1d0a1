// Files that exist in memory only. A target links this with -Wl,--wrap=fopen. For reading, fopen
// then opens only files that were added, and fails with ENOENT for any other. So an input cannot
// open a file of the machine.
#pragma once

#include "base/base.h"

// Adds a file that can be read from now on. The content is not copied.
void files_add(const char *path, const void *data, size_t len);
void files_clear(void);
