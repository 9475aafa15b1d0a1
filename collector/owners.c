#include "owners.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct owner *find(struct owners *o, int64_t number)
{
    for (int i = 0; i < o->n; i++)
        if (o->all[i].number == number)
            return &o->all[i];
    return NULL;
}

void owners_tell(struct owners *o, struct owner seen, int64_t now_ns)
{
    struct owner *known = find(o, seen.number);

    if (!known && o->n == OWNERS_MAX)
        return; // a later look names it again, when there is room
    if (!known) {
        known = &o->all[o->n++];
        *known = (struct owner){.number = seen.number, .alive = !seen.alive};
    }
    bool idle = !known->busy || !seen.busy || now_ns - o->looked_ns > OWNERS_WATCH_NS;
    if (known->alive != seen.alive || known->renewed != seen.renewed || (seen.alive && idle)) {
        seen.since_ns = now_ns;
        *known = seen;
    }
    known->busy = seen.busy;
    known->told = true;
}

bool owners_matter(const struct owners *o)
{
    for (int i = 0; i < o->n; i++)
        if (o->all[i].busy || !o->all[i].alive)
            return true;
    return false;
}

void owners_end(struct owners *o, int64_t now_ns)
{
    int kept = 0;

    o->looked_ns = now_ns;
    for (int i = 0; i < o->n; i++)
        if (o->all[i].told) {
            o->all[kept] = o->all[i];
            o->all[kept++].told = false;
        }
    o->n = kept;
}

struct owner *owners_due(struct owners *o, int64_t grace_ns, int64_t lease_ns, int64_t now_ns)
{
    for (int i = 0; i < o->n; i++) {
        struct owner *a = &o->all[i];
        int64_t wait_ns = a->alive ? lease_ns : a->number == 0 ? 0 : grace_ns;
        if (a->alive && now_ns - o->looked_ns > OWNERS_WATCH_NS)
            continue;
        if (!a->empty && now_ns - a->since_ns >= wait_ns)
            return a;
    }
    return NULL;
}

void owners_freed(struct owners *o, int64_t number, int64_t now_ns)
{
    struct owner *freed = find(o, number);

    if (freed)
        freed->since_ns = now_ns;
}

void owners_was_empty(struct owner *o, bool finished, int64_t now_ns)
{
    o->since_ns = now_ns;
    o->empty = finished;
}

static void append(char text[OWNERS_TEXT_LEN], int64_t number)
{
    size_t len = strlen(text);

    snprintf(text + len, OWNERS_TEXT_LEN - len, "%s%" PRId64, len > 0 ? "," : "{", number);
}

static void close_array(char text[OWNERS_TEXT_LEN])
{
    size_t len = strlen(text);

    snprintf(text + len, OWNERS_TEXT_LEN - len, "%s", len > 0 ? "}" : "{}");
}

void owners_finished(const struct owners *o, struct owners_finished *f)
{
    *f->numbers = *f->renewed = '\0';
    for (int i = 0; i < o->n; i++) {
        if (!o->all[i].empty)
            continue;
        append(f->numbers, o->all[i].number);
        append(f->renewed, o->all[i].renewed);
    }
    close_array(f->numbers);
    close_array(f->renewed);
}
