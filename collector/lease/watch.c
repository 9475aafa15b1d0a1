#include "lease/watch.h"

#include <stddef.h>

#include "base/clock.h"

void watch_restart(struct watch *w)
{
    *w = (struct watch){0};
}

void watch_begin(struct watch *w, int64_t now_ns)
{
    for (int i = 0; i < w->count && now_ns - w->looked_ns > WATCH_NS; i++) {
        struct watched *o = &w->others[i];
        o->renewed_ns = now_ns;
        if (o->gone_ns != CLOCK_NEVER)
            o->gone_ns = now_ns;
    }
    w->looked_ns = now_ns;
    w->round++;
}

static struct watched *find(struct watch *w, int64_t owner)
{
    for (int i = 0; i < w->count; i++)
        if (w->others[i].owner == owner)
            return &w->others[i];
    return NULL;
}

void watch_seen(struct watch *w, int64_t owner, int64_t renewed, bool connected, int64_t now_ns)
{
    struct watched *o = find(w, owner);

    if (!o) {
        if (w->count == WATCH_MAX)
            return;
        o = &w->others[w->count++];
        *o = (struct watched){
            .owner = owner, .renewed = renewed, .renewed_ns = now_ns, .gone_ns = CLOCK_NEVER};
    }
    if (o->renewed != renewed) {
        o->renewed = renewed;
        o->renewed_ns = now_ns;
    }
    if (connected)
        o->gone_ns = CLOCK_NEVER;
    else if (o->gone_ns == CLOCK_NEVER)
        o->gone_ns = now_ns;
    o->round = w->round;
}

bool watch_end(struct watch *w)
{
    int seen = w->count, kept = 0;

    for (int i = 0; i < seen; i++)
        if (w->others[i].round == w->round)
            w->others[kept++] = w->others[i];
    w->count = kept;
    return kept < seen;
}

const struct watched *watch_expired(
    const struct watch *w, int64_t grace_ns, int64_t lease_ns, int64_t now_ns, const char **why)
{
    if (now_ns - w->looked_ns > WATCH_NS)
        return NULL;
    for (int i = 0; i < w->count; i++) {
        const struct watched *o = &w->others[i];
        *why = "its session has ended";
        if (o->gone_ns != CLOCK_NEVER && now_ns - o->gone_ns >= grace_ns)
            return o;
        *why = "it does not renew its lease";
        if (now_ns - o->renewed_ns >= lease_ns)
            return o;
    }
    return NULL;
}

void watch_forget(struct watch *w, int64_t owner)
{
    struct watched *o = find(w, owner);

    if (o)
        *o = w->others[--w->count];
}
