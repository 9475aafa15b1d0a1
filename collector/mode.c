#include "mode.h"

#include <string.h>

static const struct mode modes[] = {
    {.name = "cursor", .alone = true},
    {.name = "shared", .older = "skip-locked", .takes = true},
    {.name = "leased", .takes = true},
};

#define MODES (sizeof modes / sizeof modes[0])

const struct mode *mode_find(const char *name)
{
    for (size_t i = 0; i < MODES; i++)
        if (strcmp(name, modes[i].name) == 0 ||
            (modes[i].older && strcmp(name, modes[i].older) == 0))
            return &modes[i];
    return NULL;
}

const char *mode_names(char text[MODE_NAMES_LEN])
{
    size_t len = 0;

    for (size_t i = 0; i < MODES; i++)
        len += (size_t)snprintf(
            text + len, MODE_NAMES_LEN - len, "%s%s", i > 0 ? ", " : "", modes[i].name);
    return text;
}
