#include "gone.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t since_ns(const struct gone *g, int64_t claimant, int64_t now_ns)
{
    for (int i = 0; i < g->n; i++)
        if (g->who[i].claimant == claimant)
            return g->who[i].since_ns;
    return now_ns;
}

void gone_seen(struct gone *g, const char *array, int64_t now_ns)
{
    struct gone seen = {0};
    char *end;

    for (const char *p = array; (*p == '{' || *p == ',') && seen.n < GONE_MAX; p = end) {
        int64_t claimant = strtoll(p + 1, &end, 10);
        if (end == p + 1)
            break;
        seen.who[seen.n].claimant = claimant;
        seen.who[seen.n++].since_ns = since_ns(g, claimant, now_ns);
    }
    *g = seen;
}

const char *gone_due(
    const struct gone *g, int64_t grace_ns, int64_t now_ns, char text[GONE_TEXT_LEN])
{
    int len = 1;

    text[0] = '{';
    for (int i = 0; i < g->n; i++)
        if (now_ns - g->who[i].since_ns >= grace_ns)
            len += snprintf(text + len, GONE_TEXT_LEN - (size_t)len, "%s%" PRId64,
                len > 1 ? "," : "", g->who[i].claimant);
    snprintf(text + len, GONE_TEXT_LEN - (size_t)len, "}");
    return text;
}
