#include "defect.h"

#include <string.h>

static const struct defect_row defects[] = {
    {DEFECT_NONE, "none", "a good collector", "", ""},
    {DEFECT_CURSOR_FIRST, "cursor-first",
        "moves the cursor at each announcement, writes when the batch is full or old", "lost",
        "collector-killed"},
    {DEFECT_ID_ONLY, "id-only", "reads id > last_seq, whatever commits later", "lost",
        "late-commits"},
};

#define DEFECTS (sizeof defects / sizeof defects[0])

const struct defect_row *defect_find(const char *name)
{
    for (size_t i = 0; i < DEFECTS; i++)
        if (strcmp(defects[i].name, name) == 0)
            return &defects[i];
    return NULL;
}

void defect_list(FILE *out)
{
    for (size_t i = 0; i < DEFECTS; i++) {
        const struct defect_row *d = &defects[i];
        fprintf(out, "%s\t%s\t%s\t%s\n", d->name, d->shows_in, d->convicts, d->breaks);
    }
}
