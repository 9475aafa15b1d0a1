#include "os/command_line.h"

bool command_line_split(char ***words, size_t *count, const char *line, struct err *e)
{
    if (!array_grow(words, *count, 1, sizeof **words))
        return err_memory(e);
    (*words)[*count] = NULL;
    for (const char *p = line; *(p += strspn(p, " \t"));) {
        size_t len = strcspn(p, " \t");
        if (!array_grow(words, *count, 2, sizeof **words) || !((*words)[*count] = strndup(p, len)))
            return err_memory(e);
        (*words)[++*count] = NULL;
        p += len;
    }
    return true;
}
