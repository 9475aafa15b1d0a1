// The faults of a story: their maps become a part of the scenario, their times a part of the
// history.
#include "story/build.h"

#include <stdio.h>
#include <string.h>

#include "scenario/parse.h"

static bool add_ms(struct node *map, const char *key, int64_t ns, struct err *e)
{
    char text[32];
    struct node *n;

    if (node_child(map, key))
        return true;
    snprintf(text, sizeof text, "%lld.%06lldms", (long long)(ns / NS_PER_MS),
        (long long)(ns % NS_PER_MS));
    n = node_new(NODE_SCALAR, text, &map->origin);
    if (n && node_add(map, n, key, &map->origin))
        return true;
    node_free(n);
    return err_memory(e);
}

// Adds a fault's map to the scenario. The times of the event say when it comes and how long it
// lasts.
static bool add_spec(struct node *faults, const struct event *told, struct err *e)
{
    struct node *map = NULL;
    struct event event = *told;

    if (!parse_yaml(&map, told->text, strlen(told->text), &told->origin, e))
        return false;
    if (!node_add(faults, map, NULL, NULL)) {
        node_free(map);
        return err_memory(e);
    }
    event_complete(&event, 0, NULL);
    const struct node *verb = node_child(map, "do");
    const struct verb *v = verb && verb->kind == NODE_SCALAR ? verb_find(verb->text) : NULL;
    int64_t lasts_ns = event.value[SLOT_UNDONE] - event.value[SLOT_STRUCK];
    int64_t planned_ns = event.value[SLOT_PLANNED];
    if (map->kind != NODE_MAP)
        return origin_err(&told->origin, e, "a fault is a map such as {do: reset}");
    if (v && (v->params & PARAM_NEEDS_FOR) &&
        !add_ms(map, "for", lasts_ns > NS_PER_MS ? lasts_ns : NS_PER_MS, e))
        return false;
    return add_ms(map, "at", planned_ns > 0 ? planned_ns : 0, e);
}

bool build_specs(struct build *b, struct err *e)
{
    static const struct origin here = {.file = "story", .line = 1, .column = 1};
    struct node *faults = node_new(NODE_LIST, NULL, &here);

    if (!faults || !node_add(b->root, faults, "faults", &here)) {
        node_free(faults);
        return err_memory(e);
    }
    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].kind == EVENT_FAULT && b->events[i].text &&
            !add_spec(faults, &b->events[i], e))
            return false;
    return true;
}

// Returns the number of the fault's map among all maps; the event may name an earlier fault.
static bool spec_of(const struct build *b, const struct event *event, uint32_t *spec, struct err *e)
{
    uint32_t fault = 0;

    *spec = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct event *other = &b->events[i];
        if (other->kind != EVENT_FAULT)
            continue;
        if (event->text ? other == event : fault == event->first)
            return other->text ||
                   origin_err(&event->origin, e, "there is no fault %u with a map", fault);
        fault++;
        *spec += other->text != NULL;
    }
    return origin_err(&event->origin, e, "there is no fault %u with a map", event->first);
}

bool build_fault(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    struct event event = *told;
    size_t records = h->plan.fault_count;
    uint32_t spec;

    if (!spec_of(b, told, &spec, e))
        return false;
    event_complete(&event, b->run_ns, NULL);
    struct plan_fault *f = build_append(&h->plan.faults, &h->plan.fault_count, sizeof *f, e);
    struct fault_record *r = f ? build_append(&h->faults, &records, sizeof *r, e) : NULL;
    if (!r)
        return false;
    int64_t lasts_ns = at(&event, SLOT_UNDONE) - at(&event, SLOT_STRUCK);
    *f = (struct plan_fault){.at_ns = event.value[SLOT_PLANNED],
        .end_ns = event.value[SLOT_PLANNED] + lasts_ns,
        .spec = spec};
    record_fill(RECORD_FAULT, r, &event);
    r->spec = &b->t->scenario.faults[spec];
    r->left_known = event_has(told, SLOT_LEFT);
    r->undone = true;
    return true;
}
