#include "os/command_line.h"

void command_line_add(char ***words, size_t *count, char *word)
{
    memory_grow(words, *count, 2, sizeof **words); // 2: the word and the NULL after it
    (*words)[(*count)++] = word;
    (*words)[*count] = NULL;
}

void command_line_split(char ***words, size_t *count, const char *line)
{
    for (const char *p = line; *(p += strspn(p, " \t"));) {
        size_t len = strcspn(p, " \t");
        command_line_add(words, count, memory_format("%.*s", (int)len, p));
        p += len;
    }
}
