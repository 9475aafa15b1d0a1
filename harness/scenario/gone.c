#include "scenario/gone.h"

static const struct gone rows[] = {
    {"", "documented", "promises: {no_loss: {quote: ..., url: ...}}"},
    {"field", "--html", "field --site DIR"},
    {"load", "--listen", "ssh HOST mailproof load -"},
    {"run", "ssh://HOST", "ssh HOST mailproof load -"},
};

const struct gone *gone_row(size_t i)
{
    return i < sizeof rows / sizeof *rows ? &rows[i] : NULL;
}

const char *gone_text(const char *where, const char *was, char text[GONE_TEXT_MAX])
{
    *text = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].where, where) == 0 && strcmp(rows[i].was, was) == 0)
            snprintf(text, GONE_TEXT_MAX, "; it is now: %s", rows[i].now);
    return text;
}
