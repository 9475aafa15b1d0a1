#include "fuzz/fuzz.h"

#define FILES_MAX 128

static struct {
    char path[256];
    const void *data;
    size_t len;
} files[FILES_MAX];
static size_t file_count;

void files_add(const char *path, const void *data, size_t len)
{
    FUZZ_MUST(file_count < FILES_MAX);
    snprintf(files[file_count].path, sizeof files[file_count].path, "%s", path);
    files[file_count].data = data;
    files[file_count++].len = len;
}

void files_clear(void)
{
    file_count = 0;
}

// The names that the linker gives to a wrapped function and its replacement.
#define WRAP_OF(name) __wrap_##name
#define REAL(name) __real_##name

FILE *WRAP_OF(fopen)(const char *path, const char *mode);
FILE *REAL(fopen)(const char *path, const char *mode);

FILE *WRAP_OF(fopen)(const char *path, const char *mode)
{
    // libFuzzer writes its findings, and these are real files.
    if (mode[0] != 'r')
        return REAL(fopen)(path, mode);
    for (size_t i = 0; i < file_count; i++) {
        if (strcmp(files[i].path, path) == 0)
            return fmemopen((void *)files[i].data, files[i].len, "r");
    }
    errno = ENOENT;
    return NULL;
}
