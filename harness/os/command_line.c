#include "os/command_line.h"

void command_line_split(char ***words, size_t *count, const char *line)
{
    memory_grow(words, *count, 1, sizeof **words);
    (*words)[*count] = NULL;
    for (const char *p = line; *(p += strspn(p, " \t"));) {
        size_t len = strcspn(p, " \t");
        memory_grow(words, *count, 2, sizeof **words);
        (*words)[(*count)++] = memory_format("%.*s", (int)len, p);
        (*words)[*count] = NULL;
        p += len;
    }
}
