#include "shards/shard.h"

#include <stdio.h>

bool shard_parse(struct shard *s, const char *text, struct err *e)
{
    int end = 0;

    if (sscanf(text, "%4d/%4d%n", &s->number, &s->of, &end) == 2 && !text[end] && s->number >= 1 &&
        s->number <= s->of && s->of <= SHARDS_MAX)
        return true;
    return err_set(e, ERR_USAGE,
        "'%.40s' is no shard: it takes I/N, such as 3/16, with I from 1 to N and N at most %d",
        text, SHARDS_MAX);
}

bool shard_has(const struct shard *s, uint64_t number)
{
    return s->of == 0 || number % (uint64_t)s->of == (uint64_t)s->number - 1;
}
