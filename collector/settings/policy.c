#include "settings/policy.h"

static const struct policy policies[] = {
    {.name = "cursor", .exclusive = true, .in_flight = 1},
    {.name = "shared", .older = "skip-locked", .in_flight = 1},
    {.name = "leased", .answers = true},
};

#define POLICIES (sizeof policies / sizeof policies[0])

const struct policy *policy_find(const char *name)
{
    for (size_t i = 0; i < POLICIES; i++)
        if (strcmp(name, policies[i].name) == 0 ||
            (policies[i].older && strcmp(name, policies[i].older) == 0))
            return &policies[i];
    return NULL;
}

const char *policy_names(char text[POLICY_NAMES_LEN])
{
    size_t len = 0;

    for (size_t i = 0; i < POLICIES; i++)
        len += (size_t)snprintf(
            text + len, POLICY_NAMES_LEN - len, "%s%s", i > 0 ? ", " : "", policies[i].name);
    return text;
}
