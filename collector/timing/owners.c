#include "timing/owners.h"

static struct owner *find_owner(struct owners *o, int64_t number)
{
    for (int i = 0; i < o->n; i++)
        if (o->all[i].number == number)
            return &o->all[i];
    return NULL;
}

void owners_note(struct owners *o, struct owner seen, int64_t now_ns)
{
    struct owner *known = find_owner(o, seen.number);

    if (!known && o->n == OWNERS_MAX)
        return; // a later look names it again, when there is room
    if (!known) {
        known = &o->all[o->n++];
        // The opposite of what was seen, so that below it counts as changed, and its time begins.
        *known = (struct owner){.number = seen.number, .alive = !seen.alive};
    }
    // An owner counts as idle while it has nothing in hand, and while we did not watch it.
    bool idle = !known->busy || !seen.busy || now_ns - o->looked_ns > OWNERS_WATCH_NS;
    if (known->alive != seen.alive || known->renewed != seen.renewed || (seen.alive && idle)) {
        seen.since_ns = now_ns;
        *known = seen;
    }
    known->busy = seen.busy;
    known->named = true;
}

bool owners_need_looks(const struct owners *o)
{
    for (int i = 0; i < o->n; i++)
        if (o->all[i].busy || !o->all[i].alive)
            return true;
    return false;
}

void owners_end_look(struct owners *o, int64_t now_ns)
{
    int kept = 0;

    o->looked_ns = now_ns;
    for (int i = 0; i < o->n; i++)
        if (o->all[i].named) {
            o->all[kept] = o->all[i];
            o->all[kept++].named = false;
        }
    o->n = kept;
}

struct owner *owners_due(struct owners *o, int64_t grace_ns, int64_t lease_ns, int64_t now_ns)
{
    for (int i = 0; i < o->n; i++) {
        struct owner *a = &o->all[i];
        int64_t wait_ns = a->alive ? lease_ns : grace_ns;
        if (a->alive && now_ns - o->looked_ns > OWNERS_WATCH_NS)
            continue; // we did not watch, so it may have renewed its lease meanwhile
        if (now_ns - a->since_ns >= wait_ns)
            return a;
    }
    return NULL;
}

void owners_freed(struct owners *o, int64_t number, int64_t now_ns)
{
    struct owner *freed = find_owner(o, number);

    if (freed)
        freed->since_ns = now_ns;
}
