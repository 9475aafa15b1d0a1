#include "postgres/presence.h"

static const int64_t held_ns = NS_PER_S; // a transaction that is open for less is no hold

void presence_fini(struct presence *p)
{
    free(p->looks);
    free(p->holds);
    *p = (struct presence){0};
}

static struct presence_open *find_open_transaction(struct presence *p, const char *key)
{
    // Keys are stored cut to their room, so only that much is compared.
    for (size_t i = 0; i < p->open_count; i++) {
        if (strncmp(p->open[i].key, key, sizeof p->open[i].key - 1) == 0)
            return &p->open[i];
    }
    return NULL;
}

// Notes that the open transaction was still held at at_ns: begins its hold, or makes the hold
// longer.
static void extend_hold(struct presence *p, struct presence_open *o, uint32_t pid, int64_t at_ns)
{
    if (o->hold == 0) {
        if (p->hold_count == PRESENCE_HOLDS_MAX)
            return;
        memory_grow(&p->holds, p->hold_count, 1, sizeof *p->holds);
        p->holds[p->hold_count++] = (struct presence_hold){.from_ns = o->first_ns, .pid = pid};
        o->hold = p->hold_count;
    }
    p->holds[o->hold - 1].until_ns = at_ns;
}

void presence_add_transaction(
    struct presence *p, const char *key, uint32_t pid, bool held_up, int64_t at_ns)
{
    struct presence_open *o = find_open_transaction(p, key);

    if (!o && p->open_count == PRESENCE_OPEN_MAX)
        return;
    if (!o) {
        o = &p->open[p->open_count++];
        *o = (struct presence_open){.first_ns = at_ns};
        snprintf(o->key, sizeof o->key, "%s", key);
    }
    o->seen = true;
    // A transaction that waits for a lock of somebody else does not count as held open by the
    // collector.
    if (held_up) {
        o->first_ns = at_ns;
        o->hold = 0;
    } else if (at_ns - o->first_ns >= held_ns) {
        extend_hold(p, o, pid, at_ns);
    }
}

void presence_end_look(struct presence *p, const struct presence_look *look)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->open_count; i++) {
        // A failed look forgets all, because the time in which the server did not answer must not
        // count as held open by the collector.
        bool seen = look && p->open[i].seen;
        p->open[i].seen = false;
        if (seen)
            p->open[kept++] = p->open[i];
    }
    p->open_count = kept;
    if (!look)
        return;
    memory_grow(&p->looks, p->look_count, 1, sizeof *p->looks);
    p->looks[p->look_count++] = *look;
}
