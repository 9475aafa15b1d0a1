// Files that exist in memory only. A target links this with -Wl,--wrap=fopen, so
// that an input that names a file can open nothing of the machine's.
#pragma once

#include <stddef.h>

// From now on `path` can be read; the content is not copied.
void files_add(const char *path, const void *data, size_t len);
void files_clear(void);

// Instead of fopen: a file that was added, for reading; ENOENT for any other.
